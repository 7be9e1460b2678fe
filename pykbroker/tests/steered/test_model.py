"""Every verb of a test's brokers in any order, beside clients: after a reset nothing is seen of what was before.

A random driver stops and pauses brokers, cuts them off from each other, moves leaders, alters settings, levels of loggers and
certificates, adds faults, lets chaos befall them, moves the clock, registers schemas, subscribes to metrics, takes snapshots, returns
to them, resets and forks. After each reset a broker shows what it showed when it was fresh, and after a restore the data that was
there at the snapshot; all that is of the process works. ``STEERED_SEEDS`` says how many seeds run, ``STEERED_FIRST`` where to begin.
"""

from __future__ import annotations

import ast
import contextlib
import http.client
import json
import logging
import os
import random
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pykbroker.brokers.broker import WrongBroker
from pykbroker.brokers.cluster import Cluster
from pykbroker.brokers.resources import alter_resources
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import ClientError, Unreachable
from pykbroker.config.loggers import levels
from pykbroker.controller.client_quotas import QuotaAlteration
from pykbroker.controller.config_alterations import Alteration, Change
from pykbroker.http.api.table import ROUTES
from pykbroker.metadata.image import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE
from pykbroker.process.life import LifeEnded
from pykbroker.requests.pipeline import Place
from pykbroker.runtime.clock import SystemClock
from pykbroker.security.client.settings import ClientSecurity, client_security
from pykbroker.steered.disk import DiskFaults
from pykbroker.steered.verbs.table import VERBS as COMMANDS
from pykbroker.testing import BadFault, Kafka, NeverMatchedWarning
from pykbroker.testing.brokers import TestBroker
from pykbroker.testing.faults import Faults
from pykbroker.testing.schemas import Schemas
from pykbroker.tests.network.test_connection import produce
from pykbroker.tests.steered.test_control import tell_blocking
from pykbroker.tests.telemetry.otlp import gauge, metrics, point
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pykbroker.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from pykbroker.wire.messages.produce import ProduceResponse
from pykbroker.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

_FIRST = int(os.environ.get("STEERED_FIRST", "0"))
SEEDS = range(_FIRST, _FIRST + int(os.environ.get("STEERED_SEEDS", "12")))
#: Longer than ``scripts/test`` waits for a test, so that it tells of what hangs.
PATIENCE_S = 3600
STEPS = 35
NOW_MS = SystemClock().now_ms
#: What a verb may say to somebody who asks for what cannot be.
REFUSALS = (WrongBroker, KafkaError, BadFault, LookupError, LifeEnded)
FAULTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Produce", {"error": "NOT_LEADER_OR_FOLLOWER"}),
    ("*", {"hold": True}),
    ("Metadata", {"delay": "300ms"}),
    ("Produce", {"throttle": "20s"}),
    ("*", {"close": True, "times": 3}),
    ("Metadata", {"stale": True}),
    ("Produce", {"drop": True}),
)
SETTINGS = ({}, {}, {"security": "ssl"}, {"security": "sasl_plaintext"})
MEMBER = "AAAAAAAAAAAAAAAAAAAABw"
#: What the control socket and HTTP say to each command but ``reset`` and ``restoreSnapshot``, which the verbs of these names say.
SAID: dict[str, tuple[dict[str, Any], ...]] = {
    "listFaults": ({},),
    "addFault": (
        {"text": "Metadata hold"},
        {"text": "Produce error=NOT_LEADER_OR_FOLLOWER"},
        {"text": "* close times=2"},
    ),
    "clearFaults": ({},),
    "getFault": ({"number": 1},),
    "removeFault": ({"number": 1}, {"number": 2}),
    "getChaos": ({},),
    "beginChaos": ({"text": "7 intensity=10"}, {"text": "8 profile=broker-down intensity=10"}),
    "endChaos": ({},),
    "listBrokers": ({},),
    "stopBroker": ({"id": 1}, {"id": 3}),
    "killBroker": ({"id": 1}, {"id": 3}),
    "startBroker": ({"id": 1}, {"id": 3}),
    "getClock": ({},),
    "advanceClock": ({"by": "1s"},),
    "listSnapshots": ({},),
    "keepSnapshot": ({"name": "s1"},),
}
#: What the model does not do, by the reason.
NOT_DRIVEN = {
    "the same as another": ("kafka.aio", "faults.fail"),
    "it asks, or waits": (
        *("kafka.bootstrap_servers", "kafka.check_served", "kafka.committed", "kafka.export", "kafka.judge"),
        *("kafka.log_lines", "kafka.pid", "kafka.play", "kafka.schema_registry_url", "kafka.transaction"),
        *("kafka.unserved", "kafka.wait_for_client_metrics", "kafka.wait_for_committed", "kafka.wait_for_group"),
        *("kafka.wait_for_in_sync", "kafka.wait_for_lag", "kafka.wait_for_record", "kafka.wait_for_share_group"),
        *("kafka.wait_for_transaction", "kafka.wait_until", "faults.wait", "schemas.decode", "schemas.encode"),
        *("schemas.get", "GET /requests", "GET /loggers", "GET /seeds"),
    ),
    "it is of the test, which ends it": ("kafka.recording", "kafka.on_reset", "kafka.forget_hooks", "kafka.http_token"),
    "it is what the brokers themselves call": ("faults.end", "faults.forget", "disk.check", "disk.wrap"),
    "it forgets what a reset forgets": ("DELETE /requests",),
    "it is refused in a test, which needs all requests": ("PUT /requests/recording",),
}


