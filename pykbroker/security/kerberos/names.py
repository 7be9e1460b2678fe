"""Maps Kerberos names (``alice@REALM``, ``kafka/host@REALM``) to users by ``sasl.kerberos.principal.to.local.rules``.

Rules have the form of ``auth_to_local`` in krb5.conf, as Kafka reads it; the first one that applies decides.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

_NAME: Final = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_RULE: Final = re.compile(
    r"DEFAULT|RULE:\[(?P<count>\d*):(?P<form>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<pattern>[^/]*)/(?P<by>[^/]*)/(?P<all>g)?)?/?(?P<case>[LU])?",
    re.ASCII,
)
_PARAMETER: Final = re.compile(r"\$(\d*)", re.ASCII)
#: In a replacement: an escaped character, a group, or an invalid sign.
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)(\d*)|([\\$])", re.ASCII | re.DOTALL)
_RULES: Final = "sasl.kerberos.principal.to.local.rules"
#: The highest number that Java reads.
_MOST: Final = 2**31 - 1


class NameRuleError(ValueError):
    """A rule is invalid."""


class NoUser(Exception):
    """No rule maps the name to a user, or a rule fails for it."""


class KerberosName(NamedTuple):
    """The parts of a name, of which Kafka supports two besides the realm. Without a realm it is a user name."""

    service: str
    host: str | None
    realm: str | None

    @classmethod
    def parse(cls, text: str) -> KerberosName:
        """The parts of a name. Raises NoUser for an invalid one."""
        if "@" not in text:
            return cls(text, None, None)
        found = _NAME.fullmatch(text)
        if found is None:
            raise NoUser(f"Malformed Kerberos name: {text}")
        return cls(*found.groups())

    @property
    def parameters(self) -> list[str]:
        """The values of $0, $1 and $2 in rules."""
        return [self.realm or "", self.service, *([] if self.host is None else [self.host])]


#: Maps a name to a user; None if the rule does not apply. Raises NoUser.
Rule = Callable[[KerberosName], str | None]


class ShortNames:
    """Maps names to users by ``rules``; DEFAULT applies to ``default_realm``. Raises NameRuleError."""

    def __init__(self, rules: Sequence[str], default_realm: str) -> None:
        self._text = ", ".join(rules)
        self._rules = [_rule(text, default_realm) for text in rules]

    def user(self, name: str) -> str:
        """The user for a Kerberos name. Raises NoUser."""
        parsed = KerberosName.parse(name)
        if parsed.realm is None:
            return parsed.service
        for rule in self._rules:
            found = rule(parsed)
            if found is not None:
                return found
        raise NoUser(f"no rule of {_RULES} ({self._text}) applies to {name}")


def _rule(text: str, default_realm: str) -> Rule:
    found = _RULE.fullmatch(text)
    if found is None or (found["count"] is not None and not _is_number(found["count"])):
        raise NameRuleError(
            f"Invalid rule in {_RULES}: {text!r}. A rule is DEFAULT, or RULE:[1:$1@$0](pattern)s/pattern/replacement/ followed "
            "by g to replace all matches and by /L or /U for lower or upper case; a comma ends it, even in a pattern."
        )
    if found["count"] is None:
        return lambda name: _simple(name.service, text) if name.realm == default_realm else None
    return _changing(found, text)


def _is_number(digits: str) -> bool:
    return digits != "" and int(digits) <= _MOST


def _changing(parts: re.Match[str], rule: str) -> Rule:
    count, form = int(parts["count"]), parts["form"]
    match = None if parts["match"] is None else _compiled(parts["match"])
    pattern = None if parts["pattern"] is None else _compiled(parts["pattern"])
    replacement, times = parts["by"], 0 if parts["all"] else 1
    change: Callable[[str], str] = {"L": str.lower, "U": str.upper}.get(parts["case"], str)

    def apply(name: KerberosName) -> str | None:
        parameters = name.parameters
        if len(parameters) - 1 != count:
            return None
        base = _filled_in(form, parameters)
        if match is not None and not match.fullmatch(base):
            return None
        if pattern is not None:
            base = pattern.sub(lambda found: _replaced(replacement, found), base, count=times)
        return change(_simple(base, rule))

    return apply


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Python warns of nested sets, which Java reads differently
            return re.compile(pattern, re.ASCII)
    except (re.error, FutureWarning) as error:
        raise NameRuleError(f"Invalid pattern {pattern!r} in {_RULES}: {error}") from error


def _simple(user: str, rule: str) -> str:
    if "/" in user or "@" in user:
        raise NoUser(f"Non-simple name {user} after auth_to_local rule {rule}")
    return user


def _filled_in(form: str, parameters: list[str]) -> str:
    def parameter(found: re.Match[str]) -> str:
        if not _is_number(found[1]) or int(found[1]) >= len(parameters):
            raise NoUser(
                f"{form!r} in a rule of {_RULES} has {found[0]}, but the name only has $0 to ${len(parameters) - 1}"
            )
        return parameters[int(found[1])]

    return _PARAMETER.sub(parameter, form)


def _replaced(replacement: str, found: re.Match[str]) -> str:
    """Replacement as in Java: ``$12`` is group 12 if it exists, otherwise group 1 and a 2."""
    groups = found.re.groups

    def text(reference: re.Match[str]) -> str:
        escaped, first, more, mistake = reference.groups()
        if escaped is not None:
            return str(escaped)
        number, used = int(first or 0), 0
        while used < len(more or "") and number * 10 + int(more[used]) <= groups:
            number = number * 10 + int(more[used])
            used += 1
        if mistake or number > groups:
            raise NoUser(f"{replacement!r} in a rule of {_RULES} refers to a group that its pattern lacks")
        return (found[number] or "") + str(more[used:])

    return _REFERENCE.sub(text, replacement)
