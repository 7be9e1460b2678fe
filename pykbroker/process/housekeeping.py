"""What a running broker does on its own, by the timers: retention, flushes, checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from pykbroker.process.cleaner import Cleaner, CleanerProcess, CleanerStopped, Order
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.storage.log import retention
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.storage.compaction.cleaning import CleaningResult
    from pykbroker.storage.compaction.compaction import CompactionPlan
    from pykbroker.storage.log.log import Log

log = logging.getLogger(__name__)

#: Some intervals may be set to 0, which would leave nothing of the core to clients.
_SHORTEST_MS = 100
#: How often files whose delay is over, and time-based flushes, are looked for (log.flush.scheduler.interval.ms is "never" by
#: default in Kafka, which would make flush.ms of a single topic a dead letter).
_FLUSH_ROUND_MS = 1000
#: Logs opened in one go after a start, and the pause until the next ones.
_OPENED_AT_ONCE = 8
_OPENING_PAUSE_MS = 20
#: Logs that a round of retention looks at before the loop has its turn again.
_RETAINED_AT_ONCE = 200


class Housekeeping:
    """Rounds over the store. What waits for the disk goes to a thread; a round is armed again when it has ended, so
    that a slow one never overlaps itself.
    """

    def __init__(self, cluster: Cluster, *, durable: bool, cleaner: Cleaner | None = None) -> None:
        self._cluster = cluster
        self._durable = durable
        self._cleaner = cleaner or CleanerProcess()
        self._compacting: Deferred[None] | None = None

    def start(self) -> None:
        """Arm the timers; the first rounds come after log.initial.task.delay.ms, the cleaner's at once, as in Kafka."""
        config = self._cluster.config
        delay = config["log.initial.task.delay.ms"]
        self._every(config["log.retention.check.interval.ms"], delay, self.run_retention)
        self._every(config["log.flush.offset.checkpoint.interval.ms"], delay, self._checkpoints)
        self._every(_FLUSH_ROUND_MS, _FLUSH_ROUND_MS, self._flushes)
        self._every(_FLUSH_ROUND_MS, _FLUSH_ROUND_MS, self._removals)
        interval_ms = config["producer.id.expiration.check.interval.ms"]
        self._every(interval_ms, interval_ms, self._producers)
        if config["log.cleaner.enable"]:
            self._every(config["log.cleaner.backoff.ms"], 0, self.run_compaction)
        if config["auto.leader.rebalance.enable"]:
            interval_ms = config["leader.imbalance.check.interval.seconds"] * 1000
            self._every(interval_ms, interval_ms, self._elections)
        if config["delegation.token.secret.key"]:
            interval_ms = config["delegation.token.expiry.check.interval.ms"]
            self._every(interval_ms, interval_ms, self._tokens)
        self._cluster.runtime.timers.after(_FLUSH_ROUND_MS, self._open_a_few)

    def stop(self) -> None:
        """End what runs outside of this process."""
        self._cleaner.stop()

    def _open_a_few(self) -> None:
        """Open the logs that nobody asked for yet, little by little: retention and compaction are theirs, too."""
        chosen = list(islice(self._cluster.dormant.partitions, _OPENED_AT_ONCE))
        if chosen:
            self._cluster.dormant.open(chosen).settled().map(self._rest_then_open).or_log("opening logs")

    def _rest_then_open(self, _: None) -> None:
        self._cluster.runtime.timers.after(_OPENING_PAUSE_MS, self._open_a_few)

    def run_retention(self) -> Deferred[None]:
        """A round of retention, some logs at a time."""
        over: Deferred[None] = Deferred()
        rest = list(self._cluster.logs.logs.values())

        def next_some(_: None) -> None:
            some, rest[:_RETAINED_AT_ONCE] = rest[:_RETAINED_AT_ONCE], []
            if some:
                self._retain(some).map(next_some).pass_failure_to(over)
            else:
                over.complete(None)

        next_some(None)
        return over

    def _retain(self, some: list[Log]) -> Deferred[None]:
        """Retention of these logs; what the loop is to decide on, a thread has read before."""
        cluster, now_ms = self._cluster, self._cluster.runtime.clock.now_ms()

        def retain(_: None) -> None:
            try:
                cluster.logs.retain(some, now_ms)
            except Exception as error:
                log.error("Retention failed for some logs: %s", error, exc_info=not isinstance(error, KafkaError))

        return cluster.runtime.offload_read(retention.look_ahead, some, now_ms).map(retain)

    def _elections(self) -> Deferred[None]:
        """Leadership goes back to the preferred replicas; as with KRaft, however few partitions are elsewhere."""
        return self._cluster.controller.elect_preferred_leaders()

    def _tokens(self) -> Deferred[None]:
        """Delegation tokens whose time is over, until there are no more."""

        def go_on(removed: int) -> Deferred[None]:
            if not removed:
                return Deferred.completed(None)
            log.info("Removed %d expired delegation tokens", removed)
            return self._tokens()

        return self._cluster.controller.remove_expired_tokens().chain(go_on)

    def _producers(self) -> Deferred[None] | None:
        """The setting may change at run time."""
        cluster = self._cluster
        cluster.logs.forget_producers(cluster.runtime.clock.now_ms(), cluster.config["producer.id.expiration.ms"])
        return None

    def _checkpoints(self) -> Deferred[None] | None:
        return self._cluster.runtime.offload(self._cluster.logs.plan_checkpoints())

    def _removals(self) -> Deferred[None] | None:
        logs = self._cluster.logs
        return self._cluster.runtime.offload(logs.plan_removals()) if logs.removals_due else None

    def _flushes(self) -> Deferred[None] | None:
        due = self._cluster.logs.due_flushes()
        return self._cluster.runtime.offload(self._cluster.logs.flush, due) if due else None

    def run_compaction(self) -> Deferred[None]:
        """A round of compaction; one that runs already comes to its end before."""
        if self._compacting is not None and not self._compacting.done:
            return self._compacting.settled().chain(lambda _: self.run_compaction())
        self._compacting = self._compactions()
        return self._compacting

    def _compactions(self) -> Deferred[None]:
        """Compact what is due, the dirtiest log first, one after the other.

        Logs that retention has to care for too have its turn in between, as in Kafka: while one is being compacted nothing is
        dropped, and a cleaner that is slow for what comes in has always one at work.
        """
        cluster, logs = self._cluster, self._cluster.logs
        over: Deferred[None] = Deferred()

        def look() -> None:
            compacted = logs.compacted()
            both = [log for log, _ in compacted if log.config.delete]
            retained = self._retain(both) if both else Deferred.completed(None)
            retained.map(partial(find, compacted)).pass_failure_to(over)

        def find(compacted: list[tuple[Log, int | None]], _: None) -> None:
            if not compacted:
                over.complete(None)
                return
            looked_ahead = cluster.runtime.offload_read(_look_ahead, compacted, cluster.runtime.clock.now_ms())
            looked_ahead.map(next_one).pass_failure_to(over)

        def next_one(due: bool) -> None:
            logs.cleaner_memory_bytes = cluster.config["log.cleaner.dedupe.buffer.size"]
            plan = logs.plan_compaction(cluster.runtime.clock.now_ms()) if due else None
            if plan is None:
                over.complete(None)
                return
            order = Order(plan.job, cluster.config["log.cleaner.io.max.bytes.per.second"], self._durable)
            outcome = attempt(cluster.runtime.offload, self._compact, plan, order).recover(
                Exception, lambda error: error
            )
            outcome.map(partial(cleaned, plan)).pass_failure_to(over)

        def cleaned(plan: CompactionPlan, outcome: CleaningResult | Exception) -> None:
            if isinstance(outcome, CleanerStopped):
                over.complete(None)
                return
            logs.finish_compaction(plan, outcome)  # one that failed is logged there, and tried again later
            look()

        look()
        return over

    def _compact(self, plan: CompactionPlan, order: Order) -> CleaningResult:
        """For a thread. Whatever ends it too soon, what it has written does not stay to fill the disk."""
        try:
            return self._cleaner.run(order)
        except BaseException:
            plan.remove_leftovers()
            raise

    def _every(self, interval_ms: int, delay_ms: int, work: Callable[[], Deferred[None] | None]) -> None:
        interval_ms = max(interval_ms, _SHORTEST_MS)

        def begin() -> None:
            done = attempt(lambda: work() or Deferred.completed(None)).recover(Exception, tell)
            done.map(lambda _: self._cluster.runtime.timers.after(interval_ms, begin)).or_log(
                "ending a housekeeping round"
            )

        def tell(error: Exception) -> None:
            if isinstance(error, KafkaError):
                log.error("Housekeeping round failed (%s); retrying in %d ms", error, interval_ms)
            else:
                log.error("Unhandled error in a housekeeping round; retrying in %d ms", interval_ms, exc_info=error)

        self._cluster.runtime.timers.after(delay_ms, begin)


def _look_ahead(logs: list[tuple[Log, int | None]], now_ms: int) -> bool:
    """What compacts is imported with the first log that it may care for."""
    from pykbroker.storage.compaction import compaction  # noqa: PLC0415 - start-up counts

    return compaction.look_ahead(logs, now_ms)
