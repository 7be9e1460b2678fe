"""One seed's story: who is there, what befalls them, and what must be true when all is quiet again."""

from __future__ import annotations

import errno
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from pykbroker.coordination.transactions.transaction import PREPARED
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.metadata.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.clients.admin import NOBODYS, Admin
from pykbroker.simulation.clients.adversarial import AdversarialClient
from pykbroker.simulation.clients.assignors import COOPERATIVE, RANGE
from pykbroker.simulation.clients.consumer import ClassicConsumer
from pykbroker.simulation.clients.crowd import TIMEOUT_MS, Crowd
from pykbroker.simulation.clients.group_consumer import HEARTBEAT_MS, SESSION_MS, GroupConsumer
from pykbroker.simulation.clients.modern_consumer import ModernConsumer
from pykbroker.simulation.clients.processor import Processor, output_of
from pykbroker.simulation.clients.producer import IdempotentProducer
from pykbroker.simulation.clients.reader import SimulatedReader
from pykbroker.simulation.clients.reading import CommittedRecord
from pykbroker.simulation.clients.transactional import TransactionalProducer
from pykbroker.simulation.history import Fate, History, SentTransaction, TopicPartition
from pykbroker.simulation.network import NetworkFaults
from pykbroker.simulation.server import LONGEST_OFFLOAD_MS
from pykbroker.simulation.world import World
from pykbroker.tests.kit.metadata import alteration
from pykbroker.tests.simulation import sharing, streaming
from pykbroker.tests.simulation.invariants import Watch, differences, dump, group_shards, transaction_shards
from pykbroker.tests.simulation.sharing import Sharing
from pykbroker.tests.simulation.streaming import Streaming
from pykbroker.worlds.disk import ProcessDied

SOURCE, TARGET, SIDE, RUDE = "source", "target", "side", "rude"
READERS = "readers"
PROCESSORS = f"{SOURCE}-to-{TARGET}"

_BUSY_MS = 25_000
_QUIET_MS = 240_000
#: How long a broker keeps a fetch while a story waits for what is forgotten: within the sessions of who fetches.
_LAZY_MS = 2000
#: How long a story waits for the moment in which something would be worst.
_LONGEST_WAIT_MS = 2500
#: How long what goes to a thread takes there, at most, while the disk is slow.
_SLOW_DISK_MS = 300
#: One story of so many goes without a rude client, whose work changes every interleaving.
_CALM = 3

#: Everything acknowledged is on the disk.
SYNCED = {"log.flush.interval.messages": "1"}

RETENTION_MS, ROUND_MS = 60_000, 4000

