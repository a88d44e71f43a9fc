"""The rules of the page on activity.

Source: events/activity
"""

from copy import deepcopy
from typing import Any

from conformance.patch import PatchDoesNotApply, apply
from conformance.rules.rule import BY_ORDER, Along, By, Case, Fault, Rule, See, Watch, on_page


def _stays_object(case: Case) -> Watch:  # noqa: ARG001 - the stream alone shows it
    contents: dict[str, Any] = {}
    notes: list[Fault] = []
    while True:
        event = yield notes
        notes = []
        if event is None:
            continue
        key = event["messageId"]
        if event["type"] == "ACTIVITY_SNAPSHOT":
            if key not in contents or event.get("replace") is not False:
                contents[key] = deepcopy(event["content"])
        elif key in contents:
            try:
                patched = apply(contents[key], event["patch"], in_place=True)
            except PatchDoesNotApply:
                continue  # patch-applies is about that
            if isinstance(patched, dict):
                contents[key] = patched
            else:
                del contents[key]  # what it is now cannot be patched on
                notes = [Fault("content that is still an object", f"the patch makes it {type(patched).__name__}")]


RULES = on_page(
    "events/activity",
    Rule(
        "activity-baseline",
        See.STREAM,
        "No ACTIVITY_DELTA for a message that no ACTIVITY_SNAPSHOT created.",
        "Send ACTIVITY_SNAPSHOT first.",
        BY_ORDER,
    ),
    Rule(
        "activity-stays-object",
        See.STREAM,
        "A patched activity's content is still an object.",
        "Patch below the root; a list or a text goes under a key.",
        Along(("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"), _stays_object),
    ),
    Rule(
        "read-activity-replace",
        See.STREAM,
        "replace false leaves an existing activity as it stands; a delta's activityType replaces the message's; a delta "
        "without target is skipped with a warning.",
        by=By.CONSUMER,
    ),
)
