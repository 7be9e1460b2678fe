"""Periodic work on one store: retention, flushes, checkpoints, removals, compaction."""

from __future__ import annotations

import logging
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from pykbroker.process.rounds import Rounds
from pykbroker.runtime.waits import Deferred, as_wait, attempt
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.brokers.store import Store
    from pykbroker.process.cleaner import Cleaner, Order
    from pykbroker.storage.compaction.cleaning import CleaningResult
    from pykbroker.storage.compaction.compaction import CompactionPlan
    from pykbroker.storage.log.log import Log

log = logging.getLogger(__name__)

_CHECKPOINT_INTERVALS = ("log.flush.offset.checkpoint.interval.ms", "log.flush.start.offset.checkpoint.interval.ms")
#: The interval of removals and of flushes by flush.ms, in milliseconds (Kafka's log.flush.scheduler.interval.ms is "never" by
#: default, so flush.ms of a topic would have no effect).
_FLUSH_ROUND_MS = 1000
#: The number of logs opened at once after a start, and the pause until the next ones.
_OPENED_AT_ONCE = 8
_OPENING_PAUSE_MS = 20
#: The number of logs that a round of retention handles in one turn.
_RETAINED_AT_ONCE = 200
#: The number of logs that a round looks at in one step, and the weight of it (``runtime/slices.py``).
_LOOKED_AT_ONCE = 200
_WEIGHT_OF_A_LOOK = 10


