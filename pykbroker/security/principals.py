"""Kafka's principals, ``User:`` and a name, and the rules that map certificates' subjects to names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"

_RULE: Final = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_SEPARATOR: Final = re.compile(r"\s*(?:,|$)\s*")
_GROUP: Final = re.compile(r"\\(.)|\$(\d)(\d*)")


class RuleError(ValueError):
    """A rule is invalid."""


class NoRuleApplies(ValueError):
    """No rule matches the subject, so the connection has no principal."""


Rule = Callable[[str], str | None]
"""Maps a subject's distinguished name to a user name; None if the rule does not match."""


def user(name: str) -> str:
    """The principal of a user."""
    return f"User:{name}"


class MappingRules:
    """``ssl.principal.mapping.rules``: comma-separated rules, of which the first that matches the whole name decides.

    ``DEFAULT`` keeps the name; ``RULE:pattern/replacement/`` replaces ``$1`` and so on by groups of the match and, with ``L`` or
    ``U`` at the end, converts the result to lower or upper case.
    """

    def __init__(self, text: str) -> None:
        """Raises RuleError."""
        self._rules = list(_parsed(text.strip()))

    def name(self, subject: str) -> str:
        """The user name for a subject. Raises NoRuleApplies."""
        for rule in self._rules:
            found = rule(subject)
            if found is not None:
                return found
        raise NoRuleApplies(f"no rule of ssl.principal.mapping.rules applies to {subject}")


def _parsed(text: str) -> Iterator[Rule]:
    at = 0
    while at < len(text):
        if text.startswith("DEFAULT", at):
            at += len("DEFAULT")
            yield str
        elif found := _RULE.match(text, at):
            at = found.end()
            yield _rule(*found.groups())
        elif text[at] != ",":  # empty rules are allowed
            raise RuleError(
                f"Invalid rule in ssl.principal.mapping.rules: {text[at:]!r}. A rule is DEFAULT, or RULE:pattern/replacement/ "
                "followed by L or U for lower or upper case; rules are separated by commas."
            )
        separator = _SEPARATOR.match(text, at)
        if separator is None:
            raise RuleError(
                f"Invalid rule in ssl.principal.mapping.rules: {text[at:]!r} follows a rule without a comma"
            )
        at = separator.end()


def _rule(pattern: str, replacement: str, case: str) -> Rule:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise RuleError(f"Invalid pattern {pattern!r} in ssl.principal.mapping.rules: {error}") from error
    change: Callable[[str], str] = {"L": str.lower, "U": str.upper}.get(case, str)

    def rule(subject: str) -> str | None:
        found = compiled.fullmatch(subject)
        return None if found is None else change(_filled_in(replacement, found))

    return rule


def _filled_in(replacement: str, found: re.Match[str]) -> str:
    """Replacement as in Java: ``$12`` is group 12 if it exists, otherwise group 1 and a 2; without group 1 it is text."""
    groups = found.re.groups

    def text(reference: re.Match[str]) -> str:
        escaped, first, more = reference.groups()
        if escaped is not None:
            return str(escaped)
        number, used = int(first), 0
        while used < len(more) and number * 10 + int(more[used]) <= groups:
            number = number * 10 + int(more[used])
            used += 1
        if number > groups:
            return str(reference[0])
        return (found[number] or "") + str(more[used:])

    return _GROUP.sub(text, replacement)
