"""An agent whose payments have to be approved."""

import json

from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ToolReturnPart

from support.peer import Script, call

APPROVED = {"approved": True}


class Bank:
    """What the agent's model says, and what its tools did."""

    def __init__(self, *turns):
        self.model = Script(*turns)
        self.paid = []
        self.looked = []
        self.wiped = []

    def agent(self):
        agent = self.model.agent(output_type=[str, DeferredToolRequests])

        @agent.tool_plain(requires_approval=True)
        def pay(amount: int) -> str:
            self.paid.append(amount)
            return f"paid {amount}"

        @agent.tool_plain(requires_approval=True)
        def wipe() -> str:
            self.wiped.append("all")
            return "wiped"

        @agent.tool_plain
        def look(what: str) -> str:
            self.looked.append(what)
            return f"saw {what}"

        return agent

    def results(self):
        """What the model was last sent as results, by call id."""
        return {part.tool_call_id: part for part in self.model.parts if isinstance(part, ToolReturnPart)}


def pays(amount, key="c1", index=1):
    """A call of `pay`."""
    return call("pay", json.dumps({"amount": amount}), key, index)
