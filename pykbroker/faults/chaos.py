"""Legal chaos: what may befall a client of Apache Kafka at any moment, out of a seed.

Everything in the catalogue is either a matter of time and connections, which no client can tell from a slow or dying broker, or done by
real means: a leader that moves, moves. So no answer is made up, and nothing is answered that the state does not bear out. What befalls
a request is decided by the seed, the client id, the API and the number of the client's request of that API: the same seed does the
same to a program that asks the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from pykbroker.faults.book import Rule
from pykbroker.faults.durations import milliseconds
from pykbroker.faults.fault import Fault
from pykbroker.refusals.shapes import carries_throttle
from pykbroker.wire.apis import ApiKey, response_class

#: The most clients and APIs whose requests are counted.
_MOST_COUNTED: Final = 10_000


class BadChaos(ValueError):
    """A chaos that cannot be; the text says what to write."""


class Disturbance(NamedTuple):
    """One kind of the catalogue."""

    name: str
    #: network, overload or elections.
    profile: str
    #: Of all requests that it may befall; for what befalls the cluster, of all moments that are drawn.
    share: float
    #: Why Apache Kafka may do it.
    source: str
    #: What a correct client does.
    client: str
    #: The fault for a request, from a source of random numbers; None for what befalls the cluster.
    fault: Callable[[Random], Fault] | None = None
    #: The APIs, if not all.
    apis: frozenset[int] = frozenset()

    def befalls(self, api_key: int, version: int) -> bool:
        """Whether it may befall a request."""
        if self.fault is None or (self.apis and api_key not in self.apis):
            return False
        return not self.apis or carries_throttle(response_class(api_key), version)


def _ms(rng: Random) -> int:
    """Milliseconds: each order of magnitude from 2 to 1000 as likely as another."""
    return round(2 * math.pow(500, rng.random()))


CATALOGUE: Final = (
    Disturbance(
        "slow request",
        "overload",
        0.04,
        "requests wait for a request handler (queued.max.requests, request queue time)",
        "waits up to request.timeout.ms",
        lambda rng: Fault(delay=_ms(rng)),
    ),
    Disturbance(
        "slow answer",
        "overload",
        0.04,
        "answers wait for the network thread (response queue and send time)",
        "waits up to request.timeout.ms; what it asked has been done",
        lambda rng: Fault(delay=_ms(rng), after=True),
    ),
    Disturbance(
        "throttled",
        "overload",
        0.02,
        "KIP-219: quotas on clients may be set at any moment; the answer comes at once, then the connection is muted",
        "sends nothing for throttle_time_ms",
        lambda rng: Fault(throttle=_ms(rng)),
        frozenset({ApiKey.PRODUCE, ApiKey.FETCH}),
    ),
    Disturbance(
        "connection lost with the request",
        "network",
        0.01,
        "connections end at any moment: connections.max.idle.ms, a killed broker, the network",
        "connects again and repeats the request",
        lambda _: Fault(close=True),
    ),
    Disturbance(
        "connection lost with the answer",
        "network",
        0.01,
        "a broker may die between the append and the answer",
        "connects again and repeats the request, which may have been carried out: idempotence tells the producer's apart",
        lambda _: Fault(close=True, after=True),
    ),
    Disturbance(
        "leader moved",
        "elections",
        0.5,
        "ElectLeaders, preferred leader elections, reassignments: carried out by the controller",
        "asks for metadata after NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH, and repeats the request",
    ),
    Disturbance(
        "coordinator moved",
        "elections",
        0.25,
        "the same for partitions of __consumer_offsets and __transaction_state",
        "asks for its coordinator after NOT_COORDINATOR, and waits while it loads (COORDINATOR_LOAD_IN_PROGRESS)",
    ),
    Disturbance(
        "broker restarted",
        "elections",
        0.15,
        "a rolling restart: a controlled shutdown (KIP-631), and a start some seconds later",
        "goes on with the other brokers",
    ),
    Disturbance(
        "broker lost",
        "elections",
        0.1,
        "a machine fails: its connections are cut, the controller fences it; it is back some seconds later",
        "goes on with the other brokers",
    ),
)
PROFILES: Final = ("everything", *dict.fromkeys(each.profile for each in CATALOGUE))


@dataclass(frozen=True, slots=True)
class Chaos:
    """Chaos by a seed: ``profile`` chooses from the catalogue, ``intensity`` multiplies its shares, and after ``quiet_after`` milliseconds
    nothing more befalls anybody. Raises BadChaos.
    """

    seed: int
    profile: str = "everything"
    intensity: float = 1.0
    quiet_after: int | None = None

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise BadChaos(f"there is no chaos profile {self.profile!r}; there are {', '.join(PROFILES)}")
        if not 0 < self.intensity <= 10:
            raise BadChaos(f"the intensity of chaos is more than 0 and at most 10, not {self.intensity:g}")

    @classmethod
    def parse(cls, given: str | int) -> Chaos:
        """Chaos as text: ``7``, or ``7 profile=network intensity=2 quiet_after=30s``. Raises BadChaos."""
        seed, *words = str(given).split() or [""]
        said = dict(word.partition("=")[::2] for word in words)
        unknown = said.keys() - {"profile", "intensity", "quiet_after"}
        if unknown:
            raise BadChaos(f"chaos has no {min(unknown)}; it has profile, intensity and quiet_after")
        try:
            quiet = said.get("quiet_after")
            return cls(
                int(seed),
                said.get("profile", "everything"),
                float(said.get("intensity", "1")),
                None if quiet is None else milliseconds(quiet),
            )
        except BadChaos:
            raise
        except ValueError as error:
            raise BadChaos(
                f"{given!r} is no chaos: write a seed, and what else it may have, as in: "
                "7 profile=network intensity=2 quiet_after=30s"
            ) from error

    def outcomes(self) -> list[Disturbance]:
        """What is in its profile."""
        return [each for each in CATALOGUE if self.profile in ("everything", each.profile)]


class RequestChaos:
    """Decides what befalls requests. ``tell`` is called with each decision in words."""

    def __init__(self, chaos: Chaos, tell: Callable[[str], None]) -> None:
        self.chaos = chaos
        self._outcomes = [each for each in chaos.outcomes() if each.fault is not None]
        self._counts: dict[tuple[str, int], int] = {}
        self._tell = tell

    def choose(self, client_id: str | None, api_key: int, version: int) -> Rule | None:
        """What befalls a request; None if nothing does."""
        key = client_id or "", api_key
        if len(self._counts) >= _MOST_COUNTED:
            self._counts.clear()
        number = self._counts[key] = self._counts.get(key, 0) + 1
        rng = Random(f"{self.chaos.seed}/{key[0]}/{api_key}/{number}")
        drawn = rng.random()
        for outcome in self._outcomes:
            if not outcome.befalls(api_key, version):
                continue
            drawn -= outcome.share * self.chaos.intensity
            if drawn < 0:
                assert outcome.fault is not None
                fault = outcome.fault(rng)
                self._tell(f"{outcome.name}: {ApiKey(api_key).name} {number} of {key[0]!r}: {fault}")
                return Rule(0, fault)
        return None


def table() -> str:
    """The catalogue as docs/faults.md has it."""
    rows = ["| outcome | profile | why Apache Kafka may do it | what a correct client does |", "|---|---|---|---|"]
    return "\n".join(rows + [f"| {each.name} | {each.profile} | {each.source} | {each.client} |" for each in CATALOGUE])


if __name__ == "__main__":
    print(table())  # noqa: T201 - for the page
