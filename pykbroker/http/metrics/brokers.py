"""Metrics of brokers and the controller: running brokers, leaderships, and changes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.metric import counter, gauge
from pykbroker.http.metrics.partitions import MinInSync
from pykbroker.metadata.image import NO_LEADER

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.partitions.partition import Partition
    from pykbroker.process.life import Life

BROKERS = gauge("kafka_brokers", "Brokers that run.", moves="One was stopped: pykbroker brokers list.")
BROKER_INFO = gauge(
    "kafka_broker_info",
    "1 for each running broker, with its id and advertised address.",
    *("id", "address"),
    moves="As kafka_brokers.",
)
BROKER_STATE = gauge(
    "kafka_server_kafkaserver_brokerstate",
    "3 for a broker that runs, 6 for one that is being stopped.",
    "broker",
    moves="As kafka_brokers.",
)
LEADERS = gauge(
    "kafka_server_replicamanager_leadercount",
    "Partitions that a broker leads.",
    "broker",
    moves="Uneven after a broker was stopped, until the next election (auto.leader.rebalance.enable).",
)
PARTITIONS = gauge(
    "kafka_server_replicamanager_partitioncount",
    "Replicas that a broker has.",
    "broker",
    moves="Topics come and go, or a reassignment.",
)
UNDER_REPLICATED = gauge(
    "kafka_server_replicamanager_underreplicatedpartitions",
    "Partitions that a broker leads with replicas out of sync.",
    "broker",
    moves="A broker was stopped: pykbroker brokers list shows which, pykbroker brokers start ID starts it.",
)
UNDER_MIN = gauge(
    "kafka_server_replicamanager_underminisrpartitioncount",
    "Partitions that a broker leads with fewer replicas in sync than min.insync.replicas: acks=all is refused.",
    "broker",
    moves="Start the brokers that are stopped, or lower min.insync.replicas.",
)
PRODUCER_IDS = gauge(
    "kafka_server_replicamanager_produceridcount",
    "Active producers, over the partitions that a broker leads.",
    "broker",
    moves="Grows with each start of an idempotent producer; producer.id.expiration.ms forgets them.",
)
MAX_LAG = gauge(
    "kafka_server_replicafetchermanager_maxlag",
    "Records that the replica of a broker that is furthest behind lacks beside its leader.",
    "broker",
    moves="Grows: the broker does not reach its leaders, or cannot write as fast; after replica.lag.time.max.ms it leaves the ISR.",
)
LEADER_RATE = gauge(
    "kafka_server_leaderreplication_byte_rate",
    "Bytes per second that a broker sends to throttled replicas, over the windows of replication quotas.",
    "broker",
    moves="At leader.replication.throttled.rate: those out of sync are held back.",
)
FOLLOWER_RATE = gauge(
    "kafka_server_followerreplication_byte_rate",
    "Bytes per second that a broker fetches for its throttled replicas, over the windows of replication quotas.",
    "broker",
    moves="At follower.replication.throttled.rate: those out of sync are held back.",
)
ISR_SHRINKS = counter(
    "kafka_server_replicamanager_isrshrinks_total",
    "Shrinks of in-sync replicas (ISR).",
    moves="A broker was stopped: pykbroker brokers list shows which, pykbroker brokers start ID starts it.",
)
ISR_EXPANDS = counter(
    "kafka_server_replicamanager_isrexpands_total",
    "Expansions of in-sync replicas (ISR).",
    moves="A broker is back.",
)
LEADER_CHANGES = counter(
    "pykbroker_leader_changes_total",
    "Changes of a partition's leader.",
    moves="As isrshrinks; clients look for the new leaders, and some requests are answered NOT_LEADER_OR_FOLLOWER.",
)
CONTROLLERS = gauge(
    "kafka_controller_kafkacontroller_activecontrollercount",
    "1: the controller is in this process.",
    moves="It does not, while the process runs.",
)
ACTIVE = gauge("kafka_controller_kafkacontroller_activebrokercount", "Unfenced brokers.", moves="As kafka_brokers.")
FENCED = gauge(
    "kafka_controller_kafkacontroller_fencedbrokercount",
    "Fenced brokers: those that are stopped.",
    moves="As kafka_brokers.",
)
TOPICS = gauge(
    "kafka_controller_kafkacontroller_globaltopiccount",
    "Topics.",
    moves="Jumps: somebody creates topics by mistake (auto.create.topics.enable).",
)
ALL_PARTITIONS = gauge(
    "kafka_controller_kafkacontroller_globalpartitioncount",
    "Partitions of all topics.",
    moves="Each costs memory and files: see docs/performance.md for what is measured.",
)
OFFLINE = gauge(
    "kafka_controller_kafkacontroller_offlinepartitionscount",
    "Partitions without a leader: they can be neither written nor read.",
    moves="More than 0: start the brokers that hold them.",
)
NOT_PREFERRED = gauge(
    "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
    "Partitions whose leader is not the preferred replica.",
    moves="As kafka_server_replicamanager_leadercount.",
)
UNCLEAN = counter(
    "kafka_controller_controllerstats_uncleanleaderelections_total",
    "Unclean leader elections.",
    moves="More than 0: acknowledged records may be lost; see unclean.leader.election.enable.",
)
FETCH_SESSIONS = gauge(
    "kafka_server_fetchsessioncache_numincrementalfetchsessions",
    "Fetch sessions of consumers (KIP-227).",
    "broker",
    moves="Near max.incremental.fetch.session.cache.slots: more consumers than slots, which fetch in full each time.",
)

_RUNNING, _STOPPING = 3, 6
_IN_A_STEP: Final = 20


class BrokerCollector:
    """Collects brokers of the process, and counts changes of the metadata since ``follow``."""

    def __init__(self) -> None:
        self._shrinks = self._expands = self._leader_changes = 0

    def follow(self, life: Life) -> None:
        """Count the changes of this cluster from now on."""
        life.at_end(life.cluster.metadata.subscribe(self._changed))

    def _changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        for change in delta.partitions:
            before, after = change.before, change.after
            if before is None:
                continue
            self._shrinks += len(after.isr) < len(before.isr)
            self._expands += len(after.isr) > len(before.isr)
            self._leader_changes += after.leader != before.leader

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        image = cluster.metadata.image
        active = image.active_brokers()
        page.add(BROKERS, len(active))
        for node_id, broker in cluster.brokers.items():
            first = broker.endpoints[0]
            page.add(BROKER_INFO, 1, node_id, f"{first.host}:{first.port}")
            page.add(BROKER_STATE, _STOPPING if broker.leaving else _RUNNING, node_id)
            page.add(FETCH_SESSIONS, len(broker.fetch_sessions), node_id)
            replicas = broker.store.replication
            if replicas is not None:
                throttles, now_ms = replicas.throttles, replicas.now_ms()
                page.add(LEADER_RATE, round(throttles.leader.per_second(now_ms), 3), node_id)
                page.add(FOLLOWER_RATE, round(throttles.follower.per_second(now_ms), 3), node_id)
        page.add(CONTROLLERS, 1)
        page.add(ACTIVE, len(active))
        page.add(FENCED, len(image.brokers) - len(active))
        page.add(TOPICS, len(image.topics))
        own_stores = cluster.local_controller.own_stores if cluster.governs else None
        page.add(UNCLEAN, 0 if own_stores is None else own_stores.partition_log.unclean_elections)
        page.add(ISR_SHRINKS, self._shrinks)
        page.add(ISR_EXPANDS, self._expands)
        page.add(LEADER_CHANGES, self._leader_changes)
        yield None
        yield from self._partitions(cluster, page)

    def _partitions(self, cluster: Cluster, page: Page) -> Steps:
        sums = _Sums(MinInSync(cluster))
        partitions = list(cluster.partitions())
        followers = [each for each in cluster.brokers.values() if each.store.replication is not None]
        for number, each in enumerate(partitions):
            sums.add(each)
            for broker in followers:
                sums.add_follower(broker.node_id, each, broker.partition(each.topic, each.index))
            if not number % _IN_A_STEP:
                yield None
        page.add(ALL_PARTITIONS, len(partitions))
        page.add(OFFLINE, sums.offline)
        page.add(NOT_PREFERRED, sums.not_preferred)
        for node_id in cluster.brokers:
            page.add(LEADERS, sums.led[node_id], node_id)
            page.add(PARTITIONS, sums.held[node_id], node_id)
            page.add(UNDER_REPLICATED, sums.under_replicated[node_id], node_id)
            page.add(UNDER_MIN, sums.under_min[node_id], node_id)
            page.add(PRODUCER_IDS, sums.producer_ids[node_id], node_id)
            page.add(MAX_LAG, sums.max_lag[node_id], node_id)


class _Sums:
    """Sums over all partitions, by broker."""

    def __init__(self, min_in_sync: MinInSync) -> None:
        self._min_in_sync = min_in_sync
        self.offline = self.not_preferred = 0
        self.led: Counter[int] = Counter()
        self.held: Counter[int] = Counter()
        self.under_replicated: Counter[int] = Counter()
        self.under_min: Counter[int] = Counter()
        self.producer_ids: Counter[int] = Counter()
        self.max_lag: Counter[int] = Counter()

    def add(self, each: Partition) -> None:
        leader, replicas, in_sync = each.leader, each.replicas, len(each.isr)
        for node_id in replicas:
            self.held[node_id] += 1
        self.not_preferred += leader != replicas[0]
        if leader == NO_LEADER:
            self.offline += 1
            return
        self.led[leader] += 1
        self.under_replicated[leader] += in_sync < len(replicas)
        self.under_min[leader] += in_sync < self._min_in_sync(each)
        log = each.opened_log
        if log is not None:
            self.producer_ids[leader] += len(log.producers.entries)

    def add_follower(self, node_id: int, led: Partition, copy: Partition | None) -> None:
        """Count a broker's replica of a partition, as its leader has it, if logs of both are open."""
        log, copied = led.opened_log, None if copy is None else copy.opened_log
        if log is not None and copied is not None:
            self.max_lag[node_id] = max(self.max_lag[node_id], log.log_end_offset - copied.log_end_offset)