class World:
    """The brokers of one seed, with what a test does to them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.settings: dict[str, Any] = dict(self.random.choice(SETTINGS))
        self.count = self.random.choice((1, 3))
        self.manual = self.random.random() < 0.5
        self.with_http = not self.settings and self.random.random() < 0.4
        self.with_schemas = not self.settings and self.count == 1 and self.random.random() < 0.4
        self.kafka = Kafka(
            brokers=self.count,
            clock="manual" if self.manual else "real",
            http=0 if self.with_http else None,
            schema_registry=self.with_schemas,
            seed={"topics": {"sown": {"partitions": 1, "replication_factor": self.count, "records": [{"value": "s"}]}}},
            replica_lag_time_max_ms=3_600_000,
            **self.settings,
        )
        #: Whether chaos has begun in this life.
        self.in_chaos = False
        self.saved: dict[str, Any] = {}
        self.told: list[str] = []
        self._over = threading.Event()
        #: Held by each client while it asks, and by who needs that nobody does.
        self._asking = threading.Lock()

    # ---- clients ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def clients(self, seed: int) -> Iterator[None]:
        """A client that asks all the while, and is not troubled by refusals."""
        random_ = random.Random(f"client {seed}")
        addresses = list(self.kafka.node.addresses().values())

        def run() -> None:
            while not self._over.wait(0.002):
                with self._asking, contextlib.suppress(ClientError, Unreachable, OSError, KafkaError):
                    connection = self.connect(random_.choice(addresses), 0.05)
                    with contextlib.closing(connection):
                        random_.choice(REQUESTS)(connection)

        running = threading.Thread(target=run)
        running.start()
        try:
            yield
        finally:
            self._over.set()
            running.join()

    def connect(self, address: str, timeout_s: float = PATIENCE_S) -> BrokerConnection:
        host, _, port = address.rpartition(":")
        return BrokerConnection(host, int(port), timeout_s=timeout_s, client_id="c", security=self.security)

    @property
    def security(self) -> ClientSecurity | None:
        if "security" not in self.settings:
            return None
        name = None if self.settings["security"] == "ssl" else "alice"
        return client_security(self.kafka.security.java(name), NOW_MS, lambda: str(self.random.random()))

    def tell(self, command: str, **said: Any) -> dict[str, Any]:
        """Say a command over the control socket, or over HTTP; its answer, or ``{"error": ...}``."""
        if self.with_http and self.random.random() < 0.5:
            (route,) = (each for each in ROUTES if each.name == command)
            path = route.path.format(**said)
            return ask_http(self.kafka, route.method, path, {} if "{" in route.path else said, refused=True)
        line = json.dumps({"command": command, **said}).encode()
        return tell_blocking(self.kafka.node.directory, line)

    # ---- verbs --------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        verb = self.random.choice(VERBS)
        self.told.append(verb.__name__)
        with contextlib.suppress(*REFUSALS):
            verb(self)

    @property
    def broker(self) -> Any:
        return self.kafka.broker(self.random.randint(1, self.count))

    def stop(self) -> None:
        self.broker.stop()

    def kill(self) -> None:
        self.broker.kill()

    def start(self) -> None:
        self.broker.start()

    def restart(self) -> None:
        self.broker.restart()

    def part(self) -> None:
        with contextlib.suppress(ValueError):  # there is one alone
            if self.random.random() < 0.7:
                self.broker.partition_from(*self.random.choice(((), (1,), (2, 3))))
            else:
                self.broker.heal()

    def move(self) -> None:
        to = self.random.randint(1, self.count)
        with contextlib.suppress(ValueError):  # it has no replica in sync, or nobody has asked for a coordinator
            if self.random.random() < 0.5:
                self.kafka.move_leader(self.random.choice(("sown", "t1", "c")), 0, to=to)
            else:
                self.kafka.move_coordinator(to=to, group=self.random.choice(("g", "consumers", "sharers")))

    def command(self) -> None:
        name = self.random.choice(list(SAID))
        said = self.random.choice(SAID[name])
        answer = self.tell(name, **said)
        if "error" not in answer and name == "keepSnapshot":
            self.saved[said["name"]] = None
        self.in_chaos = self.in_chaos or name == "beginChaos"

    def sow(self) -> None:
        topics = {f"t{self.random.randint(1, 4)}": {"partitions": 1, "records": [{"value": "s"}]}}
        if self.with_http and self.random.random() < 0.5:
            ask_http(self.kafka, "POST", "/seeds", {"topics": topics}, refused=True)
        else:
            with contextlib.suppress(ValueError):  # BadSeed: the topic is there with other partitions
                self.kafka.seed({"topics": topics})

    def register(self) -> None:
        if self.with_schemas:
            with contextlib.suppress(ClientError):
                self.kafka.schemas.register(
                    f"s{self.random.randint(1, 2)}", {"type": self.random.choice(("string", "int"))}
                )

    def subscribe(self) -> None:
        self.kafka.subscribe_client_metrics("*", interval_ms=100, name=self.random.choice("mn"))
        self.ask(send_metrics)

    def ask(self, request: Callable[[BrokerConnection], None] | None = None) -> None:
        """What the client asks, too, asked here so that it comes about in a short life."""
        address = self.random.choice(list(self.kafka.node.addresses().values()))
        with contextlib.suppress(ClientError, OSError), contextlib.closing(self.connect(address, 0.2)) as talk:
            (request or self.random.choice((share, consume)))(talk)

    def set_level(self) -> None:
        if self.with_http:
            ask_http(
                self.kafka,
                "PUT",
                f"/loggers/{self.random.choice(('pykbroker', 'pykbroker.steered'))}",
                {"level": "DEBUG"},
            )

    def pause(self) -> None:
        self.broker.pause()

    def resume(self) -> None:
        self.broker.resume()

    def renew(self) -> None:
        if self.settings.get("security") == "ssl":
            self.kafka.renew_certificate(self.random.choice((-1, 10)))

    def alter(self) -> None:
        kind, name, changes = self.random.choice((
            (BROKER_RESOURCE, "1", {"message.max.bytes": "77777", "listener.name.plaintext.max.connections": "1"}),
            (BROKER_RESOURCE, "", {"log.retention.ms": "12345", "max.connections.per.ip": "1"}),
            (BROKER_LOGGER_RESOURCE, "1", {"pykbroker.steered": self.random.choice(("DEBUG", "ERROR"))}),
            (BROKER_LOGGER_RESOURCE, "1", {"pykbroker": "DEBUG"}),
        ))  # fmt: skip
        wanted = [Alteration(kind, name, [Change(setting, 0, value) for setting, value in changes.items()])]

        def alter(cluster: Cluster) -> Any:
            if 1 not in cluster.brokers:
                raise WrongBroker("broker 1 is stopped")
            return alter_resources(cluster.brokers[1], None, wanted, loggers=True, validate_only=False)

        self.kafka._ask_later(alter)

    def limit(self) -> None:
        entity = self.random.choice(((("client-id", None),), (("ip", None),)))
        key = "connection_creation_rate" if entity[0][0] == "ip" else "producer_byte_rate"
        wanted = [QuotaAlteration(entity, [(key, 1.0)])]
        self.kafka._ask_later(
            lambda cluster: cluster.controller.alter_client_quotas(wanted, frozenset(), validate_only=False)
        )

    def fault(self) -> None:
        api, words = self.random.choice(FAULTS)
        self.kafka.faults.add(api, **words)

    def cut(self) -> None:
        self.kafka.faults.cut(broker=self.random.randint(1, self.count))

    def clear(self) -> None:
        there = self.kafka.faults.list()
        if there and self.random.random() < 0.5:
            self.kafka.faults.remove(self.random.choice(there))
        else:
            self.kafka.faults.clear()

    def fail_disk(self) -> None:
        if self.random.random() < 0.5:
            self.kafka.disk.fill()
        else:
            self.kafka.disk.fail(self.random.choice(("read", "write")), times=self.random.choice((1, None)))

    def heal(self) -> None:
        self.kafka.disk.heal()

    def advance(self) -> None:
        if self.manual:
            self.kafka.advance(self.random.choice(("1s", "40s", "20m")))

    def create(self) -> None:
        self.kafka.create_topic(f"t{self.random.randint(1, 3)}", self.random.randint(1, 3))

    def delete(self) -> None:
        self.kafka.delete_topic(f"t{self.random.randint(1, 3)}")

    def produce(self) -> None:
        self.kafka.produce(f"t{self.random.randint(1, 3)}", "v")

    def housekeep(self) -> None:
        self.random.choice((self.kafka.run_retention, self.kafka.run_compaction))()

    def work_on(self) -> None:
        """A thread of the brokers is at work when what is next comes, and makes and removes files."""
        directory = self.kafka.node.directory

        def work() -> None:
            for number in range(200):
                (directory / f"{number % 7}.work").write_bytes(b"")
                (directory / f"{number % 7}.work").unlink()

        self.kafka._ask(lambda cluster: cluster.runtime.offload(work) and None)

    def fork(self) -> None:
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                self.kafka.stop()
            os._exit(0 if not self.kafka.running else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    def snapshot(self) -> None:
        name = f"s{self.random.randint(1, 2)}"
        if self.random.random() < 0.3:
            self.kafka.snapshot(name)  # of some moment between what clients do
            self.saved[name] = None
            return
        with self._asking:
            saved = seen_data(self.kafka) if not self.kafka.disk._faults and not self.in_chaos else None
            self.kafka.snapshot(name)
            self.saved[name] = None
            if saved is not None and seen_data(self.kafka) == saved:  # nobody's last request ended between
                self.saved[name] = saved

    def forget(self) -> None:
        self.kafka.forget_snapshots()
        self.saved.clear()

    def restore(self) -> None:
        name = f"s{self.random.randint(1, 2)}"
        if name not in self.saved:
            with pytest.raises(LookupError):
                self.kafka.restore(name)
            return
        with self._asking:
            if self.random.random() < 0.5:
                self.kafka.restore(name)
            else:
                assert self.tell("restoreSnapshot", name=name) == {}
            self.in_chaos = False
            if (saved := self.saved[name]) is not None:
                for topic, records in saved["records"].items():  # replicas tell each other that they have them
                    self.kafka.wait_for_records(topic, len(records), timeout=PATIENCE_S)
                found = data(self.kafka)
                found["records"] = {topic: found["records"][topic] for topic in saved["records"]}
                assert found == saved
            self.check_process()

    def reset(self) -> None:
        with contextlib.ExitStack() as stack:
            if self.random.random() < 0.5:
                self.kafka.reset()  # in the middle of what clients do
                self.kafka.faults.list()
            stack.enter_context(self._asking)
            if self.random.random() < 0.5:
                assert self.tell("reset") == {}
            else:
                self.kafka.reset()
            self.in_chaos = False
            self.check_fresh()

    # ---- what is seen -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.fresh = self.seen()
        self.kafka.reset()

    def check_fresh(self) -> None:
        assert self.seen() == self.fresh

    def seen(self) -> dict[str, Any]:
        """What a broker shows that nobody has used, and that it serves; it is used then."""
        kafka = self.kafka
        found = {"requests": kafka.requests(), "data": data(kafka), "process": self.check_process()}
        found["chaos"] = self.tell("getChaos")
        found["groups"] = [kafka.group(each).state for each in ("g", "consumers", "sharers")]
        found["shared"] = kafka.share_group("sharers")
        kafka.subscribe_client_metrics("*", name="seen")  # begins what keeps them
        for address in kafka.node.addresses().values():
            with contextlib.closing(self.connect(address)) as talk:
                talk.call(GetTelemetrySubscriptionsRequest(b"another-instance"), GetTelemetrySubscriptionsResponse)
        found["metrics"] = kafka.client_metrics()
        found["cluster"] = kafka._ask(links)
        assert not found["cluster"]["cut"]  # else no replica would get the record below
        if self.with_schemas:
            found["schemas"] = [kafka.schemas.subjects(), kafka.schemas.register("new", {"type": "long"})]
        for address in kafka.node.addresses().values():
            with contextlib.ExitStack() as stack:  # several at once: there is no limit
                talks = [stack.enter_context(contextlib.closing(self.connect(address))) for _ in range(3)]
                for talk in talks:
                    answer = talk.call(MetadataRequest(topics=[]), MetadataResponse, 9)
                    assert len(answer.brokers) == self.count
        for talk in self._leader("sown"):
            asked = produce(b"x" * 1000, acks=-1, topic="sown")
            asked.timeout_ms = PATIENCE_S * 1000
            found["throttled"] = talk.call(asked, ProduceResponse, 9).throttle_time_ms
        found["records"] = [record.value for record in kafka.records("sown")]
        return found

    def _leader(self, topic: str) -> Iterator[BrokerConnection]:
        leader = self.kafka._ask(lambda cluster: cluster.partition(topic, 0).leader)
        with contextlib.closing(self.connect(self.kafka.node.addresses()[leader])) as talk:
            yield talk

    def check_process(self) -> dict[str, Any]:
        """What is of the process, and not of the data: it works, and is as it was at the start."""
        kafka, node = self.kafka, self.kafka.node
        directory = node.directory
        states = [each["state"] for each in tell_blocking(directory, b'{"command": "listBrokers"}')["brokers"]]
        assert states == ["running"] * self.count
        assert kafka.faults.list() == []
        broker = kafka.broker(1)
        broker.pause()
        assert len(kafka.faults.list()) == 1
        broker.resume()
        assert kafka.faults.list() == []
        if self.manual:
            kafka.advance("1s")
        for address in node.addresses().values():
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), PATIENCE_S).close()
        assert not node.faults.book.rules
        return {
            "places": kafka._ask(
                lambda _: [place.name for place in Place if node.server.dispatcher.places.fills(place)]
            ),
            "levels": {name: logger.level for name, logger in loggers().items() if logger.level},
            "directory": str(directory),
        }


def loggers() -> dict[str, logging.Logger]:
    return {name: logging.getLogger(name) for name in levels() if name.startswith("pykbroker")}


def ask_http(kafka: Kafka, method: str, path: str, body: object, *, refused: bool = False) -> Any:
    """The answer, which may be a refusal."""
    connection = http.client.HTTPConnection(kafka.http_address, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request(method, f"/api/v1{path}", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        told = json.load(answer)
        assert answer.status == 200 or (refused and answer.status in (400, 404, 409)), told
        return told if answer.status == 200 else {"error": told}


def links(cluster: Cluster) -> dict[str, Any]:
    """Which brokers are cut off from others, and where partitions are led."""
    image = cluster.metadata.image
    return {
        "cut": None if cluster.peers is None else sorted(cluster.peers.cut),
        "epochs": {name: [part.leader_epoch for part in topic.in_order()] for name, topic in image.topics.items()},
        "in sync": {name: [len(part.isr) for part in topic.in_order()] for name, topic in image.topics.items()},
    }


def ask_metadata(talk: BrokerConnection) -> None:
    talk.call(MetadataRequest(topics=[MetadataRequestTopic(name="c")]), MetadataResponse, 9)


def ask_coordinator(talk: BrokerConnection) -> None:
    talk.call(FindCoordinatorRequest(key="g"), FindCoordinatorResponse, 3)


def ask_produce(talk: BrokerConnection) -> None:
    talk.call(produce(b"v"), ProduceResponse, 9)


def send_metrics(talk: BrokerConnection) -> None:
    told = talk.call(GetTelemetrySubscriptionsRequest(b"client-instance-"), GetTelemetrySubscriptionsResponse)
    number = told.subscription_id
    pushed = PushTelemetryRequest(b"client-instance-", number, metrics=metrics(gauge("a.rate", point(2.5))))
    talk.call(pushed, PushTelemetryResponse)


def consume(talk: BrokerConnection) -> None:
    asked = ConsumerGroupHeartbeatRequest(
        "consumers", MEMBER, 0, rebalance_timeout_ms=60_000, subscribed_topic_names=["sown"], topic_partitions=[]
    )
    talk.call(asked, ConsumerGroupHeartbeatResponse)


def share(talk: BrokerConnection) -> None:
    """Join a share group and acquire a record, if the broker is both coordinator and leader."""
    talk.call(FindCoordinatorRequest(key="sharers"), FindCoordinatorResponse, 3)
    talk.call(
        ShareGroupHeartbeatRequest("sharers", MEMBER, 0, subscribed_topic_names=["sown"]), ShareGroupHeartbeatResponse
    )
    (topic,) = talk.call(MetadataRequest(topics=[MetadataRequestTopic(name="sown")]), MetadataResponse, 12).topics
    for epoch in (0, 1):
        asked = ShareFetchRequest(
            *("sharers", MEMBER),
            share_session_epoch=epoch,
            max_wait_ms=1,
            max_bytes=1 << 20,
            max_records=4,
            batch_size=4,
            topics=[FetchTopic(topic.topic_id, [FetchPartition(0)])],
        )
        talk.call(asked, ShareFetchResponse)


#: What the client asks.
REQUESTS = (ask_metadata, ask_coordinator, ask_produce, send_metrics, consume, share)


def data(kafka: Kafka) -> dict[str, Any]:
    """What is in the log directories: topics with their records, settings and quotas."""

    def look(cluster: Cluster) -> dict[str, Any]:
        image = cluster.metadata.image
        return {
            "configs": {key: dict(settings) for key, settings in image.configs.items()},
            "in force": {name: repr(cluster.config[name]) for name in cluster.config.names()},
            "quotas": {key: dict(values) for key, values in image.client_quotas.items()},
            "metrics": {name: dict(settings) for name, settings in image.client_metrics.items()},
            "topics": {name: len(topic.partitions) for name, topic in image.topics.items() if not topic.internal},
        }

    found = kafka._ask(look)
    found["records"] = {
        topic: sorted((record.partition, record.offset, record.value or b"") for record in kafka.records(topic))
        for topic in kafka.topics()
    }
    return found


def seen_data(kafka: Kafka) -> dict[str, Any]:
    """The data, without records that are on a stopped broker alone: nobody sees them, and a restore starts all brokers."""
    found = data(kafka)

    def read(cluster: Cluster) -> set[str]:
        topics = cluster.metadata.image.topics.values()
        return {each.name for each in topics if all(part.leader in cluster.brokers for part in each.in_order())}

    readable = kafka._ask(read)
    found["records"] = {topic: records for topic, records in found["records"].items() if topic in readable}
    return found


VERBS: tuple[Callable[[World], None], ...] = (
    *(
        World.stop,
        World.kill,
        World.start,
        World.pause,
        World.resume,
        World.renew,
        World.alter,
        World.alter,
        World.limit,
    ),
    *(World.fault, World.fault, World.cut, World.clear, World.fail_disk, World.heal, World.advance, World.advance),
    *(World.create, World.create, World.delete, World.produce, World.produce, World.housekeep, World.work_on),
    *(World.work_on, World.fork, World.snapshot, World.snapshot, World.forget, World.restore, World.restore),
    *(World.reset, World.reset, World.restart, World.part, World.part, World.move, World.move, World.sow),
    *(
        World.command,
        World.command,
        World.command,
        World.register,
        World.register,
        World.subscribe,
        World.ask,
        World.set_level,
    ),
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.deep(but=4)
def test_after_any_history_a_reset_broker_is_a_fresh_one(seed: int) -> None:
    """Without a time limit of its own, which a starved process exceeds without a fault (at nice 19 a seed takes minutes): what hangs
    is found by ``scripts/test``, which prints the stacks.
    """
    world = World(seed)
    try:
        world.kafka.start()
        try:
            world.begin()
            with world.clients(seed):
                for _ in range(STEPS):
                    world.step()
                world.told.append("the last reset")
                world.reset()
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NeverMatchedWarning)
                world.kafka.stop()
    except BaseException as error:
        raise AssertionError(f"after {world.told}") from error


def test_all_that_a_test_can_do_is_done_or_left_out_for_a_reason() -> None:
    """What is done is read from the names in this file: ``self.broker.stop()`` is ``broker.stop``."""
    done = {
        f"{of.attr if isinstance(of, ast.Attribute) else of.id}.{each.attr}"
        for each in ast.walk(ast.parse(Path(__file__).read_text()))
        if isinstance(each, ast.Attribute) and isinstance(of := each.value, ast.Attribute | ast.Name)
    }
    surfaces = {"kafka": Kafka, "broker": TestBroker, "faults": Faults, "disk": DiskFaults, "schemas": Schemas}
    there = {f"{name}.{word}" for name, kind in surfaces.items() for word in dir(kind) if not word.startswith("_")}
    there |= {"kafka.aio"} | {f"{route.method} {route.path}" for route in ROUTES if route.handler is not None}
    done |= {"POST /seeds", "PUT /loggers/{name}"}
    left = {each for some in NOT_DRIVEN.values() for each in some}
    assert there - done == left
    assert {*SAID, "reset", "restoreSnapshot"} == set(COMMANDS)
