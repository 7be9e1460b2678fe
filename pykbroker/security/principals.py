"""Principals: who somebody is to Kafka, ``User:`` and a name; and the rules that make names of certificates' subjects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

ANONYMOUS: Final = "User:ANONYMOUS"

_RULE: Final = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_SEPARATOR: Final = re.compile(r"\s*(?:,|$)\s*")
_GROUP: Final = re.compile(r"\\(.)|\$(\d)(\d*)")


class RuleError(ValueError):
    """Rules that cannot be read."""


class NoRuleApplies(ValueError):
    """A subject that no rule matches: it is nobody."""


Rule = Callable[[str], str | None]
"""From the whole name of a subject to a user's name; None where the rule does not match."""


def user(name: str) -> str:
    """The principal of a user."""
    return f"User:{name}"


class MappingRules:
    """``ssl.principal.mapping.rules``: rules between commas, the first that matches the whole name decides.

    ``DEFAULT`` takes the name as it is; ``RULE:pattern/replacement/`` puts groups of the match in place of ``$1`` and so on, and
    writes the result in lower or upper case where ``L`` or ``U`` follows.
    """

    def __init__(self, text: str) -> None:
        """Raises RuleError."""
        self._rules = list(_parsed(text.strip()))

    def name(self, subject: str) -> str:
        """The name of whoever has this subject. Raises NoRuleApplies."""
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
        elif text[at] != ",":  # an empty rule says nothing
            raise RuleError(
                f"Invalid rule in ssl.principal.mapping.rules: {text[at:]!r}. A rule is DEFAULT, or RULE:pattern/replacement/ "
                "with L or U behind it for lower or upper case; rules stand between commas."
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
    """As Java replaces: ``$12`` is group 12 where there is one, else group 1 and a 2; one that does not exist is text."""
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
