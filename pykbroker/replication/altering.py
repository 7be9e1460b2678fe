"""The AlterPartition requests of one broker, or its AssignReplicasToDirs requests: at most one is under way, and what is proposed meanwhile
goes with the next.

A proposal that was not answered goes again with the next request, so none is lost with an answer; the rules are those of Kafka's
DefaultAlterPartitionManager and AssignmentsManager.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
P = TypeVar("P")
A = TypeVar("A")

#: The time, in milliseconds, after which an AlterPartition request is sent again that was refused as a whole, or not answered.
RETRY_MS = 50


class AlterRequest(NamedTuple, Generic[K, P]):
    """One request: its number among all of the broker, and what it proposes."""

    number: int
    changes: Mapping[K, P]


class Altering(Generic[K, P]):
    """See the module. ``K`` names a partition, ``P`` is what is proposed for it; a request has at most ``most`` of them."""

    __slots__ = ("_most", "_number", "_sent", "_waiting", "resting")

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._waiting: dict[K, P] = {}
        self._sent: AlterRequest[K, P] | None = None
        self._number = 0
        #: Set while nothing is sent, since what was answered would go again as it was.
        self.resting = False

    def submit(self, partition: K, change: P) -> None:
        """Let ``change`` go with the next request; it takes the place of an older one, whose answer nobody waits for any more."""
        self._waiting[partition] = change

    def next_request(self) -> AlterRequest[K, P] | None:
        """The request to send now; None while one is under way, or nothing is proposed, or ``resting``."""
        if self._sent is not None or not self._waiting or self.resting:
            return None
        self._number += 1
        self._sent = AlterRequest(self._number, dict(islice(self._waiting.items(), self._most)))
        return self._sent

    def answered(self, number: int, answers: Mapping[K, A]) -> list[tuple[K, P, A]]:
        """A request is answered; for each partition its proposal and the answer. One that the answer leaves out goes again.

        An answer to another request than the one under way is late, and ignored.
        """
        sent = self._sent
        if sent is None or sent.number != number:
            return []
        self._sent = None
        settled = []
        for partition, change in sent.changes.items():
            answer = answers.get(partition)
            if answer is None:
                continue
            if self._waiting.get(partition) is change:
                del self._waiting[partition]
            settled.append((partition, change, answer))
        return settled

    def failed(self, number: int) -> None:
        """A request was refused as a whole, or is lost: all that it had goes again, after a pause."""
        if self._sent is not None and self._sent.number == number:
            self._sent = None
