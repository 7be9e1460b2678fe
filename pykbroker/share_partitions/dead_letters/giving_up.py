"""What becomes of records that a share partition gives up while their group has a dead-letter topic.

Three steps, each of which is durable before the next: the state says that they are being archived, their letters are written, the state
says that they are archived. A share partition that is opened with records between the first step and the last goes on there, and
looks first which letters are written. Where letters cannot be written, the log of the broker says why, and the records are archived
without.
"""

from __future__ import annotations

import logging
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol

from pykbroker.runtime.waiting_work import WaitingWork, carry_out
from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.dead_letters.writing import LetterSource, pause_before
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.runtime.runtime import Runtime
    from pykbroker.share_partitions.dead_letters.writing import DeadLetters
    from pykbroker.share_partitions.in_flight import PendingChange
    from pykbroker.share_partitions.states import GivenUp

log = logging.getLogger(__name__)

#: Attempts to write letters to a disk that takes none: it may be full for some minutes. (Apache Kafka tries once.)
_ATTEMPTS: Final = 10
#: Ranges of offsets that a line of the log has.
_LOGGED: Final = 5


class Leader(LetterSource, Protocol):
    """The share partition."""

    def archive(self, given_up: Sequence[GivenUp], /) -> PendingChange:
        """Records are archived; what to persist of that."""
        ...

    def write(self, change: PendingChange, /) -> Deferred[None]:
        """Persist a change. Fails with what ``LedSharePartition.acknowledge`` fails with; the share partition has ended if it may not any more."""
        ...


class GivingUp:
    """See the module."""

    def __init__(self, leader: Leader, letters: DeadLetters, runtime: Runtime) -> None:
        self._leader = leader
        self._letters = letters
        self._runtime = runtime
        self._under_way = 0
        self._waiting: list[Deferred[None]] = []

    def begin(self, given_up: Sequence[GivenUp], since_ms: int | None = None) -> None:
        """Go on from the first step, which is persisted; ``since_ms`` as ``DeadLetters.write`` has it."""
        self._carry_out(self._archiving(given_up, since_ms))

    def begin_with(self, change: PendingChange, written: Deferred[None]) -> None:
        """Begin with the first step, which is being persisted; it is persisted again until it is durable."""

        def work() -> WaitingWork[None]:
            attempt = written
            for number in count():
                yield attempt
                if attempt.error is None:
                    break
                if self._leader.has_ended:
                    return
                yield pause_before(number + 1, self._runtime)
                attempt = self._leader.write(change)
            yield from self._archiving(change.given_up, None)

        self._carry_out(work())

    def over(self) -> Deferred[None]:
        """Completes when nothing is under way."""
        wait: Deferred[None] = Deferred()
        if self._under_way:
            self._waiting.append(wait)
        else:
            wait.complete(None)
        return wait

    def _carry_out(self, work: WaitingWork[None]) -> None:
        self._under_way += 1
        done = carry_out(self._runtime.slices, work)
        done.or_log("giving up records of share partition %s", self._leader.key)
        done.settled().map(self._ended).or_log("giving up records of share partition %s", self._leader.key)

    def _archiving(self, given_up: Sequence[GivenUp], since_ms: int | None) -> WaitingWork[None]:
        leader, began_ms = self._leader, self._runtime.clock.now_ms()
        for number in range(_ATTEMPTS):
            if number:
                yield pause_before(number, self._runtime)
                since_ms = began_ms if since_ms is None else since_ms  # some are written
            if leader.has_ended:
                return
            written = self._letters.write(leader, given_up, since_ms)
            yield written
            if not isinstance(written.error, KafkaError) or written.error.code != ErrorCode.KAFKA_STORAGE_ERROR:
                break
        if leader.has_ended:
            return
        if written.error is not None:
            log.warning(
                "Share partition %s gives up the records at %s without dead letters: %s",
                leader.key,
                ", ".join(f"{each.first}-{each.last}" for each in given_up[:_LOGGED]),
                written.error,
            )
        change = leader.archive(given_up)
        if change.batches:
            persisted = leader.write(change)
            yield persisted
            if persisted.error is not None and not leader.has_ended:
                log.warning(
                    "That records of share partition %s are archived cannot be persisted: %s",
                    leader.key,
                    persisted.error,
                )

    def _ended(self, _: None) -> None:
        self._under_way -= 1
        if not self._under_way:
            waiting, self._waiting = self._waiting, []
            for wait in waiting:
                wait.complete(None)
