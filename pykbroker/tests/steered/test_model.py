"""Every verb of a test's brokers in any order, beside clients: after a reset nothing is seen of what was before.

A random driver stops and pauses brokers, alters settings, levels of loggers and certificates, adds faults, moves the clock,
takes snapshots, returns to them, resets and forks. After each reset a broker shows what it showed when it was fresh, and after
a restore the data that was there at the snapshot; all that is of the process works. ``STEERED_SEEDS`` says how many seeds run,
``STEERED_FIRST`` where to begin.
"""

from __future__ import annotations

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
from pykbroker.metadata.image import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE
from pykbroker.process.life import LifeEnded
from pykbroker.requests.pipeline import Place
from pykbroker.runtime.clock import SystemClock
from pykbroker.security.client.settings import ClientSecurity, client_security
from pykbroker.testing import BadFault, Kafka, NeverMatchedWarning
from pykbroker.tests.network.test_connection import produce
from pykbroker.tests.steered.test_control import tell_blocking
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from pykbroker.wire.messages.produce import ProduceResponse

_FIRST = int(os.environ.get("STEERED_FIRST", "0"))
SEEDS = range(_FIRST, _FIRST + int(os.environ.get("STEERED_SEEDS", "12")))
#: Longer than ``scripts/test`` waits for a test, so that it tells of what hangs.
PATIENCE_S = 3600
STEPS = 25
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


class World:
    """The brokers of one seed, with what a test does to them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.settings: dict[str, Any] = dict(self.random.choice(SETTINGS))
        self.count = self.random.choice((1, 3))
        self.manual = self.random.random() < 0.5
        self.with_http = not self.settings and self.random.random() < 0.4
        self.kafka = Kafka(
            brokers=self.count,
            clock="manual" if self.manual else "real",
            http=0 if self.with_http else None,
            seed={"topics": {"sown": {"partitions": 1, "records": [{"value": "s"}]}}},
            **self.settings,
        )
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
                        if random_.random() < 0.5:
                            connection.call(
                                MetadataRequest(topics=[MetadataRequestTopic(name="c")]), MetadataResponse, 9
                            )
                        elif random_.random() < 0.5:
                            connection.call(FindCoordinatorRequest(key="g"), FindCoordinatorResponse, 3)
                        else:
                            connection.call(produce(b"v"), ProduceResponse, 9)

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
            saved = seen_data(self.kafka) if not self.kafka.disk._faults else None
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
            self.kafka.restore(name)
            if self.saved[name] is not None:
                found, saved = data(self.kafka), self.saved[name]
                found["records"] = {topic: found["records"][topic] for topic in saved["records"]}
                assert found == saved
            self.check_process()

    def reset(self) -> None:
        with contextlib.ExitStack() as stack:
            if self.random.random() < 0.5:
                self.kafka.reset()  # in the middle of what clients do
                self.kafka.faults.list()
            stack.enter_context(self._asking)
            if self.with_http:
                ask_http(self.kafka, "POST", "/reset")
            else:
                self.kafka.reset()
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
        found = {"data": data(kafka), "process": self.check_process()}
        for address in kafka.node.addresses().values():
            with contextlib.ExitStack() as stack:  # several at once: there is no limit
                talks = [stack.enter_context(contextlib.closing(self.connect(address))) for _ in range(3)]
                for talk in talks:
                    answer = talk.call(MetadataRequest(topics=[]), MetadataResponse, 9)
                    assert len(answer.brokers) == self.count
        for talk in self._leader("sown"):
            found["throttled"] = talk.call(produce(b"x" * 1000, topic="sown"), ProduceResponse, 9).throttle_time_ms
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
        kafka.requests()
        return {
            "places": kafka._ask(
                lambda _: [place.name for place in Place if node.server.dispatcher.places.fills(place)]
            ),
            "levels": {name: logger.level for name, logger in loggers().items() if logger.level},
            "rules": len(node.faults.book.rules),
            "directory": str(directory),
        }


def loggers() -> dict[str, logging.Logger]:
    return {name: logging.getLogger(name) for name in levels() if name.startswith("pykbroker")}


def ask_http(kafka: Kafka, method: str, path: str) -> Any:
    connection = http.client.HTTPConnection(kafka.http_address, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request(method, f"/api/v1{path}", "{}", {"Content-Type": "application/json"})
        answer = connection.getresponse()
        told = json.load(answer)
        assert answer.status == 200, told
        return told


def data(kafka: Kafka) -> dict[str, Any]:
    """What is in the log directories: topics with their records, settings and quotas."""

    def look(cluster: Cluster) -> dict[str, Any]:
        image = cluster.metadata.image
        return {
            "configs": {key: dict(settings) for key, settings in image.configs.items()},
            "in force": {name: repr(cluster.config[name]) for name in cluster.config.names()},
            "quotas": {key: dict(values) for key, values in image.client_quotas.items()},
            "topics": {name: len(topic.partitions) for name, topic in image.topics.items()},
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
    *(World.reset, World.reset),
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
