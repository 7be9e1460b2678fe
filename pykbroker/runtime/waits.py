"""Results that come later, without an event loop.

A coroutine or an asyncio future costs a task or a loop turn for every request that waits. A Deferred is a cell with
callbacks, which run at once when the result is set.

A lost wait is a client that waits for ever, so waits are combined by verbs that pass every failure on: ``map``, ``fold``,
``chain``, ``recover``, ``settled``, ``pass_to``, ``or_log``, and ``gather`` and ``attempt`` below. The raw form, ``when_done``, is for
connections and the simulator alone (a test checks it).

Most results are available at once, since what a coordinator reads is usually committed. So each verb continues at once from
a Deferred that is done, without a callback, which saves most of the cost of waits in a heartbeat or an OffsetFetch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from pykbroker.wire.errors import KafkaError

log = logging.getLogger(__name__)

T = TypeVar("T")
U = TypeVar("U")
E = TypeVar("E", bound=Exception)


class Deferred(Generic[T]):
    """A result that is set once, by ``complete`` or ``fail``."""

    __slots__ = ("_callbacks", "done", "error", "result", "when_abandoned")

    def __init__(self) -> None:
        self.done = False
        #: Once done: the result, or the error that ``value`` raises.
        self.result: T | None = None
        self.error: BaseException | None = None
        self._callbacks: list[Callable[[Deferred[T]], None]] | None = None
        #: Called by ``abandon``: lets the producer of the result stop.
        self.when_abandoned: Callable[[], None] | None = None

    @classmethod
    def completed(cls, value: T) -> Deferred[T]:
        """A Deferred that is done already."""
        deferred = cls.__new__(cls)  # __init__ inlined: every read of a coordinator creates some
        deferred.done = True
        deferred.result = value
        deferred.error = deferred._callbacks = deferred.when_abandoned = None  # noqa: SLF001 - its own
        return deferred

    @classmethod
    def failed(cls, error: BaseException) -> Deferred[T]:
        """A Deferred that has failed already."""
        deferred: Deferred[T] = cls()
        deferred.fail(error)
        return deferred

    @property
    def value(self) -> T:
        """The result. Raises the error it failed with, or RuntimeError if it is not done."""
        if not self.done:
            raise RuntimeError("this Deferred is not done yet")
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # done without an error: the value was set

    def complete(self, value: T) -> None:
        """Set the result and run the callbacks. A second call is ignored: the first answer stands."""
        if not self.done:
            self.result = value
            self.done = True
            if self._callbacks is not None:
                self._run_callbacks()

    def fail(self, error: BaseException) -> None:
        """Set an error instead of a result; a KafkaError, which is an answer, without its traceback."""
        if not self.done:
            self.error = error.kept() if isinstance(error, KafkaError) else error
            self.done = True
            if self._callbacks is not None:
                self._run_callbacks()

    def abandon(self) -> None:
        """Nobody needs the result any more: its producer may stop and release what it holds."""
        told, self.when_abandoned = self.when_abandoned, None
        if told is not None and not self.done:
            told()

    def when_done(self, callback: Callable[[Deferred[T]], None]) -> None:
        """Run ``callback(self)`` when done; at once if it is. An error that it raises is logged."""
        if self._callbacks is not None:
            self._callbacks.append(callback)
            return
        self._callbacks = [callback]
        if self.done:
            self._run_callbacks()

    def map(self, function: Callable[[T], U]) -> Deferred[U]:
        """``function`` of the result. A failure of either is passed on."""
        if self.done:
            if self.error is not None:
                return Deferred.failed(self.error)
            try:
                return Deferred.completed(function(self.result))  # type: ignore[arg-type]  # no error: it was set
            except Exception as error:  # noqa: BLE001 - whoever waits looks at it
                return Deferred.failed(error)
        return self.fold(lambda done: function(done.value))

    def fold(self, function: Callable[[Deferred[T]], U]) -> Deferred[U]:
        """``function`` of this Deferred once it is done or has failed. A failure of ``function`` is passed on."""
        folded: Deferred[U] = Deferred()

        def finish(done: Deferred[T]) -> None:
            if done.error is not None and not isinstance(done.error, Exception):
                folded.fail(done.error)  # a cancellation: nobody handles it
                return
            try:
                result = function(done)
            except Exception as error:  # noqa: BLE001 - whoever waits looks at it
                folded.fail(error)
            else:
                folded.complete(result)

        self.when_done(finish)
        return folded

    def chain(self, function: Callable[[T], Deferred[U]]) -> Deferred[U]:
        """The result of the Deferred that ``function`` returns for this result; failures are passed on as by ``map``."""
        if self.done:
            return Deferred.failed(self.error) if self.error is not None else attempt(function, self.result)
        chained: Deferred[U] = Deferred()

        def follow(done: Deferred[T]) -> None:
            try:
                done.chain(function).pass_to(chained)
            except Exception as error:  # noqa: BLE001 - whoever waits looks at it
                chained.fail(error)

        self.when_done(follow)
        return chained

    def recover(self, kind: type[E], function: Callable[[E], T]) -> Deferred[T]:
        """The result, or ``function`` of an error of ``kind``; other errors and those of ``function`` are passed on."""
        if self.done:
            error = self.error
            return Deferred.completed(error).map(function) if isinstance(error, kind) else self
        return self.fold(lambda done: function(done.error) if isinstance(done.error, kind) else done.value)

    def settled(self) -> Deferred[None]:
        """Completes when this is done or has failed."""
        if self.done:
            return Deferred.completed(None)
        over: Deferred[None] = Deferred()
        self.when_done(lambda _: over.complete(None))
        return over

    def pass_to(self, other: Deferred[T]) -> None:
        """Pass the result or failure on to ``other``."""
        if not self.done:
            self.when_done(lambda done: done.pass_to(other))
        elif self.error is not None:
            other.fail(self.error)
        else:
            other.complete(self.result)  # type: ignore[arg-type]  # no error: it was set

    def pass_failure_to(self, other: Deferred[Any]) -> None:
        """Pass a failure on to ``other``."""

        def settle(done: Deferred[T]) -> None:
            if done.error is not None:
                other.fail(done.error)

        self.when_done(settle)

    def or_log(self, doing: str, *args: object) -> None:
        """End a chain for which nobody waits: a failure is logged as "Unhandled error while ``doing``"."""

        def finish(done: Deferred[T]) -> None:
            if done.error is not None:
                log.error("Unhandled error while " + doing, *args, exc_info=done.error)  # noqa: G003 - one format

        self.when_done(finish)

    def _run_callbacks(self) -> None:
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            try:
                callback(self)
            except Exception:
                log.exception("Unhandled error in a callback of a wait; the others run")


@overload
def attempt(function: Callable[..., Deferred[T]], *args: Any) -> Deferred[T]: ...


@overload
def attempt(function: Callable[..., T | Deferred[T]], *args: Any) -> Deferred[T]: ...


def attempt(function: Callable[..., Any], *args: Any) -> Deferred[Any]:
    """The Deferred that ``function`` returns, a completed one with its result, or a failed one with the error that it raises."""
    try:
        found = function(*args)
        return found if isinstance(found, Deferred) else Deferred.completed(found)
    except Exception as error:  # noqa: BLE001 - whoever waits looks at it
        return Deferred.failed(error)


def as_wait(found: T | Deferred[T]) -> Deferred[T]:
    """The wait for a result, also if it is here."""
    return found if isinstance(found, Deferred) else Deferred.completed(found)


def apply(function: Callable[[T], U], found: T | Deferred[T]) -> U | Deferred[U]:
    """``function`` of a result that is here, else the wait for it. Raises what ``function`` raises if it is here."""
    return found.map(function) if isinstance(found, Deferred) else function(found)


def all_of(found: list[T | Deferred[T]]) -> list[T] | Deferred[list[T]]:
    """The results in order, if all are here; else as ``gather``."""
    for each in found:
        if isinstance(each, Deferred):
            return gather([as_wait(each) for each in found])
    return found  # type: ignore[return-value]  # no Deferred is among them


def gather(waited: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """The results in order, once all are done; if any failed, it fails with the first failure, once all are done."""
    results: list[Any] = []
    left, error = 0, None
    for each in waited:
        if each.done:
            error = error or each.error
            results.append(each.result)
        else:
            left += 1
    if not left:
        return Deferred.completed(results) if error is None else Deferred.failed(error)
    over: Deferred[list[T]] = Deferred()

    def one_done(_: Deferred[T]) -> None:
        nonlocal left
        left -= 1
        if not left:
            gather(waited).pass_to(over)

    for each in waited:
        if not each.done:
            each.when_done(one_done)
    return over


class WakeQueue:
    """Callbacks to run at the end of the current turn, each at most once however often it is added.

    A produce of many batches wakes a waiting fetch many times; it should read once, after the last of them, and the
    producer's answer should leave first. The shell has it run by the loop's call_soon.
    """

    def __init__(self) -> None:
        self._queue: dict[Callable[[], None], None] = {}
        self._schedule: Callable[[Callable[[], None]], object] | None = None

    def run_by(self, schedule: Callable[[Callable[[], None]], object] | None) -> None:
        """From now on ``schedule`` is called with ``run`` when the queue becomes non-empty, and at once if it is; None for never."""
        self._schedule = schedule
        if schedule is not None and self._queue:
            schedule(self.run)

    def __len__(self) -> int:
        """The number of callbacks that have not run."""
        return len(self._queue)

    def add(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` at the end of this turn."""
        if not self._queue and self._schedule is not None:
            self._schedule(self.run)
        self._queue[callback] = None

    def run(self) -> None:
        """Run what is queued now; callbacks that these add run in the next turn."""
        queue, self._queue = self._queue, {}
        for callback in queue:
            try:
                callback()
            except Exception:
                log.exception("Unhandled error in a callback of the wake queue; the others run")
