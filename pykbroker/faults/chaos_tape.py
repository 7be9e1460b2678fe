"""Tapes of chaos: what has befallen clients and the cluster, a line of JSON each, so that it can be done again, whole or in part.

What befell a request is kept by the client id, the API and the number of the client's request of that API; what befell the cluster by
the milliseconds since the chaos began. The first line names the version of the format and the chaos that the tape is of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pykbroker.faults.chaos_catalogue import CATALOGUE, CLOCK, Disturbance
from pykbroker.faults.fault import BadFault, Fault
from pykbroker.wire.apis import APIS

VERSION: Final = 1
#: The longest that a broker is down, or a client cut off.
LONGEST_DOWN_MS: Final = 60_000
#: The farthest that a clock is wrong by a tape; what is drawn is less.
FARTHEST_MS: Final = 1_000_000
#: The most decisions of a tape.
LONGEST: Final = 100_000
_KINDS: Final = {each.name: each for each in CATALOGUE}
_API_NAMES: Final = {api.name for api in APIS.values()}


class BadChaosTape(ValueError):
    """A tape that cannot be played; the text says in which line, and why."""


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """What befell the request ``number``, from 1 on, of an API (Kafka's name) of a client."""

    client: str
    api: str
    number: int
    outcome: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.outcome}: {self.api} {self.number} of {self.client!r}: {self.fault}"

    def as_json(self) -> dict[str, Any]:
        """As a line of a tape has it."""
        return {
            "client": self.client,
            "api": self.api,
            "number": self.number,
            "outcome": self.outcome,
            "fault": self.fault.as_json(),
        }


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """What befell the cluster ``at_ms`` after the chaos began: a partition whose leader moved to a broker, or that of a topic that was made
    again, a broker that was down or cut off for ``down_ms``, a client that nothing reached for so long, or a clock that was ``ahead_ms`` ahead
    (behind, if negative) for so long.
    """

    at_ms: int
    outcome: str
    broker: int
    topic: str = ""
    partition: int = -1
    down_ms: int = 0
    client: str = ""
    ahead_ms: int = 0

    def __str__(self) -> str:
        what = repr(self.client) if self.client else f"broker {self.broker}"
        if self.ahead_ms:
            what = f"{abs(self.ahead_ms) / 1000:.1f} s {'ahead' if self.ahead_ms > 0 else 'behind'}"
        lasts = f"{what} for {self.down_ms / 1000:.1f} s" if self.down_ms else what
        return f"{self.outcome}: {f'{self.topic}-{self.partition} to broker {self.broker}' if self.topic else lasts}"

    def as_json(self) -> dict[str, Any]:
        """As a line of a tape has it."""
        of = {"topic": self.topic, "partition": self.partition} if self.topic else {"down_ms": self.down_ms}
        to = {"client": self.client} if self.client else {}
        off = {"ahead_ms": self.ahead_ms} if self.ahead_ms else {}
        return {"at_ms": self.at_ms, "outcome": self.outcome, "broker": self.broker, **of, **to, **off}


Decision = RequestOutcome | ClusterOutcome


@dataclass(frozen=True, slots=True)
class ChaosTape:
    """A chaos as text, and what befell by it."""

    chaos: str
    decisions: tuple[Decision, ...]

    def lines(self) -> list[str]:
        """The lines of its file."""
        return [header(self.chaos), *map(line, self.decisions)]

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> ChaosTape:
        """The tape of a file. A last line that a kill has torn is left out. Raises BadChaosTape."""
        rows = [row for row in lines if row.strip()]
        if not rows:
            raise BadChaosTape("a tape has a first line with its version, and this one is empty")
        if len(rows) > LONGEST + 1:
            raise BadChaosTape(f"a tape has {LONGEST} decisions at most")
        chaos = _chaos(rows[0])
        decisions = []
        for number, row in enumerate(rows[1:], 2):
            try:
                said = json.loads(row)
            except (ValueError, RecursionError) as error:
                if number == len(rows) and not row.endswith("\n"):
                    break
                raise BadChaosTape(f"line {number} of the tape is no JSON") from error
            try:
                decisions.append(_decision(said))
            except (KeyError, TypeError, ValueError) as error:
                raise BadChaosTape(
                    f"line {number} of the tape is nothing that chaos does: {row.strip()[:100]!r}"
                ) from error
        return cls(chaos, tuple(decisions))


def header(chaos: str) -> str:
    """The first line of a tape."""
    return json.dumps({"tape": VERSION, "chaos": chaos})


def line(decision: Decision) -> str:
    """The line of a decision."""
    return json.dumps(decision.as_json())


def _chaos(first: str) -> str:
    try:
        said = json.loads(first)
        version, chaos = said["tape"], said["chaos"]
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise BadChaosTape("its first line is not that of a tape of chaos, which is written by --chaos-tape") from error
    if version != VERSION:
        raise BadChaosTape(f"it is a tape of version {str(version)[:20]}, and this is read: {VERSION}; record it again")
    return str(chaos)


def _decision(said: Any) -> Decision:
    """Raises KeyError, TypeError and ValueError."""
    kind = _KINDS[said["outcome"]]
    return _of_request(said, kind) if kind.fault is not None else _of_cluster(said, kind)


def _of_request(said: Any, kind: Disturbance) -> RequestOutcome:
    try:
        fault = Fault.from_json(said["fault"])
    except BadFault as error:
        raise ValueError(str(error)) from error
    if not kind.allows(fault) or said["api"] not in _API_NAMES or fault.api not in ("*", said["api"]):
        raise ValueError("not of this kind")
    return RequestOutcome(str(said["client"]), said["api"], _whole(said["number"]), kind.name, fault)


def _of_cluster(said: Any, kind: Disturbance) -> ClusterOutcome:
    at, broker = _whole(said["at_ms"]), _whole(said["broker"])
    if "topic" in said:
        return ClusterOutcome(at, kind.name, broker, str(said["topic"]), _whole(said["partition"]))
    down_ms = min(_whole(said["down_ms"]), LONGEST_DOWN_MS)
    ahead = said.get("ahead_ms", 0)
    _whole(abs(ahead))
    if abs(ahead) > FARTHEST_MS or bool(ahead) != (kind.stream == CLOCK):
        raise ValueError("not of this kind")
    return ClusterOutcome(at, kind.name, broker, down_ms=down_ms, client=str(said.get("client", "")), ahead_ms=ahead)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise ValueError("no whole number")
    return value
