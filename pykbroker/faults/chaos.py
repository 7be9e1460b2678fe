"""Legal chaos out of a seed: ``chaos_catalogue.py`` has what may befall a client of Apache Kafka at any moment.

What befalls a request is decided by the seed, the client id, the API and the number of the client's request of that API: the same seed
does the same to a program that asks the same. A tape (``chaos_tape.py``) takes the place of the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from pykbroker.faults.book import Rule
from pykbroker.faults.chaos_catalogue import CATALOGUE, PROFILES, Disturbance
from pykbroker.faults.chaos_tape import ChaosTape, ClusterOutcome, Decision, RequestOutcome
from pykbroker.faults.durations import as_text, milliseconds
from pykbroker.wire.apis import APIS

#: The most clients and APIs whose requests are counted.
_MOST_COUNTED: Final = 10_000
#: The characters of a client id by which it is told from others, since what befalls a client is kept.
_LONGEST_CLIENT: Final = 200


class BadChaos(ValueError):
    """A chaos that cannot be; the text says what to write."""


@dataclass(frozen=True, slots=True)
class Chaos:
    """Chaos by a seed: ``profile`` chooses from the catalogue, ``intensity`` multiplies its shares, and after ``quiet_after`` milliseconds
    nothing more befalls anybody. With a ``tape`` there befalls what is on it, and nothing else. Raises BadChaos.
    """

    seed: int
    profile: str = "everything"
    intensity: float = 1.0
    quiet_after: int | None = None
    tape: ChaosTape | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise BadChaos("the seed of chaos is a whole number from 0 on, of 63 bits at most")
        if self.profile not in PROFILES:
            raise BadChaos(f"there is no chaos profile {self.profile[:100]!r}; there are {', '.join(PROFILES)}")
        if not 0 < self.intensity <= 10:
            raise BadChaos(f"the intensity of chaos is more than 0 and at most 10, not {self.intensity:g}")

    def __str__(self) -> str:
        quiet = "" if self.quiet_after is None else f" quiet_after={as_text(self.quiet_after)}"
        return f"{self.seed} profile={self.profile} intensity={self.intensity:g}{quiet}"

    @classmethod
    def parse(cls, given: str | int) -> Chaos:
        """Chaos as text: ``7``, or ``7 profile=network intensity=2 quiet_after=30s``. Raises BadChaos."""
        seed, *words = str(given).split() or [""]
        said = dict(word.partition("=")[::2] for word in words)
        if len(said) < len(words):
            raise BadChaos(f"chaos is told one thing twice: {' '.join(words)[:100]!r}")
        unknown = said.keys() - {"profile", "intensity", "quiet_after"}
        if unknown:
            raise BadChaos(f"chaos has no {min(unknown)[:100]}; it has profile, intensity and quiet_after")
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
                f"{str(given)[:100]!r} is no chaos: write a seed, and what else it may have, as in: "
                "7 profile=network intensity=2 quiet_after=30s"
            ) from error

    @classmethod
    def again(cls, tape: ChaosTape) -> Chaos:
        """What is on a tape, again. Raises BadChaos."""
        return replace(cls.parse(tape.chaos), tape=tape)

    def outcomes(self) -> list[Disturbance]:
        """What is in its profile."""
        return [each for each in CATALOGUE if each.is_in(self.profile)]

    def check_brokers(self, there: Collection[int]) -> None:
        """Raises BadChaos if something on the tape befalls a broker that is not there."""
        for each in self.planned() or ():
            if each.broker not in there:
                raise BadChaos(
                    f"the tape is of a cluster with a broker {each.broker}, and these are: {', '.join(map(str, sorted(there)))}; "
                    "start as many brokers as it was recorded with"
                )

    def planned(self) -> list[ClusterOutcome] | None:
        """What befalls the cluster by the tape, in order of time; None without a tape."""
        if self.tape is None:
            return None
        return sorted(
            (each for each in self.tape.decisions if isinstance(each, ClusterOutcome)), key=lambda each: each.at_ms
        )


class RequestChaos:
    """Decides what befalls requests. ``tell`` is called with each decision, unless ``permits`` forbids it: then it does not befall."""

    def __init__(
        self, chaos: Chaos, tell: Callable[[Decision], None], permits: Callable[[Decision], bool] = lambda _: True
    ) -> None:
        self.chaos = chaos
        self._outcomes = [each for each in chaos.outcomes() if each.fault is not None]
        self._counts: dict[tuple[str, int], int] = {}
        self._tell = tell
        self._permits = permits
        self._taped: dict[tuple[str, str, int], RequestOutcome] | None = None
        if chaos.tape is not None:
            of_requests = [each for each in chaos.tape.decisions if isinstance(each, RequestOutcome)]
            self._taped = {(each.client, each.api, each.number): each for each in of_requests}

    def clients_of(self, *api_keys: int) -> list[str]:
        """The clients that have asked any of these APIs, in order."""
        return sorted({client for client, api_key in self._counts if client and api_key in api_keys})

    def choose(self, client_id: str | None, api_key: int, version: int) -> Rule | None:
        """What befalls a request; None if nothing does."""
        key = (client_id or "")[:_LONGEST_CLIENT], api_key
        if len(self._counts) >= _MOST_COUNTED:
            self._counts.clear()
        number = self._counts[key] = self._counts.get(key, 0) + 1
        decision = self._decide(key[0], api_key, version, number)
        if decision is None or not self._permits(decision):
            return None
        self._tell(decision)
        return Rule(0, decision.fault)

    def _decide(self, client: str, api_key: int, version: int, number: int) -> RequestOutcome | None:
        if self._taped is not None:
            return self._taped.get((client, APIS[api_key].name, number))
        rng = Random(f"{self.chaos.seed}/{client}/{api_key}/{number}")
        drawn = rng.random()
        for outcome in self._outcomes:
            if not outcome.befalls(api_key, version):
                continue
            drawn -= outcome.share * self.chaos.intensity
            if drawn < 0:
                assert outcome.fault is not None
                return RequestOutcome(client, APIS[api_key].name, number, outcome.name, outcome.fault(rng))
        return None
