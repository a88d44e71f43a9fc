"""The rules of the page on state.

Source: events/state
"""

from conformance.rules.rule import By, Level, Rule, See, on_page

RULES = on_page(
    "events/state",
    Rule(
        "state-no-secrets",
        See.NONE,
        "State carries no secrets.",
        why="needs to know what is secret",
        level=Level.SHOULD,
    ),
    Rule(
        "read-snapshot-reconciles",
        See.STREAM,
        "MESSAGES_SNAPSHOT replaces by id in place, appends new messages in order, drops absent ones but for activity "
        "and reasoning messages when it carries none of that role.",
        by=By.CONSUMER,
    ),
)
