"""What a page of the examples' tea shop has, and how its tests read what the clients hold."""

import json

PICK_TEA = {
    "name": "pick_tea",
    "description": "Shows the teas; the customer picks one.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
}


def texts(messages):
    return [(message["role"], message.get("content")) for message in messages]


def call_of(message):
    (call,) = message["toolCalls"]
    return call["function"]["name"], json.loads(call["function"]["arguments"])


def resume(asked, status, payload=None):
    (interrupt,) = asked.pending_interrupts
    entry = {"interruptId": interrupt["id"], "status": status}
    return {"resume": [entry if payload is None else {**entry, "payload": payload}]}
