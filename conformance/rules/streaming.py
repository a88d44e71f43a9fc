"""The rules of the page on streamed messages.

Source: basic/patterns/streaming
"""

from conformance.rules.rule import BY_ORDER, Rule, See, on_page

RULES = on_page(
    "basic/patterns/streaming",
    Rule(
        "item-opens-once",
        See.STREAM,
        "No *_START for an identifier that is open. A closed one may be reopened.",
        "Give each message and call an id of its own, or send its *_END before it starts again.",
        BY_ORDER,
    ),
    Rule(
        "item-open-first",
        See.STREAM,
        "No content or end event for an identifier that is not open.",
        "Send the *_START before the first content, end each item once, and compare the ids.",
        BY_ORDER,
    ),
    Rule(
        "chunk-first-complete",
        See.STREAM,
        "The first chunk of a message carries messageId; the first chunk of a call carries toolCallId and toolCallName.",
        "Put the identifiers on the first chunk, and again on the one after any event that ended the stream of chunks.",
        BY_ORDER,
    ),
    Rule(
        "chunk-repeat-agrees",
        See.STREAM,
        "A continuation chunk repeats an opener's field only with the same value; a role left out means assistant.",
        "Leave the opener's fields out of later chunks.",
        BY_ORDER,
    ),
    Rule(
        "chunk-not-mixed",
        See.STREAM,
        "One item uses either chunks or start, content and end, never both.",
        "Choose one spelling for each item; a chunked item gets no *_END.",
        BY_ORDER,
    ),
    Rule(
        "chunk-unambiguous",
        See.STREAM,
        "A chunk with neither identifier nor attribution continues the parent's open stream of its kind, else the only "
        "one; with several and none the parent's it has no referent.",
        "Put the identifier or subagentRunId on the chunks of parallel subagents.",
        BY_ORDER,
    ),
    Rule(
        "chunk-within-owner",
        See.STREAM,
        "A chunk stream opened by a subagent ends no later than that subagent.",
        "Send the last chunk of a subagent's item before its SUBAGENT_FINISHED or SUBAGENT_ERROR.",
        BY_ORDER,
    ),
)
