"""The rules for values of settings, with Kafka's messages. Hundreds of settings share a few."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from pykbroker.config.setting import ConfigError, Rule, invalid, text_of


def at_least(low: int) -> Rule:
    """A number that is not below ``low``."""
    return between(low, None)


@cache
def between(low: int, high: float | None) -> Rule:
    """A number within both limits; None means no limit."""

    def rule(name: str, value: Any) -> None:
        if value is None:
            raise invalid(name, value, "Value must be non-null")
        if value < low:
            raise invalid(name, value, f"Value must be at least {low}")
        if high is not None and value > high:
            raise invalid(name, value, f"Value must be no more than {high}")

    return rule


@cache
def one_of(*allowed: str) -> Rule:
    """A string out of a few, in this spelling."""

    def rule(name: str, value: Any) -> None:
        if value not in allowed:
            raise invalid(name, value, f"String must be one of: {', '.join(allowed)}")

    return rule


@cache
def one_of_any_case(*allowed: str) -> Rule:
    """A string out of a few; capitals do not matter."""

    def rule(name: str, value: Any) -> None:
        if value is None or value.upper() not in allowed:
            raise invalid(name, value, f"String must be one of (case insensitive): {', '.join(allowed)}")

    return rule


class UniqueList:
    """A list of distinct entries, none of them empty: out of ``allowed`` where that is given (KIP-1161)."""

    unique = True

    def __init__(self, *allowed: str, empty: bool = True, null: bool = False) -> None:
        self._allowed = allowed
        self._empty = empty
        self._null = null

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            if self._null:
                return
            raise ConfigError(f"Configuration '{name}' values must not be null.")
        if not value and not self._empty:
            choice = f"[{', '.join(self._allowed)}]" if self._allowed else "any non-empty value"
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {choice}")
        for entry in value:
            if not entry:
                raise ConfigError(f"Configuration '{name}' values must not be empty.")
            if self._allowed and entry not in self._allowed:
                raise invalid(name, entry, f"String must be one of: {', '.join(self._allowed)}")


def gzip_level(name: str, value: Any) -> None:
    """1 to 9, or -1 for the codec's own choice."""
    if value != -1 and not 1 <= value <= 9:
        raise invalid(name, value, "Value must be between 1 and 9 or equal to -1")


def non_null(name: str, value: Any) -> None:
    """Raises ConfigError for a list with an entry that is null."""
    if value is None:
        raise invalid(name, value, "entry must be non null")


def non_empty(name: str, value: Any) -> None:
    """A string that is not empty; unset is allowed."""
    if value == "":
        raise invalid(name, value, "String must be non-empty")


def throttled_replicas(name: str, value: Any) -> None:
    """``*`` or a list of partition:broker pairs."""
    pairs = [entry for entry in value or () if entry]
    if value is None or (value != ("*",) and not all(re.fullmatch(r"\d+:\d+", pair) for pair in pairs)):
        form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        raise invalid(
            name, value, f"{name} must be the literal '*' or a list of replicas in the following format: {form}"
        )


def quorum_voters(name: str, value: Any) -> None:
    """A list of ``id@host:port``."""
    form = "Each entry should be in the form `{id}@{host}:{port}`."
    for entry in _listed(name, value):
        voter, at, address = entry.partition("@")
        if not at or "@" in address:
            raise ConfigError(f"Invalid configuration value for {name}. {form}")
        if not voter.isdecimal():
            raise ConfigError(f"Failed to parse voter ID as an integer from {voter}")
        if not _is_address(address):
            raise ConfigError(f"Failed to parse host name from entry {entry} for the configuration {name}. {form}")


def quorum_bootstrap_servers(name: str, value: Any) -> None:
    """A list of ``host:port``."""
    for entry in _listed(name, value):
        if not _is_address(entry):
            raise ConfigError(
                f"Failed to parse host name from {entry} for the configuration {name}. "
                'Each entry should be in the form "{host}:{port}"',
            )


def share_offset_reset(name: str, value: Any) -> None:
    """Where a share group starts: latest, earliest, or so long before now (KIP-932)."""
    if value in ("latest", "earliest") or (value is not None and re.fullmatch(_DURATION, value)):
        return
    raise invalid(
        name,
        value,
        f"Invalid value `{text_of(value)}` for configuration {name}. "
        "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
    )


_DURATION: Final = r"by_duration:(?i:P(?=.)(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d{1,9})?S)?)?)"


def _listed(name: str, value: Any) -> tuple[str, ...]:
    if value is None:
        raise ConfigError(f"Invalid value null for configuration {name}")
    entries: tuple[str, ...] = value
    return entries


def _is_address(text: str) -> bool:
    return re.fullmatch(r"(?:[0-9a-zA-Z\-%._]*://)?\[?[0-9a-zA-Z\-%._:]*\]?:[0-9]+", text) is not None