class StoreHousekeeping:
    """Rounds over the logs of one store. ``cleaner`` compacts; without it a process does, from the first compaction on."""

    def __init__(self, cluster: Cluster, store: Store, cleaner: Cleaner | None, *, durable: bool) -> None:
        self._cluster = cluster
        self._store = store
        self._logs = store.logs
        self._cleaner = cleaner
        self._stopped = False
        self._durable = durable
        self._compacting: Deferred[None] | None = None

    def start(self, rounds: Rounds) -> None:
        """Set the timers; the first rounds come after log.initial.task.delay.ms, the cleaner's at once, as in Kafka."""
        config = self._cluster.config
        delay = config["log.initial.task.delay.ms"]
        rounds.every(config["log.retention.check.interval.ms"], delay, self.run_retention)
        # One round writes all checkpoints, as often as the one that is wanted most often.
        rounds.every(min(config[name] for name in _CHECKPOINT_INTERVALS), delay, self._checkpoints)
        rounds.every(_FLUSH_ROUND_MS, _FLUSH_ROUND_MS, self._flushes)
        rounds.every(_FLUSH_ROUND_MS, _FLUSH_ROUND_MS, self._removals)
        interval_ms = config["producer.id.expiration.check.interval.ms"]
        rounds.every(interval_ms, interval_ms, self._producers)
        if config["log.cleaner.enable"]:
            rounds.every(config["log.cleaner.backoff.ms"], 0, self.run_compaction)
        self._cluster.runtime.timers.after(_FLUSH_ROUND_MS, self.open_a_few)

    def stop(self) -> None:
        """Stop the cleaner."""
        self._stopped = True
        if self._cleaner is not None:
            self._cleaner.stop()

    def open_a_few(self) -> None:
        """Open unused logs, a few at a time, so that retention and compaction include them."""
        chosen = list(islice(self._store.dormant.partitions, _OPENED_AT_ONCE))
        if chosen:
            self._store.dormant.open(chosen).settled().map(self._rest_then_open).or_log("opening logs")

    def _rest_then_open(self, _: None) -> None:
        self._cluster.runtime.timers.after(_OPENING_PAUSE_MS, self.open_a_few)

    def run_retention(self) -> Deferred[None]:
        """Run a round of retention, some logs in each turn."""
        return self._retain_all(list(self._logs.logs.values()))

    def _retain_all(self, rest: list[Log]) -> Deferred[None]:
        over: Deferred[None] = Deferred()

        def next_some(_: None) -> None:
            some, rest[:_RETAINED_AT_ONCE] = rest[:_RETAINED_AT_ONCE], []
            if some:
                self._retain(some).map(next_some).pass_failure_to(over)
            else:
                over.complete(None)

        next_some(None)
        return over

    def _retain(self, some: list[Log]) -> Deferred[None]:
        """Apply retention to these logs; a thread reads before what the loop decides on."""
        from pykbroker.storage.log.retention import look_ahead

        cluster, now_ms = self._cluster, self._cluster.runtime.clock.now_ms()

        def retain(_: None) -> None:
            try:
                self._logs.retain(some, now_ms)
            except Exception as error:
                log.error("Retention failed for some logs: %s", error, exc_info=not isinstance(error, KafkaError))

        return cluster.runtime.offload_read(look_ahead, some, now_ms).map(retain)

    def _producers(self) -> Deferred[None] | None:
        """Remove expired producer states; the setting may change at run time."""
        now_ms, expiration_ms = self._cluster.runtime.clock.now_ms(), self._cluster.config["producer.id.expiration.ms"]
        return self._each_log(lambda some: self._logs.forget_producers(now_ms, expiration_ms, some))

    def _checkpoints(self) -> Deferred[None] | None:
        noted = self._each_log(self._logs.note_checkpoints)
        return noted.chain(lambda _: self._cluster.runtime.offload(self._logs.plan_checkpoints()))

    def _removals(self) -> Deferred[None] | None:
        due = self._logs.removals_due
        return self._cluster.runtime.offload(self._logs.plan_removals()) if due else None

    def _flushes(self) -> Deferred[None]:
        due: list[Log] = []

        def flush(_: None) -> Deferred[None]:
            return self._cluster.runtime.offload(self._logs.flush, due) if due else Deferred.completed(None)

        return self._each_log(lambda some: due.extend(self._logs.due_flushes(some))).chain(flush)

    def _each_log(self, look: Callable[[list[Log]], None]) -> Deferred[None]:
        """``look`` at the logs that are open, in slices, but for those that are gone by their turn."""
        logs = self._logs.logs

        def steps() -> Generator[float, None, None]:
            rest = list(logs.items())
            for begin in range(0, len(rest), _LOOKED_AT_ONCE):
                look([each for key, each in rest[begin : begin + _LOOKED_AT_ONCE] if logs.get(key) is each])
                yield _WEIGHT_OF_A_LOOK

        return as_wait(self._cluster.runtime.slices.run(steps()))

    def run_compaction(self) -> Deferred[None]:
        """Run a round of compaction, after the one that is under way, if any, and after flushes: what is not synced is not compacted."""
        if self._compacting is not None and not self._compacting.done:
            return self._compacting.settled().chain(lambda _: self.run_compaction())
        self._compacting = self._flushes().settled().chain(lambda _: self._compactions())
        return self._compacting

    def _compactions(self) -> Deferred[None]:
        """Compact what is due, the dirtiest log first, one after the other.

        Logs with both policies get retention in between, as in Kafka: during its compaction a log drops nothing, and a
        cleaner that cannot keep up is always busy.
        """
        cluster, logs = self._cluster, self._logs
        over: Deferred[None] = Deferred()

        def look() -> None:
            compacted: list[tuple[Log, int | None]] = []
            with_both: list[Log] = []

            def choose(some: list[Log]) -> None:
                chosen = logs.compactions.compacted(some)
                compacted.extend(chosen)
                with_both.extend(log for log, _ in chosen if log.config.delete)

            looked = self._each_log(choose)
            looked.chain(lambda _: self._retain_all(with_both)).map(lambda _: find(compacted)).pass_failure_to(over)

        def find(compacted: list[tuple[Log, int | None]]) -> None:
            if not compacted:
                over.complete(None)
                return
            found = cluster.runtime.offload_read(_due_logs, compacted, cluster.runtime.clock.now_ms())
            found.map(next_one).pass_failure_to(over)

        def next_one(due: list[tuple[Log, int | None]]) -> None:
            memory = cluster.config["log.cleaner.dedupe.buffer.size"]
            logs.compactions.memory_bytes = min(memory, cluster.runtime.memory.limit)
            plan = logs.compactions.plan(cluster.runtime.clock.now_ms(), due) if due and not self._stopped else None
            if plan is None:
                over.complete(None)
                return
            from pykbroker.process.cleaner import CleanerProcess, Order

            if self._cleaner is None:
                self._cleaner = CleanerProcess()
            order = Order(plan.job, cluster.config["log.cleaner.io.max.bytes.per.second"], self._durable)
            outcome = attempt(cluster.runtime.offload, self._compact, self._cleaner, plan, order).recover(
                Exception, lambda error: error
            )
            outcome.map(partial(cleaned, plan)).pass_failure_to(over)

        def cleaned(plan: CompactionPlan, outcome: CleaningResult | Exception) -> None:
            from pykbroker.process.cleaner import CleanerStopped

            if isinstance(outcome, CleanerStopped):
                over.complete(None)
                return
            logs.compactions.finish(plan, outcome)  # a failure is logged there and retried later
            look()

        look()
        return over

    @staticmethod
    def _compact(cleaner: Cleaner, plan: CompactionPlan, order: Order) -> CleaningResult:
        """Compact, in a thread. After any failure the files written so far are removed."""
        try:
            return cleaner.run(order)
        except BaseException:
            plan.remove_leftovers()
            raise


def _due_logs(logs: list[tuple[Log, int | None]], now_ms: int) -> list[tuple[Log, int | None]]:
    """Read ahead for the planning; imports compaction with the first compacted log."""
    from pykbroker.storage.compaction import compaction

    return compaction.due_logs(logs, now_ms)
