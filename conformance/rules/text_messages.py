"""The rules of the page on text messages.

Source: events/text-messages
"""

from conformance.rules.rule import BY_ORDER, Rule, See, on_page

RULES = on_page(
    "events/text-messages",
    Rule(
        "reopen-agrees",
        See.STREAM,
        "A start that reopens a closed message or call agrees with it about owner, role, name, toolCallName and "
        "parentMessageId.",
        "Repeat the first start event as it was, or use a new id.",
        BY_ORDER,
    ),
)
