"""The ``ShareStatePort`` to share coordinators, in this process or elsewhere. It waits for one that is loading or moves to another broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import ShareStatePort
    from pykbroker.coordination.share.state import SharePartitionKey, ShareState
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps

T = TypeVar("T")

#: A coordinator is asked again in the next turns of the loop, then after so many milliseconds, doubled up to the longest, until all
#: attempts are used up.
_AT_ONCE = 4
_FIRST_PAUSE_MS = 5
_LONGEST_PAUSE_MS = 1000
_ATTEMPTS = 16
#: The weight of an attempt (``runtime/slices.py``).
_WEIGHT = 20

_AGAIN = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)


class ShareStates:
    """See the module. ``coordinator_of`` is the coordinator of a key, None if there is none; ``create`` creates its topic."""

    def __init__(
        self,
        runtime: Runtime,
        coordinator_of: Callable[[str], ShareStatePort | None],
        create: Callable[[Iterable[str]], Deferred[None]],
    ) -> None:
        self._runtime = runtime
        self._coordinator_of = coordinator_of
        self._create = create

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Deferred[None]:
        """See ``ShareStatePort``."""
        return self._ask(key, lambda coordinator: coordinator.initialize(key, state_epoch, start_offset))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Deferred[ShareState]:
        """See ``ShareStatePort``."""
        return self._ask(key, lambda coordinator: coordinator.read(key, leader_epoch))

    def summary(self, key: SharePartitionKey) -> Deferred[ShareState]:
        """See ``ShareStatePort``."""
        return self._ask(key, lambda coordinator: coordinator.summary(key))

    def write(self, key: SharePartitionKey, change: ShareState) -> Deferred[None]:
        """See ``ShareStatePort``."""
        return self._ask(key, lambda coordinator: coordinator.write(key, change))

    def delete(self, key: SharePartitionKey) -> Deferred[None]:
        """See ``ShareStatePort``."""
        return self._ask(key, lambda coordinator: coordinator.delete(key))

    def _ask(self, key: SharePartitionKey, question: Callable[[ShareStatePort], Deferred[T]]) -> Deferred[T]:
        answer: Deferred[T] = Deferred()
        self._attempt(str(key), question, answer, 0)
        return answer

    def _attempt(
        self, key: str, question: Callable[[ShareStatePort], Deferred[T]], answer: Deferred[T], count: int
    ) -> None:
        def requested() -> Deferred[T]:
            coordinator = self._coordinator_of(key)
            if coordinator is None:
                return self._create([SHARE_GROUP_STATE]).chain(lambda _: _not_available())
            return question(coordinator)

        def ended(done: Deferred[T]) -> None:
            error = done.error
            if isinstance(error, KafkaError) and error.code in _AGAIN and count < _ATTEMPTS:
                pause_ms = 0 if count < _AT_ONCE else min(_FIRST_PAUSE_MS << count - _AT_ONCE, _LONGEST_PAUSE_MS)
                again = self._again(key, question, answer, count + 1)
                self._runtime.timers.after(pause_ms, lambda: self._runtime.slices.add(again))
            else:
                done.pass_to(answer)

        done = attempt(requested)
        done.settled().map(lambda _: ended(done)).or_log("asking the share coordinator of %s", key)

    def _again(
        self, key: str, question: Callable[[ShareStatePort], Deferred[T]], answer: Deferred[T], count: int
    ) -> Steps:
        """A further attempt in its slice: there may be one for each of many partitions."""
        self._attempt(key, question, answer, count)
        yield _WEIGHT


def _not_available() -> Deferred[T]:
    return Deferred.failed(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
