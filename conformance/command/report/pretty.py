"""The report for people: findings as they come, then one line that sums them up.

It reads well without colour, which is added where a terminal shows it.
"""

from conformance.command.report import Entry, State, Verdict
from conformance.command.report.text import compact, count, visible
from conformance.rules import Level

_COLOURS = {Level.MUST: "31", Level.SHOULD: "33"}
_BOLD, _DIM, _GREEN = "1", "2", "32"


class Pretty:
    """Writes one report. It remembers which rules it has explained: the hint and the link are given once per rule."""

    def __init__(self, *, colour: bool = False, verbose: bool = False) -> None:
        self._colour = colour
        self._verbose = verbose
        self._explained: set[str] = set()

    def entry(self, one: Entry) -> str:
        """Write a finding; nothing for a known one, unless all is asked for."""
        if one.known and not self._verbose:
            return ""
        level = self._in(_COLOURS[one.level], f"{one.level:<6}")
        head = [level, self._in(_BOLD, one.rule.id)]
        head += [one.place] if one.place else []
        head += ["(known)"] if one.known else []
        lines = ["  ".join(head)]
        if one.event is not None:
            lines.append(self._in(_DIM, compact(one.event)))
        lines += [f"expected  {visible(one.expected)}", f"found     {visible(one.found)}"]
        if one.rule.id not in self._explained:
            self._explained.add(one.rule.id)
            lines += [f"mend      {one.rule.mend}", f"see       {one.rule.link}"]
        return "\n        ".join(lines) + "\n\n"

    def summary(self, verdict: Verdict) -> str:
        """Write what the check came to; the rules that were not judged, with the reasons, where all is asked for."""
        unjudged = verdict.of(State.NOT_JUDGED)
        lines = [
            f"{verdict.more(one.rule):,} more of {one.rule.id}" for one in verdict.standings if verdict.more(one.rule)
        ]
        if self._verbose:
            width = max((len(one.rule.id) for one in unjudged), default=0)
            lines += ["not judged:"] if unjudged else []
            lines += [f"  {one.rule.id:<{width}}  {visible(one.reason)}" for one in unjudged]
        levels = ", ".join(f"{verdict.new.get(level, 0):,} {level}" for level in Level)
        known = f", {verdict.known:,} known" if verdict.known else ""
        mark = self._in(_GREEN, "passed") if verdict.passed else self._in(_COLOURS[Level.MUST], "failed")
        kept, broken = len(verdict.of(State.KEPT)), len(verdict.of(State.BROKEN))
        hint = "" if self._verbose or not unjudged else " (--verbose says why)"
        lines.append(
            f"{visible(verdict.source.name)}: {mark}: {count(verdict.events, 'event')}; "
            f"{count(sum(verdict.new.values()), 'finding')} ({levels}){known}; "
            f"rules: {kept} kept, {broken} broken, {len(unjudged)} not judged{hint}"
        )
        return "\n".join(lines) + "\n"

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text
