"""Which interrupts are open: what the last run of an agent on a thread ended with, and nobody has answered yet.

A client says in its run input what it answers. That this server asked for it is known only here, so what needs consent
is performed only for an interrupt that this memory holds.

- A run that ends with interrupts leaves exactly those open; one that succeeds, none.
- An answer is used up when the run that brings it begins: no other run has it, not even one at the same time.
- A run that is cancelled or fails changes nothing more: what it brought no answer for stays open.
- A run that refuses its answers has performed nothing: what it answered is open again.
- Of two runs on a thread at once, the last to end says what is open.

Source: basic/patterns/interrupt-resume
"""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from ag_ui.core import Interrupt, ResumeEntry, RunAgentInput

Interrupts: TypeAlias = Mapping[str, Interrupt]
"""Interrupts by id."""

NOTHING: Interrupts = MappingProxyType({})

MOST_THREADS = 10_000
"""How many threads with open interrupts are known; beyond, those that were used longest ago are forgotten.

A forgotten interrupt reads as one that was never raised: its answer does nothing, and the agent has to ask again.
"""


class Asked:
    """The open interrupts of all threads of this process, per agent: equal thread ids of two agents are two threads."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, str], Interrupts] = OrderedDict()

    def of(self, agent: str, thread: str) -> Interrupts:
        """The open interrupts of a thread. What is returned never changes."""
        key = agent, thread
        if key not in self._open:
            return NOTHING
        self._open.move_to_end(key)
        return self._open[key]

    def settle(self, agent: str, thread: str, still_open: Interrupts) -> None:
        """Say which interrupts of a thread are open from now on."""
        key = agent, thread
        self._open.pop(key, None)
        if still_open:
            self._open[key] = still_open
            if len(self._open) > MOST_THREADS:
                self._open.popitem(last=False)


def divided(interrupts: Interrupts, run_input: RunAgentInput) -> tuple[Interrupts, Interrupts]:
    """The interrupts that a run input answers, and those that it does not."""
    names = {entry.interrupt_id for entry in _entries(run_input)}
    answered = {name: interrupt for name, interrupt in interrupts.items() if name in names}
    return answered, {name: interrupt for name, interrupt in interrupts.items() if name not in names}


def answered_twice(run_input: RunAgentInput) -> list[str]:
    """The interrupts that a run input answers more than once: its last answer counts."""
    names = Counter(entry.interrupt_id for entry in _entries(run_input))
    return [name for name, times in names.items() if times > 1]


def _entries(run_input: RunAgentInput) -> list[ResumeEntry]:
    return run_input.resume or []
