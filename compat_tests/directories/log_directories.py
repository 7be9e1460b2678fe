"""The data of a cluster, in one log directory or in two, and one address, for Apache Kafka and pykbroker in turn."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from pykbroker.tests.kit.ports import free_ports

#: Rounds of housekeeping that come soon, so that a test can wait for what they do. Both brokers get them.
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.flush.offset.checkpoint.interval.ms": "300",
    "log.flush.start.offset.checkpoint.interval.ms": "300",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "transaction.max.timeout.ms": "3600000",
}
#: A node that was killed is taken back when its session is over.
_KAFKA_ONLY = {"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "200"}
#: Who signs in, and his password; and what delegation tokens are made with.
USER, TOKEN_KEY = "alice", "key"
_SIGNED = "SASL_PLAINTEXT"
_MODULES = "org.apache.kafka.common.security"
_MECHANISMS = {
    "PLAIN": f'plain.PlainLoginModule required user_{USER}="{USER}"',
    "SCRAM-SHA-256": "scram.ScramLoginModule required",
    "SCRAM-SHA-512": "scram.ScramLoginModule required",
}


def _with_users(plain: int, signed: int) -> dict[str, str]:
    """Settings of a second listener, on which somebody signs in."""
    prefix = f"listener.name.{_SIGNED.lower()}."
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},{_SIGNED}://127.0.0.1:{signed}",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{_SIGNED}:{_SIGNED}",
        "sasl.enabled.mechanisms": ",".join(_MECHANISMS),
        "delegation.token.secret.key": TOKEN_KEY,
        **{f"{prefix}{name.lower()}.sasl.jaas.config": f"{_MODULES}.{module};" for name, module in _MECHANISMS.items()},
    }


class _SignedKafka(ApacheKafka):
    """With the listeners of its settings, and its controller's."""

    def _roles(self, controller: str) -> dict[str, str]:
        listeners = self.settings.pop("listeners")
        self.settings["advertised.listeners"] = listeners
        return {**super()._roles(controller), "listeners": f"{listeners},CONTROLLER://{controller}"}


class SharedLogDirectories:
    """Data that outlives the broker that serves it: at most one of the two runs."""

    def __init__(
        self,
        parent: Path,
        *,
        standalone: bool = False,
        count: int = 1,
        settings: dict[str, str] | None = None,
        users: bool = False,
    ) -> None:
        """``standalone``: what Kafka formats gets a dynamic quorum of one (KIP-853), in place of static voters. ``settings``
        go before the usual ones.
        """
        port, signed = free_ports(2)
        self.paths = [parent / f"data-{number}" for number in range(count)]
        settings = {**SETTINGS, **(settings or {}), "log.dirs": ",".join(map(str, self.paths))}
        if users:
            settings |= _with_users(port, signed)
        self._settings = settings
        kafka = _SignedKafka if users else ApacheKafka
        self._brokers: dict[str, BrokerProcess] = {
            "kafka": kafka(parent / "kafka", {**settings, **_KAFKA_ONLY}, standalone=standalone),
            "ours": Pykbroker(parent / "ours", settings),
        }
        for broker in self._brokers.values():
            broker.data_dir = self.paths[0]
            broker.port = port
        self.bootstrap = f"127.0.0.1:{port}"
        #: Where somebody signs in, with ``users``.
        self.signed = f"127.0.0.1:{signed}"
        self._running: BrokerProcess | None = None

    def start(self, which: str) -> None:
        """Have ``kafka`` or ``ours`` serve them."""
        assert self._running is None
        self._running = self._brokers[which]
        self._running.start()

    def start_second(self, which: str) -> None:
        """Have the other one try to serve them at the same time, on other ports."""
        other = type(self._brokers[which])(self.paths[0].parent / f"second-{which}", self._settings)
        other.data_dir = self.paths[0]
        other.start()

    def end(self, way: str) -> None:
        """``stop`` (SIGTERM) or ``kill`` (SIGKILL) whoever serves it; nothing where nobody does."""
        broker, self._running = self._running, None
        if broker is not None:
            broker.stop() if way == "stop" else broker.kill()

    def checkpoint(self, name: str) -> dict[str, int]:
        """An offset checkpoint, over all directories: ``topic-partition`` to offset."""
        found = {}
        for file in (path / name for path in self.paths):
            for line in file.read_text().splitlines()[2:] if file.exists() else ():
                topic, partition, offset = line.split()
                found[f"{topic}-{partition}"] = int(offset)
        return found

    def newest_snapshot(self) -> str:
        """The file name of the metadata log's newest snapshot."""
        return max((file.name for file in self.partition("__cluster_metadata-0").glob("*.checkpoint")), default="")

    def partition(self, name: str) -> Path:
        """The directory of a partition, such as ``orders-0``, wherever it lies."""
        (found,) = (path / name for path in self.paths if (path / name).exists())
        return found

    def segment_sizes(self, name: str) -> list[int]:
        """Bytes of each segment of a partition, in order, without those that retention removes meanwhile."""
        sizes = []
        for file in sorted(self.partition(name).glob("*.log")):
            with suppress(FileNotFoundError):
                sizes.append(file.stat().st_size)
        return sizes

    def log_of(self, which: str) -> str:
        """What a broker has logged, over all its runs."""
        return self._brokers[which].log_file.read_text(errors="replace")
