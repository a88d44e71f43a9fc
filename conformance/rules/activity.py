"""The rules of the page on activity.

Source: events/activity
"""

from typing import Any

from conformance.patch import PatchDoesNotApply, apply
from conformance.rules.rule import BY_ORDER, Along, By, Case, Fault, Rule, See, Watch, on_page
from conformance.rules.snapshots import UNKNOWN, baseline


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
                contents[key] = baseline(event["content"])
        elif contents.get(key, UNKNOWN) is not UNKNOWN:
            try:
                patched = apply(contents[key], event["patch"], in_place=True)
            except (PatchDoesNotApply, RecursionError):
                continue  # patch-applies is about that
            contents[key] = patched if isinstance(patched, dict) else UNKNOWN
            if contents[key] is UNKNOWN:
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
