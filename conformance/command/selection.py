"""Which rules a check holds a stream to: those that the user names, by id, by page, or by a pattern of either."""

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from conformance.command.cannot import CannotCheck
from conformance.rules import CATALOGUE, Rule


def selected(select: Iterable[str], ignore: Iterable[str]) -> dict[str, Rule]:
    """Give the rules that are selected and not ignored; nothing selected means all.

    Raises:
        CannotCheck: A name stands for no rule, or nothing is left that could be checked.
    """
    chosen = {rule.id for name in select for rule in named(name)} or set(CATALOGUE)
    chosen -= {rule.id for name in ignore for rule in named(name)}
    rules = {rule.id: rule for rule in CATALOGUE.values() if rule.id in chosen}
    if all(rule.held is None for rule in rules.values()):
        raise CannotCheck("no rule is left that this suite can check; see their states: agui-conformance rules")
    return rules


def named(name: str) -> list[Rule]:
    """Give the rules that a name stands for: an id, a page as `events/lifecycle`, or a pattern as `chunk-*`.

    Raises:
        CannotCheck: There are none.
    """
    rules = [rule for rule in CATALOGUE.values() if fnmatchcase(rule.id, name) or fnmatchcase(rule.page, name)]
    if not rules:
        raise CannotCheck(f"there is no rule {name!r}{_close(name)}")
    return rules


def rule_called(name: str) -> Rule:
    """Give one rule.

    Raises:
        CannotCheck: There is none of this id.
    """
    if name not in CATALOGUE:
        raise CannotCheck(f"there is no rule {name!r}{_close(name)}")
    return CATALOGUE[name]


def _close(name: str) -> str:
    pages = dict.fromkeys(rule.page for rule in CATALOGUE.values())
    close = get_close_matches(name, [*CATALOGUE, *pages], n=3, cutoff=0.5)
    close += [rule for rule in CATALOGUE if len(name) > 2 and name in rule and rule not in close][:3]  # noqa: PLR2004
    return f"; close to it: {', '.join(close)}" if close else "; agui-conformance rules lists all"
