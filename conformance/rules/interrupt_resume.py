"""The rules of the page on interrupts and resuming.

Source: basic/patterns/interrupt-resume
"""

from conformance.rules.rule import BY_ORDER, By, Level, Rule, See, Shaped, on_page
from conformance.shapes import Kind

RULES = on_page(
    "basic/patterns/interrupt-resume",
    Rule(
        "interrupt-not-empty",
        See.EVENT,
        "The interrupt outcome carries at least one interrupt.",
        "End as interrupted only with something to answer.",
        Shaped(r"RUN_FINISHED/outcome/interrupts", (Kind.MALFORMED,), "a list of 0"),
    ),
    Rule(
        "interrupt-ids-unique",
        See.EVENT,
        "Interrupt ids are unique within the run.",
        "Make an id for each question, also where one tool call asks several.",
        BY_ORDER,
    ),
    Rule(
        "interrupt-not-success",
        See.RUNS,
        "A run that stopped to ask ends with the interrupt outcome.",
        "Read what the framework waits for before the run is finished.",
    ),
    Rule(
        "resume-unknown-ignored",
        See.RUNS,
        "A resume entry for an interrupt that was not raised is left out with a warning; the run goes on.",
        "Match entries by id, and go on without those that match nothing.",
        level=Level.SHOULD,
    ),
    Rule(
        "resume-uncovered-not-performed",
        See.RUNS,
        "The gated action is not performed without an entry for its interrupt, and the missing entry is not read as "
        "abandonment.",
        "Perform only what an entry resolves; a missing entry is neither a yes nor a no.",
    ),
    Rule(
        "resume-uncovered-stays-open",
        See.RUNS,
        "A run never ends as success while an interrupt known to be open has no answer: reject before the run, or end "
        "interrupted again.",
        "End with the interrupt outcome and the same interrupt id for what is still open.",
    ),
    Rule(
        "resume-cancelled-not-performed",
        See.RUNS,
        "An entry with status cancelled performs nothing.",
        "Look at the entry's status before its payload.",
    ),
    Rule(
        "read-resume-covers",
        See.RUNS,
        "A resuming input answers or abandons every interrupt of the last run, and resolves no expired one, or is not "
        "sent.",
        by=By.CONSUMER,
    ),
)
