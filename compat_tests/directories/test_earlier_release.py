"""A log directory of Apache Kafka 4.3.1 goes on with either release and with pykbroker; one of 4.4 does not go back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess, ServerFailed
from compat_tests.oracle.requests import Ask
from pykbroker.tests.kit.ports import free_ports
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.records import Record, encode_batch


class _Kafka43(ApacheKafka):
    jars = "kafka-4.3"


class _As43(Pykbroker):
    def command(self) -> list[str]:
        return [*super().command(), "--as-version", "4.3"]


_KINDS: dict[str, type[BrokerProcess]] = {
    "ours": Pykbroker, "ours as 4.3": _As43, "kafka 4.3": _Kafka43, "kafka 4.4": ApacheKafka,
}  # fmt: skip


class _Data:
    def __init__(self, folder: Path) -> None:
        (self._port,) = free_ports(1)
        self._folder = folder
        self._brokers: dict[str, BrokerProcess] = {}

    @contextmanager
    def served(self, who: str) -> Iterator[Ask]:
        if who not in self._brokers:
            broker = self._brokers[who] = _KINDS[who](self._folder / who.replace(" ", "-"))
            broker.data_dir, broker.port = self._folder / "data", self._port
        broker = self._brokers[who]
        broker.start()
        ask = Ask(broker.bootstrap, 4, "data")
        try:
            yield ask
        finally:
            ask.close()
            broker.stop()


def _level(ask: Ask) -> int:
    answer = ask.quietly(ApiVersionsRequest("a-client", "1.0"), 4)
    return next(each.max_version_level for each in answer.finalized_features if each.name == "metadata.version")


@takes_long
@pytest.mark.parametrize("born", ["kafka 4.3", "ours as 4.3"])
def test_a_directory_of_4_3_goes_on(tmp_path: Path, born: str) -> None:
    data = _Data(tmp_path)
    with data.served(born) as ask:
        topic = ask.topic("t")
    for n, who in enumerate((born, "ours", "kafka 4.4", "kafka 4.3", "ours")):
        with data.served(who) as ask:
            assert _level(ask) == 30, who
            batch = encode_batch([Record(0, 1_700_000_000_000, None, b"%d" % n, [])])
            ask.learn(topic)
            ask.produce(topic, batch)
            wanted = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, -1)])])
            assert ask.quietly(wanted, 5).topics[0].partitions[0].offset == n + 1, who


@takes_long
@pytest.mark.parametrize("born", ["kafka 4.4", "ours"])
def test_a_directory_of_4_4_is_not_for_4_3(tmp_path: Path, born: str) -> None:
    data = _Data(tmp_path)
    for who in (born, "kafka 4.4", "ours"):
        with data.served(who) as ask:
            assert _level(ask) == 33, who
    with pytest.raises(ServerFailed, match="ended with 1"), data.served("kafka 4.3"):
        pass