#: What nobody uses is soon forgotten.
SHORT_LIVED = {
    "offsets.retention.minutes": str(RETENTION_MS // 60_000),
    "offsets.retention.check.interval.ms": str(ROUND_MS),
    "transactional.id.expiration.ms": str(RETENTION_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": str(ROUND_MS),
}

#: Small, so that not many records make a batch that is too large.
_LARGEST_BATCH = 2000


@contextmanager
def errors_in_the_log(history: History, unless: Callable[[], bool]):
    """An error in the log of the brokers is unhandled, and wrong, unless the disk is full."""
    log = logging.getLogger("pykbroker")
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: (
        None if unless() else history.wrong(f"logged: {record.getMessage()} {record.exc_info}")
    )
    level = log.level
    log.setLevel(logging.ERROR)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@dataclass
class Cast:
    """Who takes part, drawn from the seed."""

    brokers: int
    width: int
    synced: bool
    protocol: int
    consumers: int
    assignor: str
    #: Which group protocols the consumers speak; where it is both, the group is upgraded and downgraded as they go on.
    protocols: str
    static: bool
    processors: int
    admin: bool
    #: Whether very many groups and transactional ids are used at once, and then left.
    crowd: bool
    #: How many members a share group has; 0 for none.
    sharers: int
    #: And a streams group.
    streamers: int
    #: What is done in one turn of the loop of what is too much for one.
    weight: float


class Story:
    """``tell`` raises AssertionError where a rule is broken."""

    def __init__(self, seed: int) -> None:
        draw = self._draw = Random(f"{seed}/story")
        groups = self._draw_of_groups = Random(f"{seed}/groups")
        self.cast = Cast(
            brokers=draw.choice([1, 1, 2]),
            width=draw.randint(1, 3),
            synced=draw.random() < 0.3,
            protocol=draw.choice([1, 2]),
            consumers=draw.randint(1, 3),
            assignor=draw.choice([RANGE, COOPERATIVE]),
            protocols=draw.choice(["classic", "consumer", "both"]),
            static=draw.random() < 0.3,
            processors=draw.randint(0, 2),
            admin=draw.random() < 0.5,
            crowd=draw.random() < 0.4,
            sharers=groups.choice((0, 0, 1, 2, 3)),
            streamers=groups.choice((0, 0, 1, 2, 3)),
            weight=draw.choice([1, 5, 30, 1000]),
        )
        settings = {
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.num.partitions": "2",
            "group.initial.rebalance.delay.ms": "500",
            "group.consumer.session.timeout.ms": str(SESSION_MS),
            "group.consumer.min.session.timeout.ms": str(SESSION_MS),
            "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
            "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3000",
            "auto.create.topics.enable": "false",
            "log.roll.ms": "5000",
            **(SYNCED if self.cast.synced else {}),
            **(SHORT_LIVED if self.cast.crowd else {}),
            **(sharing.SETTINGS if self.cast.sharers else {}),
            **(streaming.SETTINGS if self.cast.streamers else {}),
        }
        self.world = World(seed, self.cast.brokers, settings)
        self.world.server.weight_of_a_turn = self.cast.weight
        self.history = History()
        self.watch = Watch(self.world, self.history, (READERS, PROCESSORS))
        self.consumers: list[GroupConsumer] = []
        self.producers: list[IdempotentProducer | TransactionalProducer] = []
        self._named = 0
        #: Whether the disk takes nothing.
        self.is_full = False
        self.sharing: Sharing | None = None
        if self.cast.sharers:
            self.sharing = Sharing(self.world, self.history, self.cast.sharers, [SOURCE, SIDE], SOURCE)
        self.streaming: Streaming | None = None
        if self.cast.streamers:
            self.streaming = Streaming(self.world, self.history, self.cast.streamers, SOURCE, self.cast.width)

    @property
    def _is_rude(self) -> bool:
        return self.world.seed % _CALM != 0

    # The beginning

    def tell(self) -> None:
        with errors_in_the_log(self.history, unless=lambda: self.is_full):
            self._tell()

    def _tell(self) -> None:
        self.world.server.start()
        self._make_topics()
        self._enter()
        self.world.network.faults = NetworkFaults(
            lost_requests=self._draw.choice([0, 0.01, 0.05]),
            lost_answers=self._draw.choice([0, 0.01, 0.05]),
            delayed=self._draw.choice([0, 0.01, 0.05]),
        )
        while self.world.now_ms < _BUSY_MS:
            self.world.run(self._draw.randint(200, 5000))
            self._trouble()
            self._check_so_far()
        self._quiet()
        self.side = self._read_side()
        self._check_so_far()
        self._check_groups()
        self._check_records()
        if self.crowd is not None:
            self._check_crowd(self.crowd)

    def _make_topics(self) -> None:
        from pykbroker.controller.topics import NewTopic

        image = [NewTopic(SOURCE, self.cast.width, 1), NewTopic(TARGET, self.cast.width, 1)]
        if self._is_rude:
            image.append(NewTopic(RUDE, 1, 1))
        if self.sharing is not None:
            image += self.sharing.topics()
        cluster = self.world.server.running
        waits: list[Deferred[Any]] = [cluster.controller.create_topics(image)]
        if self.cast.crowd:
            internal = (CONSUMER_OFFSETS, TRANSACTION_STATE)
            waits.append(cluster.auto_creation.create(internal))
            largest = str(_LARGEST_BATCH)
            alterations = [alteration(TOPIC_RESOURCE, name, max_message_bytes=largest) for name in internal]
            waits.append(cluster.controller.alter_configs(alterations, broker_id=1))
        self.world.run(1000, until=lambda: all(wait.done for wait in waits))

    def _enter(self) -> None:
        partitions = [(SOURCE, index) for index in range(self.cast.width)]
        self._partitions = partitions
        self._add_producer()
        self._add_transactional("tx")
        for _ in range(self.cast.consumers):
            self._add_consumer()
        for _ in range(self.cast.processors):
            self._add_processor()
        everything = partitions + [(TARGET, index) for index in range(self.cast.width)]
        self.reader = SimulatedReader(self.world, self.history, "reader", everything)
        self.admin = None
        if self.cast.admin:
            self.admin = Admin(self.world, self.history, side=SIDE, grown=SIDE, group=READERS, transactional_ids=["tx"])
        self.crowd = Crowd(self.world, self.history, partitions, side=SIDE) if self.cast.crowd else None
        if self.sharing is not None:
            self.sharing.enter()
        if self.streaming is not None:
            self.streaming.enter()

        self.rude = None
        if self._is_rude:
            self.rude = AdversarialClient(self.world, self.history, RUDE, (SOURCE, TARGET))

    def _name(self, kind: str) -> str:
        self._named += 1
        return f"{kind}{self._named}"

    def _add_producer(self) -> None:
        name = self._name("idempotent")
        self.producers.append(IdempotentProducer(self.world, self.history, name, self._partitions, 15, 700))

    def _add_transactional(self, transactional_id: str) -> None:
        self.producers.append(
            TransactionalProducer(
                self.world,
                self.history,
                self._name("transactional"),
                transactional_id,
                self._partitions + ([(SIDE, 0)] if self.cast.admin else []),
                protocol=self.cast.protocol,
                count=12,
                interval_ms=700,
            )
        )

    def _add_consumer(self, instance_id: str | None = None) -> None:
        name = self._name("consumer")
        instance_id = instance_id or (name if self.cast.static else None)
        who = (self.world, self.history, name, READERS, [SOURCE, SIDE])
        modern = {"classic": False, "consumer": True}.get(self.cast.protocols, self._draw.random() < 0.5)
        self.consumers.append(
            ModernConsumer(*who, instance_id=instance_id)
            if modern
            else ClassicConsumer(*who, assignor=self.cast.assignor, instance_id=instance_id)
        )

    def _add_processor(self) -> None:
        self.consumers.append(
            Processor(
                self.world,
                self.history,
                self._name("processor"),
                SOURCE,
                TARGET,
                self.cast.width,
                protocol=self.cast.protocol,
                assignor=self.cast.assignor,
            )
        )

    # The middle

    def _trouble(self) -> None:
        what = self._draw.choice(
            [
                self._crash_a_client,
                self._crash_a_client,
                self._stall_a_client,
                self._a_client_leaves,
                self._a_rival,
                self._restart_the_server,
                self._kill_while_it_writes,
                *([self._delete_while_a_transaction_ends] * (3 if self.cast.synced else 1)),
                *([self._delete_while_it_syncs] * (2 if self.admin is not None else 0)),
                *([self._crash_a_processor_in_its_transaction] * self.cast.processors),
                lambda: None,
            ]
        )
        what()
        if self.sharing is not None:
            self.sharing.trouble()
        if self.streaming is not None:
            self.streaming.trouble()
        if (self.sharing or self.streaming) and self._draw_of_groups.random() < 0.15:
            self._fill_the_disk()

    def _crash_a_client(self) -> None:
        client = self._draw.choice([*self.consumers, *self.producers])
        client.crash()
        self.history.count("client crash")
        self._replace(client)

    def _replace(self, client) -> None:
        if isinstance(client, Processor):
            self.consumers.remove(client)
            self._add_processor()
        elif isinstance(client, GroupConsumer):
            self.consumers.remove(client)
            self._add_consumer(client.instance_id)
        elif isinstance(client, TransactionalProducer):
            self.producers.remove(client)
            self._add_transactional("tx")
        else:
            self.producers.remove(client)
            self._add_producer()

    def _crash_a_processor_in_its_transaction(self) -> None:
        """Whoever takes over finds that the offsets are still to be decided."""
        if self.world.run(_LONGEST_WAIT_MS, self._are_offsets_pending):
            client = self._draw.choice([each for each in self.consumers if isinstance(each, Processor)])
            client.crash()
            self.history.count("client crash")
            self._replace(client)

    def _are_offsets_pending(self) -> bool:
        cluster = self.world.server.cluster
        shards = {} if cluster is None else group_shards(cluster)
        return any(shard.committed.pending._producers for shard in shards.values())

    def _stall_a_client(self) -> None:
        self._draw.choice([*self.consumers, *self.producers]).stall(self._draw.randint(1000, 15_000))
        self.history.count("client stall")

    def _a_client_leaves(self) -> None:
        client = self._draw.choice(self.consumers)
        client.leaving = True
        self._replace(client)

    def _a_rival(self) -> None:
        if len(self.producers) < 4:
            self._add_transactional("tx")

    def _restart_the_server(self) -> None:
        server = self.world.server
        if server.cluster is None:
            return
        before = dump(server.cluster)
        how = self._draw.choice(["stop", "kill", "kill", "lose power" if self.cast.synced else "kill"])
        {"stop": server.stop, "kill": server.kill, "lose power": server.lose_power}[how]()
        self._down(how, before)

    def _kill_while_it_writes(self) -> None:
        """The process dies in the middle of one of the next operations on the disk, which may be left half done."""
        disk = self.world.disk
        last = disk.operations + self._draw.randint(1, 60)
        disk.fail = lambda at, _: ProcessDied() if at >= last else None
        self.world.run(20_000, lambda: self.world.server.cluster is None)
        disk.fail = None
        if self.world.server.cluster is None:
            power = self.cast.synced and self._draw.random() < 0.5
            if power:
                self.world.server.lose_power()
            self._down("lose power" if power else "killed in a write", None)

    def _fill_the_disk(self) -> None:
        """No write succeeds for a while; then the process is killed, and starts with room again."""
        if self.world.server.cluster is None:
            return
        disk = self.world.disk
        self.is_full = True
        disk.fail = lambda _, what: OSError(errno.ENOSPC, "full") if "write" in what else None
        self.world.run(self._draw_of_groups.randint(50, 3000))
        disk.fail = None
        self.is_full = False
        if self.world.server.cluster is not None:
            self.world.server.kill()
            self._down("full disk", None)

    def _delete_while_a_transaction_ends(self) -> None:
        """The marker may be in the topic that goes, or be meant for it, and find the next one of its name."""
        if self.admin is not None and self.world.run(_LONGEST_WAIT_MS, self._is_a_transaction_ending):
            self.admin.delete_topic()

    def _delete_while_it_syncs(self) -> None:
        """On a slow disk: records wait for a sync that runs, or for the next one, when their topic is deleted."""
        if self.admin is None:
            return
        self.world.server.longest_offload_ms = _SLOW_DISK_MS
        self.admin.delete_topic_under_writes()
        self.world.run(_LONGEST_WAIT_MS)
        self.world.server.longest_offload_ms = LONGEST_OFFLOAD_MS

    def _is_a_transaction_ending(self) -> bool:
        cluster = self.world.server.cluster
        shards = {} if cluster is None else transaction_shards(cluster)
        return any(
            each.state in PREPARED and (SIDE, 0) in each.partitions
            for shard in shards.values()
            for each in shard.transactions.values()
        )

    def _down(self, how: str, before: dict | None) -> None:
        """The server is down for a while, and starts on what the disk holds."""
        self.history.count(f"server: {how}")
        if how == "lose power":
            self.watch.lost_power()
            before = None
        self.world.run(self._draw.randint(1, 8000))
        self.world.server.start()
        if before is not None:
            self.history.count("replay compared")
            self.history.wrongs += differences(before, self.world)

    # The end

    def _quiet(self) -> None:
        """No more faults; everybody finishes."""
        self.world.network.faults = NetworkFaults()
        self.world.note("quiet")
        if self.admin is not None:
            self.admin.stopped = True
        if self.crowd is not None:
            self.crowd.stopped = True
        if self.rude is not None:
            self.rude.stopped = True
        if self.sharing is not None:
            self.sharing.quiet()
        if not self.world.run(_QUIET_MS, self._finished):
            self.history.wrong(f"not finished in time: {self._unfinished()}")

    def _finished(self) -> bool:
        return self.world.now_ms % 8 == 0 and not self._unfinished()

    def _unfinished(self) -> list[str]:
        if any(each.writing for each in self.producers):
            return ["producers"]
        cluster = self.world.server.running
        open_ones = [
            each.transactional_id
            for shard in transaction_shards(cluster).values()
            for each in shard.transactions.values()
            if each.state.name in ("ONGOING", "PREPARE_COMMIT", "PREPARE_ABORT")
        ]
        if open_ones:
            return [f"open transactions {open_ones}"]
        ends = {where: records[-1].offset + 1 for where, records in self.reader.records.items() if records}
        return [
            *([] if self.sharing is None else self.sharing.unfinished(ends)),
            *([] if self.streaming is None else self.streaming.unfinished()),
            *self._unstable_groups(),
            *(
                f"{group} in {each!r}"
                for group in self._groups()
                for each in cluster.partitions()
                if each.topic == SOURCE and self._committed(group, each) < self._end_of_records(each)
            ),
            *(
                f"reader in {each!r}"
                for each in cluster.partitions()
                if each.topic in (SOURCE, TARGET)
                and self.reader.positions.offsets[each.topic, each.index] < each.log_end_offset
            ),
        ]

    def _read_side(self) -> dict[TopicPartition, list[CommittedRecord]]:
        """What the topic that is deleted now and then has at last: to its end, so that no transaction is open in it."""
        there = [each for each in self.world.server.running.partitions() if each.topic == SIDE]
        if not there:
            return {}
        reader = SimulatedReader(self.world, self.history, "side reader", [(SIDE, each.index) for each in there])
        offsets = reader.positions.offsets
        if not self.world.run(
            _QUIET_MS, lambda: all(offsets[SIDE, each.index] >= each.log_end_offset for each in there)
        ):
            self.history.wrong(f"{SIDE} cannot be read to its end: {there}, {offsets}")
        return reader.records

    def _groups(self) -> list[str]:
        return [READERS, PROCESSORS] if self.cast.processors else [READERS]

    def _unstable_groups(self) -> list[str]:
        states = {
            group_id: group.state.name
            for shard in group_shards(self.world.server.running).values()
            for group_id, group in shard.groups.items()
        }
        return [f"group {each}" for each in self._groups() if states.get(each) != "STABLE"]

    def _end_of_records(self, partition) -> int:
        """The offset after the last committed record."""
        records = self.reader.records[partition.topic, partition.index]
        return records[-1].offset + 1 if records else 0

    def _committed(self, group: str, partition) -> int:
        for shard in group_shards(self.world.server.running).values():
            found = shard.committed.offsets.of_group(group).get(partition.topic, {}).get(partition.index)
            if found is not None:
                return found.offset
        return 0

    def _check_so_far(self) -> None:
        self.world.network.look_for_overdue()
        self.history.wrongs += self.world.network.overdue
        assert not self.history.wrongs, "\n".join(self.history.wrongs)

    # What is checked when all is quiet

    def _check_groups(self) -> None:
        seen = self.history.read.get(READERS, set())
        for where, records in self.reader.records.items():
            if where[0] == SOURCE:
                missed = [record.value for record in records if record.value not in seen]
                assert not missed, f"{READERS} never read {missed} of {where}"

    def _check_records(self) -> None:
        found = self.reader.records | self.side
        read = {where: [each.value for each in records if each.value != NOBODYS] for where, records in found.items()}
        times = Counter(value for values in read.values() for value in values)
        assert max(times.values(), default=1) == 1, f"read twice: {times.most_common(3)}"
        self._check_acknowledged()
        self._check_idempotent(read)
        self._check_transactions(read)
        if self.cast.processors:
            self._check_processed(read)
        if self.sharing is not None:
            self.sharing.check(self.reader.records)

    def _check_crowd(self, crowd: Crowd) -> None:
        """What nobody uses any more is forgotten, however much of it there is. All others are still there, but ask rarely: what
        they ask for was looked at before.
        """
        for each in [self.reader, *self.consumers]:
            each.positions.max_wait_ms = _LAZY_MS
        self.world.run(max(0, crowd.last_used_ms + TIMEOUT_MS + RETENTION_MS + 4 * ROUND_MS - self.world.now_ms))
        self._check_so_far()
        cluster = self.world.server.running
        groups = {name for shard in group_shards(cluster).values() for name in shard.groups}
        names = {name for shard in transaction_shards(cluster).values() for name in shard.transactions}
        left = sorted(groups & set(crowd.groups) | names & set(crowd.transactional_ids))
        assert not left, f"{len(left)} of a crowd were never forgotten, so {left[0]}"

    def _check_acknowledged(self) -> None:
        for where, known in self.history.acknowledgements.items():
            found = {record.offset: record.value for record in self.reader.records[where]}
            for offset, value in known.items():
                assert found.get(offset) == value, f"{value!r} was acknowledged as {where} {offset}"

    def _check_idempotent(self, read: dict) -> None:
        for (where, name), sent in self.history.sent.items():
            found = [value for value in read[where] if value.split(b"/")[0] == name]
            acknowledged = set(self.history.acknowledgements.get(where, {}).values())
            assert found == sent[: len(found)], f"{name!r} in {where}: sent {sent}, found {found}"
            assert acknowledged & set(sent) <= set(found)

    def _check_transactions(self, read: dict) -> None:
        order = {value: at for values in read.values() for at, value in enumerate(values)}
        for transaction in self.history.transactions:
            sent = [(where, value) for where, value in transaction.records if self._lasts(transaction, where, value)]
            found = [(where, value) for where, value in sent if value in order]
            if transaction.fate is Fate.NONE:
                assert not found, f"{transaction.name} was aborted, and {found} read"
            elif found or transaction.fate is Fate.ALL:
                assert found == sent, f"{transaction.name}: of {sent} only {found}"
                for where in {where for where, _ in found}:
                    places = [order[value] for at, value in found if at == where]
                    assert places == sorted(places), f"{transaction.name} in {where} is out of order"

    def _lasts(self, transaction: SentTransaction, where: TopicPartition, value: bytes) -> bool:
        """Whether what was sent there must be there, if it was committed: not in a topic that was deleted since, or before where
        records were deleted.
        """
        if where[0] != SIDE:
            return True
        partition = self.world.server.running.partition(*where)
        if partition is None or transaction.began_ms < self.watch.born_ms[partition.topic_id]:
            return False
        offset = transaction.offsets.get(value)
        lasts = offset is not None and offset >= partition.log_start_offset
        if lasts:
            self.history.count("record of a transaction in a topic that is made again")
        return lasts

    def _check_processed(self, read: dict) -> None:
        """Exactly once, and for each source partition in its order."""
        for where, records in self.reader.records.items():
            if where[0] != SOURCE:
                continue
            expected = [output_of(where, record) for record in records]
            source = b"out/%d/" % where[1]
            target = (TARGET, where[1] % self.cast.width)
            found = [value.split(b";")[0] for value in read[target] if value.startswith(source)]
            assert found == expected, f"of {where} was made {found}, and not {expected}"
