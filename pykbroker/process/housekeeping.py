"""Periodic work of a running process: on each of its stores, elections, tokens."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.process.rounds import Rounds
from pykbroker.process.store_housekeeping import StoreHousekeeping
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.primitives import uuid_from_str

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.cleaner import Cleaner
    from pykbroker.storage.directories.manager import LogManager

log = logging.getLogger(__name__)

#: How often, in milliseconds, stores are looked for that have come since, with a broker of their own.
_STORES_MS = 1000


class Housekeeping:
    """Rounds over all logs of the process's brokers, store by store, and over what is of the cluster. Threads wait for the disk.

    ``cleaner`` compacts for every store; without it each has a process of its own. ``fail`` ends a broker none of whose disks works.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        durable: bool,
        cleaner: Cleaner | None = None,
        fail: Callable[[int], Deferred[None]] | None = None,
    ) -> None:
        self._cluster = cluster
        self._durable = durable
        self._cleaner = cleaner
        self._fail = fail or cluster.controller.fence_broker
        self._rounds = Rounds(cluster.runtime.timers)
        #: By the logs: those of a broker that crashed alone are in another store when it starts again.
        self._of_stores: dict[LogManager, StoreHousekeeping] = {}
        self._started: set[StoreHousekeeping] = set()
        #: Whether the controller is told of log directories that fail.
        self._reports = not cluster.governs or cluster.local_controller.own_stores is not None

    def start(self) -> None:
        """Set the timers."""
        self._start_new()
        self._rounds.every(_STORES_MS, _STORES_MS, self._start_new)
        if self._cluster.governs:
            self._govern()
        if self._reports:
            interval_ms = self._cluster.config["broker.heartbeat.interval.ms"]
            self._rounds.every(interval_ms, interval_ms, self._report_failed_disks)

    def _govern(self) -> None:
        """Set the timers of what the controller does by itself."""
        config = self._cluster.config
        if config["auto.leader.rebalance.enable"]:
            interval_ms = config["leader.imbalance.check.interval.seconds"] * 1000
            self._rounds.every(interval_ms, interval_ms, self._elections)
        if self._cluster.local_controller.own_stores is not None:
            interval_ms = config["unclean.leader.election.interval.ms"]
            self._rounds.every(interval_ms, interval_ms, self._cluster.controller.elect_unclean_leaders)
        if config["delegation.token.secret.key"]:
            interval_ms = config["delegation.token.expiry.check.interval.ms"]
            self._rounds.every(interval_ms, interval_ms, self._tokens)

    def stop(self) -> None:
        """Stop the cleaners' processes."""
        for each in self._of_stores.values():
            each.stop()

    def run_retention(self) -> Deferred[None]:
        """Run a round of retention, some logs in each turn."""
        return gather([each.run_retention() for each in self.stores()]).map(lambda _: None)

    def run_compaction(self) -> Deferred[None]:
        """Run a round of compaction, after the one that is under way, if any."""
        return gather([each.run_compaction() for each in self.stores()]).map(lambda _: None)

    def stores(self) -> list[StoreHousekeeping]:
        """That of each store of the process, as of now."""
        for store in self._cluster.stores():
            if store.logs not in self._of_stores:
                self._of_stores[store.logs] = StoreHousekeeping(
                    self._cluster, store, self._cleaner, durable=self._durable
                )
                if self._reports:
                    store.logs.tell_offline(partial(self._cluster.runtime.call_from_thread, self._report_now))
        return list(self._of_stores.values())

    def _start_new(self) -> None:
        for each in self.stores():
            if each not in self._started:
                self._started.add(each)
                each.start(self._rounds)

    def _elections(self) -> Deferred[None]:
        """Elect the preferred replicas; as with KRaft, whatever the share of other leaders is."""
        return self._cluster.controller.elect_preferred_leaders()

    def _report_now(self) -> None:
        attempt(self._report_failed_disks).or_log("reporting log directories that have failed")

    def _report_failed_disks(self) -> Deferred[None]:
        """Tell the controller of log directories that have failed, as Apache Kafka's heartbeats do, at once and until it knows: replicas of others lead. A broker with
        no other ends, as one does whose controllers are elsewhere. The metadata log is in one of the first broker's, without which nothing
        can be changed: that broker goes on.
        """
        cluster = self._cluster
        if cluster.logs.directories.metadata.directory.offline:
            return Deferred.completed(None)
        waits: list[Deferred[None]] = []
        for known in cluster.metadata.image.active_brokers():
            broker = cluster.brokers.get(known.id)
            if broker is None:
                continue
            online = {uuid_from_str(each) for each in broker.logs.directory_ids}
            failed = [each for each in known.log_dirs if each not in online]
            if not online:
                log.error("Broker %d ends, since all its log directories have failed", known.id)
                waits.append(self._fail(known.id))
            elif failed:
                log.error(
                    "%d log directories of broker %d are offline: replicas of others lead what it led there",
                    len(failed),
                    known.id,
                )
                waits.append(cluster.controller.fail_directories(known.id, failed))
        return gather(waits).map(lambda _: None)

    def _tokens(self) -> Deferred[None]:
        """Remove expired delegation tokens."""

        def go_on(removed: int) -> Deferred[None]:
            if not removed:
                return Deferred.completed(None)
            log.info("Removed %d expired delegation tokens", removed)
            return self._tokens()

        return self._cluster.controller.remove_expired_tokens().chain(go_on)
