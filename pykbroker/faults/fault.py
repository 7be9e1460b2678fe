"""A fault rule as a frozen value: which requests, when, and the effect.

The same options are used in Python (``Fault("Produce", topic="t", error="NOT_LEADER_OR_FOLLOWER", times=1)``), in text
(``Produce topic=t error=NOT_LEADER_OR_FOLLOWER times=1``) and in JSON (``{"api": "Produce", "topic": "t", ...}``).
A rule that cannot act is refused when it is created.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from pykbroker.faults import checks
from pykbroker.faults.checks import FLAGS, BadFault
from pykbroker.faults.durations import as_text, milliseconds

__all__ = ["BadFault", "Fault"]

#: Words whose value is a duration.
_DURATIONS = ("delay", "throttle")
_NUMBERS = ("partition", "broker", "truncate", "leader", "times", "nth", "seed", "status")


@dataclass(frozen=True, slots=True)
class Fault:
    """See the module. ``api`` is Kafka's name of it, ``*`` for all of them, or ``SchemaRegistry``. Durations are kept in milliseconds and may be given as text.

    Raises BadFault, which says what to write instead.
    """

    api: str = "*"

    # ---- the requests: all given conditions must hold; in texts, * stands for any characters
    version: str | None = None  #: ``7``, ``3-7``, ``7+``
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    client: str | None = None  #: the client id
    principal: str | None = None
    listener: str | None = None
    broker: int | None = None
    path: str | None = None  #: of the schema registry: ``/subjects/*``, or ``POST /subjects/*``

    # ---- the effect: a delay, and at most one of the others
    delay: int | None = None  #: keep the request waiting, or with ``after`` its answer
    error: str | None = None  #: answer this error
    at: str | None = None  #: the level of the error: top, topic, partition, group, member, item
    hold: bool = False  #: keep the request waiting until the rule is removed
    drop: bool = False  #: never answer; the connection stays open
    close: bool = False  #: close the connection without an answer
    truncate: int | None = None  #: send this many bytes of the answer, then close the connection
    corrupt: bool = False  #: corrupt the fetched batches, so that their checksums are wrong
    duplicate: bool = False  #: handle the request twice
    short: bool = False  #: answer a fetch with the first batch that it can have, and no more
    throttle: int | None = None  #: answer this throttle_time_ms, and mute the connection for that time
    stale: bool = False  #: answer metadata as of the time when the rule was added
    leader: int | None = None  #: answer metadata with this broker as the leader
    status: int | None = None  #: of the schema registry: answer this code, 503 or 50001
    after: bool = False  #: handle the request first

    # ---- when
    times: int | None = None  #: the most times; without it, until the rule is removed
    nth: int | None = None  #: from the n-th matching request on
    probability: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        for name in _DURATIONS:
            given = getattr(self, name)
            if given is not None:
                try:
                    object.__setattr__(self, name, milliseconds(given))
                except ValueError as error:
                    raise BadFault(f"{name}: {error}") from error
        checks.normalise(self)
        checks.check(self)

    def __str__(self) -> str:
        return " ".join([self.api, *self._words()])

    def _words(self) -> Iterator[str]:
        for name, value in self.as_json().items():
            if value is True:
                yield name
            elif name != "api":
                yield shlex.quote(f"{name}={value}")

    def as_json(self) -> dict[str, Any]:
        """The given options only; ``from_json`` returns the same rule."""
        said = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and value is not False:
                said[each.name] = as_text(value) if each.name in _DURATIONS else value
        return said

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Fault:
        """The rule with the options of an object. Raises BadFault."""
        checks.check_words(said)
        return cls(**said)

    @classmethod
    def parse(cls, text: str) -> Fault:
        """The rule in a text, as from ``str``. Raises BadFault."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise BadFault(f"{text[:100]!r} cannot be parsed ({error}); close the quotes") from error
        return cls.from_words(words)

    @classmethod
    def from_words(cls, words: list[str]) -> Fault:
        """The rule in words, as split by a shell. Raises BadFault."""
        if not words or "=" in words[0]:
            raise BadFault(
                "a fault begins with an API, or * for all, as in: Produce topic=t error=NOT_LEADER_OR_FOLLOWER"
            )
        said: dict[str, Any] = {"api": words[0]}
        for word in words[1:]:
            name, sign, value = word.partition("=")
            if name in said:
                raise BadFault(f"{name} is given twice")
            said[name] = _value(name, value) if sign else _flag(name)
        return cls.from_json(said)


def _flag(name: str) -> bool:
    if name not in FLAGS:
        checks.check_words({name: None})
        raise BadFault(f"{name} needs a value, as in {name}=...")
    return True


def _value(name: str, value: str) -> Any:
    if name in FLAGS:
        raise BadFault(f"{name} takes no value; write {name} alone, or leave it out")
    try:
        if name in _NUMBERS:
            return int(value)
        return float(value) if name == "probability" else value
    except ValueError as error:
        raise BadFault(f"{name}={value}: {value!r} is not a number") from error
