"""The rules of the page on subagents.

Source: events/subagents
"""

from conformance.rules.rule import BY_ORDER, Rule, See, Shaped, on_page
from conformance.shapes import Kind

RULES = on_page(
    "events/subagents",
    Rule(
        "subagent-announced-first",
        See.STREAM,
        "A producer that announces an invocation does so before any event attributed to it.",
        "Send SUBAGENT_STARTED when the invocation begins, before its first event.",
        BY_ORDER,
    ),
    Rule(
        "subagent-starts-once",
        See.STREAM,
        "No SUBAGENT_STARTED for an id that is active or that finished in this run.",
        "Make a new subagentRunId for each invocation, not for each agent.",
        BY_ORDER,
    ),
    Rule(
        "subagent-ends",
        See.STREAM,
        "Every announced invocation ends, by SUBAGENT_FINISHED or SUBAGENT_ERROR, before the run finishes; none ends "
        "unannounced.",
        "End an invocation wherever it can return, fail or be cancelled.",
        BY_ORDER,
    ),
    Rule(
        "subagent-parent-known",
        See.STREAM,
        "parentSubagentRunId names an invocation announced in this run.",
        "Announce the parent first; leave the field out for what the agent itself delegates.",
        BY_ORDER,
    ),
    Rule(
        "subagent-outcome",
        See.EVENT,
        "SUBAGENT_FINISHED.outcome is absent, success without interrupt ids, or suspended.",
        "Put interrupt ids on the suspended outcome; a failed invocation is a SUBAGENT_ERROR.",
        Shaped(r"SUBAGENT_FINISHED/outcome(/.*)?", (Kind.MALFORMED, Kind.UNKNOWN_VALUE, Kind.UNKNOWN_FIELD)),
    ),
    Rule(
        "owner-agrees",
        See.STREAM,
        "An event that continues an item agrees with its opener about subagentRunId, or leaves it out; a step closes "
        "under the owner that opened it.",
        "Remember the owner with the item, and tag all its events by that.",
        BY_ORDER,
    ),
    Rule(
        "call-owner-agrees",
        See.STREAM,
        "A tool call belongs to the owner of the message that carries it (parentMessageId).",
        "Tag a call as its message, or leave out parentMessageId.",
        BY_ORDER,
    ),
)
