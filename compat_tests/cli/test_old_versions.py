"""The commands with no higher versions than a broker of Kafka 2.4 offers: what it can, they do; else they say what lacks.

The broker under test really answers in these versions; only the commands are told of no higher ones.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.cli.conftest import Result
from pykbroker.client.connection import BrokerConnection
from pykbroker.wire.apis import ApiKey

Run = Callable[..., Result]

#: The highest versions of Kafka 2.4; what is not here came later.
_HIGHEST = {
    ApiKey.PRODUCE: 8,
    ApiKey.FETCH: 11,
    ApiKey.LIST_OFFSETS: 5,
    ApiKey.METADATA: 9,
    ApiKey.OFFSET_COMMIT: 8,
    ApiKey.OFFSET_FETCH: 6,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.JOIN_GROUP: 6,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 4,
    ApiKey.SYNC_GROUP: 4,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.LIST_GROUPS: 3,
    ApiKey.API_VERSIONS: 3,
    ApiKey.CREATE_TOPICS: 5,
    ApiKey.DELETE_TOPICS: 4,
    ApiKey.DELETE_RECORDS: 1,
    ApiKey.INIT_PRODUCER_ID: 2,
    ApiKey.DESCRIBE_CONFIGS: 2,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.CREATE_PARTITIONS: 1,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
}


@pytest.fixture(autouse=True)
def _old(monkeypatch: pytest.MonkeyPatch) -> None:
    negotiate = BrokerConnection._negotiate

    def negotiate_old(connection: BrokerConnection) -> dict[int, tuple[int, int]]:
        offered = negotiate(connection)
        return {
            key: (offered[key][0], min(offered[key][1], highest))
            for key, highest in _HIGHEST.items()
            if offered[key][0] <= highest
        }

    monkeypatch.setattr(BrokerConnection, "_negotiate", negotiate_old)


def test_what_an_old_broker_can_is_done(run: Run, topic: str, name: Callable[..., str]) -> None:
    run("produce", topic, "-p", "1", stdin=b"a\nb\nc")
    assert run("consume", topic, "-o", "1:-2", "--until", "end").lines == ["b", "c"]
    assert run("consume", topic, "-g", name("group"), "-e").lines == ["a", "b", "c"]
    assert [row["end"] for row in run("offsets", topic, "--json").json] == [0, 3, 0]
    found = run("cluster", "describe", "--json").json
    assert found["id"]
    assert [broker["state"] for broker in found["brokers"]] == ["running"]
    assert {row["name"] for row in run("cluster", "apis", "--json").json} >= {"Produce", "Fetch"}
    assert run("cluster", "features").status == 0
    assert run("records", "delete", topic, "--before", "1:1", "-y").status == 0
    assert run("offsets", topic, "-p", "1", "--json").json[0]["start"] == 1
    (folder,) = run("logdirs", topic, "--json").json
    assert folder["total"] is folder["usable"] is None
    assert len(folder["partitions"]) == 3
    assert "SETTING" in run("configs", "describe", "broker", "1").out
    assert run("configs", "alter", "topic", topic, "--set", "retention.ms=5000").status == 0
    assert run("reassignments", "list").status == 0
    assert run("reassignments", "start", f"{topic}:0=1").lines == [f"{topic}-0 is being moved"]
    (partition, *_) = run("topics", "describe", topic, "--json").json[0]["partitions"]
    assert (partition["isr"], partition["elr"], partition["last_known_elr"]) == ([1], None, None)
    assert run("topics", "replicas", topic).lines[1] == f"{topic}\t0\t1\t1\t1\t-\t-\t-"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("cluster", "quorum"), "has no KRaft quorum"),
        (("quotas", "list"), "does not offer the API DescribeClientQuotas"),
        (("quotas", "set", "--user", "u", "producer_byte_rate=1"), "does not offer the API AlterClientQuotas"),
        (("transactions", "list"), "does not offer the API ListTransactions"),
        (("transactions", "describe", "id"), "does not offer the API DescribeTransactions"),
        (("transactions", "producers", "TOPIC"), "does not offer the API DescribeProducers"),
        (("offsets", "TOPIC", "--at", "max-timestamp"), "cannot answer this: it needs ListOffsets 7"),
        (("offsets", "TOPIC", "--at", "tiered"), "cannot answer this: it needs ListOffsets 9"),
    ],
)
def test_what_it_cannot_is_said(run: Run, topic: str, command: tuple[str, ...], said: str) -> None:
    result = run(*(topic if word == "TOPIC" else word for word in command))
    assert result.status == 1
    assert said in result.err
