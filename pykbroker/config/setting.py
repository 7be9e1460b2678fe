"""One setting: its name, type, default and rule, and how its text becomes a value.

Parsing follows Java's, because a file that Apache Kafka accepts must mean the same here: numbers take a leading plus,
doubles a trailing ``f`` or ``d``, lists are split at commas with the space around them dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any, Final, NamedTuple

from pykbroker.runtime.digits import number


class ConfigError(ValueError):
    """An invalid value. The message is Kafka's: it names the setting and what is allowed."""


def invalid(name: str, value: object, why: str) -> ConfigError:
    """The error for ``value``, in Kafka's wording."""
    return ConfigError(f"Invalid value {text_of(value)} for configuration {name}: {why}")


class Type(IntEnum):
    """Types of values. The numbers are those of DescribeConfigs (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Update(Enum):
    """Whether the setting can be altered at run time, and by which resource (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Required(Enum):
    """The default of a setting that has none."""

    REQUIRED = 0


REQUIRED: Final = Required.REQUIRED

#: How the names of settings begin that Kafka does not have: our own, and those of Confluent's brokers.
OWN_PREFIXES: Final = ("pykbroker.", "confluent.")

Rule = Callable[[str, Any], None]
"""Takes a setting's name and parsed value; raises ConfigError."""


class Setting(NamedTuple):
    """A definition. ``default`` is a parsed value (lists are tuples), None for "not set", or REQUIRED."""

    name: str
    type: Type
    default: Any
    importance: Importance
    rule: Rule | None = None
    update: Update = Update.READ_ONLY
    internal: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is a setting that Kafka does not have. Such are internal, so that clients do not see them where they are not given."""
        return self.name.startswith(OWN_PREFIXES)

    @property
    def sensitive(self) -> bool:
        """Whether the value must never leave the broker."""
        return self.type is Type.PASSWORD

    @property
    def of_distinct(self) -> bool:
        """Whether it is a list in whose text an entry counts once."""
        return getattr(self.rule, "unique", False)

    def parse(self, text: str | None) -> Any:
        """The value of ``text``. Raises ConfigError if it cannot be parsed or breaks the rule."""
        value = None if text is None else _PARSERS[self.type](self.name, text)
        if self.rule is not None:
            if isinstance(value, tuple) and self.of_distinct:
                value = tuple(dict.fromkeys(value))
            self.rule(self.name, value)
        return value


def table(*settings: Setting) -> dict[str, Setting]:
    """The settings by name, in the order given."""
    return {setting.name: setting for setting in settings}


def text_of(value: object) -> str:
    """A parsed value as Kafka writes it in messages. None is ``null``; lists in brackets."""
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    return value_text(value) or ""


def value_text(value: object) -> str | None:
    """A parsed value as DescribeConfigs shows it, and as it could be parsed again. None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_double(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


#: Of 64 bits, after the zeros, of which Java's integers take any.
_MOST_DIGITS: Final = 19


def java_int(text: str, bits: int = 32) -> int | None:
    """The number that Java reads in the text, without spaces around it; None if there is none, or one of more bits."""
    sign, digits = (text[0], text[1:]) if text.startswith(("+", "-")) else ("", text)
    size = number(digits.lstrip("0") or digits[:1], _MOST_DIGITS)
    if size is None:
        return None
    value = -size if sign == "-" else size
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def _integer(kind: Type, bits: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        value = java_int(text.strip(), bits)
        if value is None:
            raise invalid(name, text, f"Not a number of type {kind.name}")
        return value

    return parse


def _double(name: str, text: str) -> float:
    stripped = text.strip()
    if found := re.fullmatch(r"([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))[fFdD]?", stripped):
        return float(found[1])
    raise invalid(name, text, "Not a number of type DOUBLE")


def _boolean(name: str, text: str) -> bool:
    stripped = text.strip()
    lowered = stripped.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    raise invalid(name, text, "Expected value to be either true or false")


def _list(_name: str, text: str) -> tuple[str, ...]:
    stripped = text.strip()
    return tuple(entry.strip() for entry in stripped.split(",")) if stripped else ()


def _string(_name: str, text: str) -> str:
    return text.strip()


_PARSERS: Final[dict[Type, Callable[[str, str], Any]]] = {
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.INT: _integer(Type.INT, 32),
    Type.SHORT: _integer(Type.SHORT, 16),
    Type.LONG: _integer(Type.LONG, 64),
    Type.DOUBLE: _double,
    Type.LIST: _list,
    Type.CLASS: _string,  # a Java class cannot be looked for here
    Type.PASSWORD: _string,
}


def _java_double(value: float) -> str:
    """The text of Java's ``Double.toString``: scientific outside [0.001, 10,000,000), always with a fraction."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    shortest = next(text for digits in range(1, 18) if float(text := f"{value:.{digits}e}") == value)
    mantissa, exponent = shortest.split("e")
    return f"{mantissa}E{int(exponent)}"
