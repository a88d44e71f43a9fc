"""The rules of the page on transports.

Source: basic/transports
"""

from conformance.rules.rule import BY_READING, By, Fact, Rule, See, on_page

RULES = on_page(
    "basic/transports",
    Rule(
        "transport-ordered",
        See.EXCHANGE,
        "Events arrive complete and in the producer's order.",
        "Write each event whole, with the blank line that ends it, from one place.",
        BY_READING,
        needs=(Fact.BYTES,),
        by=By.SERVER,
    ),
    Rule(
        "read-truncated",
        See.STREAM,
        "A stream without terminal event is a truncated run: no outcome, no made-up RUN_FINISHED.",
        by=By.CONSUMER,
    ),
)
