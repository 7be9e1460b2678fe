"""Metrics of transactional ids by state, and the age of the oldest open transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pykbroker.coordination.transactions.transaction import TransactionState
from pykbroker.http.metrics.metric import gauge
from pykbroker.metadata.names import TRANSACTION_STATE

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps

TRANSACTIONS = gauge(
    "pykbroker_transactions",
    "Transactional ids by the state of their last transaction.",
    "state",
    moves="PrepareCommit or PrepareAbort that stay: markers cannot be written, since a partition has no leader or its disk "
    "fails.",
)
OLDEST = gauge(
    "pykbroker_transaction_oldest_seconds",
    "Age of the oldest open transaction; 0 if there is none.",
    moves="Readers of committed records wait for its end: pykbroker transactions list --state ongoing, and abort it.",
)
LATE = gauge(
    "pykbroker_transactions_late",
    "Open transactions older than their timeout.",
    moves="More than 0 for longer than transaction.abort.timed.out.transaction.cleanup.interval.ms: see the log.",
)

_IN_A_STEP: Final = 200


class TransactionCollector:
    """Collects all loaded transactional ids."""

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        states: Counter[TransactionState] = Counter()
        now_ms = cluster.runtime.clock.now_ms()
        late, oldest_ms = 0, now_ms
        if cluster.metadata.image.topic(TRANSACTION_STATE) is not None:
            shards = [broker.transactions.shards for broker in cluster.brokers.values()]
            for loaded in [loaded for each in shards for loaded in each.loaded.values()]:
                for number, each in enumerate(list(loaded.shard.transactions.values())):
                    states[each.state] += 1
                    late += each.is_late(now_ms)
                    if each.state is TransactionState.ONGOING:
                        oldest_ms = min(oldest_ms, each.start_ms)
                    if not number % _IN_A_STEP:
                        yield None
        for state in TransactionState:
            page.add(TRANSACTIONS, states[state], state.title)
        page.add(OLDEST, (now_ms - oldest_ms) / 1000)
        page.add(LATE, late)
