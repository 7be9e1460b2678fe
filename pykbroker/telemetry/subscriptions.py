"""Subscriptions of client metrics: what they ask of a client, and the id of that (ClientMetricsManager, Apache Kafka 4.4.0)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pykbroker.config.definitions.client_metrics import CLIENT_METRICS_SETTINGS
from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern
from pykbroker.wire.crc import crc32c

log = logging.getLogger(__name__)

#: Stands for all metrics.
EVERYTHING: Final = "*"
_LONGEST_INTERVAL_MS: Final = CLIENT_METRICS_SETTINGS["interval.ms"].default
#: The most answers that are kept: clients choose by what they say of themselves which subscriptions match.
_MOST_KEPT: Final = 64


class Subscription(NamedTuple):
    """``match`` has a pattern by each property of clients that it names; all have to match as a whole."""

    metrics: tuple[str, ...]
    interval_ms: int
    match: dict[str, str]


class Subscribed(NamedTuple):
    """What all subscriptions together ask of one client, as Kafka orders it."""

    metrics: list[str]
    interval_ms: int


def subscription_of(settings: Mapping[str, str]) -> Subscription:
    """The subscription with these settings, which were validated when they were altered."""
    values = {
        name: setting.parse(settings[name]) if name in settings else setting.default
        for name, setting in CLIENT_METRICS_SETTINGS.items()
    }
    pairs = (pattern.split("=") for pattern in values["match"])
    match = {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2}
    return Subscription(values["metrics"], values["interval.ms"], match)


class AllSubscriptions:
    """All subscriptions of one moment. Clients that the same ones match share what is asked of them, which may be many names."""

    def __init__(self, by_name: Mapping[str, Subscription]) -> None:
        self.by_name = by_name
        self._in_order: list[str] | None = None
        self._kept: dict[tuple[str, ...], Subscribed] = {}

    def of(self, client: Mapping[str, str]) -> Subscribed:
        """What is asked of a client with these properties. Patterns are compiled and matched here: a thread's work."""
        if self._in_order is None:
            self._in_order = in_java_order(self.by_name)
        names = tuple(name for name in self._in_order if _matches(name, self.by_name[name].match, client))
        found = self._kept.get(names)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[names] = _together([self.by_name[name] for name in names])
        return found


def _together(matching: Sequence[Subscription]) -> Subscribed:
    found = [metric for each in matching for metric in in_java_order(each.metrics, sized=True)]
    metrics = [EVERYTHING] if EVERYTHING in found else in_java_order(found)
    return Subscribed(metrics, min([_LONGEST_INTERVAL_MS, *(each.interval_ms for each in matching)]))


def _matches(name: str, match: Mapping[str, str], client: Mapping[str, str]) -> bool:
    """Whether every pattern matches. One that RE2 does not know, which Java's patterns do, matches nothing."""
    for key, text in match.items():
        value = client.get(key)
        if value is None:
            return False
        try:
            if not compile_pattern(text).matches(value):
                return False
        except InvalidPattern as error:
            log.warning(
                "The subscription %r of client metrics applies to no client: the pattern of %s is not usable: %s",
                name,
                key,
                error,
            )
            return False
    return True


def subscription_id(subscribed: Subscribed, client_instance_id: bytes) -> int:
    """The id by which a client's pushes name what it was asked: a CRC-32C, and the client's own id in it."""
    text = f"[{', '.join(subscribed.metrics)}]{subscribed.interval_ms}"
    both = int.from_bytes(client_instance_id[:8]) ^ int.from_bytes(client_instance_id[8:])
    found = crc32c(text.encode()) ^ (both >> 32) ^ (both & 0xFFFFFFFF)
    return found - 2**32 if found >= 2**31 else found


def in_java_order(names: Iterable[str], *, sized: bool = False) -> list[str]:
    """Different names in the order of Java's HashSet, which is part of what the id is computed from. ``sized`` is for a set that is made
    of a collection, not grown.
    """
    different = list(dict.fromkeys(names))
    capacity = 16
    while capacity < int(len(different) / 0.75) + 1 if sized else len(different) > capacity * 3 // 4:
        capacity *= 2
    return sorted(different, key=lambda name: _spread(_java_hash(name)) & (capacity - 1))


def _java_hash(text: str) -> int:
    found = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return found


def _spread(number: int) -> int:
    return number ^ (number >> 16)
