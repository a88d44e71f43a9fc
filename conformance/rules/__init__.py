"""The catalogue: every requirement of the specification, one table per page.

Source: the pages that the tables name
"""

from conformance.rules import (
    activity,
    capabilities,
    http_protobuf,
    http_sse,
    interrupt_resume,
    lifecycle,
    metadata,
    passthrough,
    processing,
    reasoning,
    run_input,
    snapshots,
    state,
    streaming,
    subagents,
    text_messages,
    tool_calls,
    transports,
    versioning,
)
from conformance.rules.rule import By, Fact, Level, Rule, See

__all__ = ["CATALOGUE", "By", "Fact", "Level", "Rule", "See"]

_PAGES = (
    lifecycle,
    text_messages,
    streaming,
    tool_calls,
    reasoning,
    subagents,
    activity,
    state,
    snapshots,
    interrupt_resume,
    passthrough,
    run_input,
    processing,
    versioning,
    metadata,
    capabilities,
    transports,
    http_sse,
    http_protobuf,
)

CATALOGUE: dict[str, Rule] = {rule.id: rule for page in _PAGES for rule in page.RULES}
"""Every rule by its id, in the order of the specification's pages."""
