"""``pykbroker cluster``, ``configs``, ``logdirs``, ``quotas`` and ``client-metrics`` against the broker under test. Nothing is skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compat_tests.cli.conftest import Result
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import BrokerProcess

Run = Callable[..., Result]


def test_the_cluster_and_its_brokers(run: Run, target: BrokerProcess, topic: str) -> None:
    found = run("cluster", "describe", "--json").json
    properties = (target.data_dir / "meta.properties").read_text()
    assert f"cluster.id={found['id']}\n" in properties
    (broker,) = found["brokers"]
    assert found["controller"] == broker["id"] == 1
    assert broker["address"] == target.bootstrap
    assert broker["state"] == "running"
    assert broker["leads"] >= 3
    lines = run("cluster", "describe").lines
    assert lines[0] == f"Cluster {found['id']}, controller 1"
    assert lines[1].split("\t") == ["BROKER", "ADDRESS", "RACK", "STATE", "LEADS"]


def test_apis_and_features(run: Run) -> None:
    apis = {item["name"]: item for item in run("cluster", "apis", "--broker", "1", "--json").json}
    assert apis["Produce"] == {"key": 0, "name": "Produce", "min": 0, "max": 13, "used": 13}
    assert all(item["min"] <= item["max"] for item in apis.values())
    features = run("cluster", "features", "--json").json
    assert features["epoch"] > 0
    levels = {item["feature"]: item["level"] for item in features["features"]}
    assert levels["metadata.version"] == 33
    assert levels["transaction.version"] == 2


def test_the_metadata_quorum(run: Run) -> None:
    quorum = run("cluster", "quorum", "--json").json
    assert quorum["leader"] == 1
    (replica,) = quorum["replicas"]
    assert (replica["node"], replica["role"], replica["lag"]) == (1, "leader", 0)
    assert replica["end"] >= quorum["high_watermark"] > 0


def test_a_broker_that_is_not_there(run: Run) -> None:
    for command in (
        ("cluster", "apis", "--broker", "9"),
        ("configs", "describe", "broker", "9"),
        ("configs", "alter", "broker-logger", "9", "--set", "root=INFO"),
        ("logdirs", "--broker", "9"),
    ):
        result = run(*command)
        assert result.status == 1
        assert result.err == "error: There is no broker 9; the cluster has 1.\n"
    assert run("configs", "describe", "broker", "one").status == 2


@pytest.fixture
def broker_setting(run: Run) -> Iterator[str]:
    """A setting of brokers that nobody gave; it is taken back."""
    yield "log.cleaner.backoff.ms"
    for name in ("1", ""):
        run("configs", "alter", "broker", *filter(None, [name]), "--delete", "log.cleaner.backoff.ms")


def _setting(run: Run, name: str, *where: str) -> Any:
    return {item["name"]: item for item in run("configs", "describe", *where, "--all", "--json").json}.get(name)


def test_settings_of_a_broker_and_of_all(run: Run, broker_setting: str) -> None:
    assert _setting(run, broker_setting, "broker", "1")["source"] == "DEFAULT_CONFIG"
    said = run("configs", "alter", "broker", "--set", f"{broker_setting}=16000")
    assert said.lines == ["the default of all brokers has new settings"]
    eventually(lambda: _setting(run, broker_setting, "broker"), bool)
    shared = (
        "DYNAMIC_DEFAULT_BROKER_CONFIG",
        "16000",
    )  # Apache Kafka names the source before the value is the broker's
    eventually(lambda: _setting(run, broker_setting, "broker", "1"), lambda s: (s["source"], s["value"]) == shared)
    assert run("configs", "alter", "broker", "1", "--set", f"{broker_setting}=17000").lines == [
        "broker 1 has new settings"
    ]
    own = ("DYNAMIC_BROKER_CONFIG", "17000")
    eventually(lambda: _setting(run, broker_setting, "broker", "1"), lambda s: (s["source"], s["value"]) == own)
    assert f"{broker_setting}\t17000\tthis broker, while running" in run("configs", "describe", "broker", "1").lines
    only = run("configs", "describe", "broker", "1", "-s", broker_setting, "--json").json
    assert [item["name"] for item in only] == [broker_setting]


def test_settings_that_are_refused(run: Run, topic: str) -> None:
    refused = run("configs", "alter", "broker", "1", "--set", "log.dirs=/tmp")
    assert refused.status == 1
    assert "error: broker 1: " in refused.err
    assert "log.dirs" in refused.err
    assert run("configs", "describe", "broker", "1", "-s", "nope").err == "error: broker 1 has no setting nope.\n"
    bad = run("configs", "alter", "topic", topic, "--set", "retention.ms=soon", "--dry-run")
    assert bad.status == 1
    assert f"error: topic {topic}: " in bad.err
    assert "(INVALID_CONFIG)" in bad.err


def test_secrets_stay_hidden(run: Run, start_target: Callable[..., BrokerProcess]) -> None:
    broker = start_target({"ssl.key.password": "a secret"})
    where = ("configs", "describe", "broker", "1", "-b", broker.bootstrap)
    shown = run(*where).out
    assert "ssl.key.password\t(hidden)\tthe broker's file or command line" in shown.splitlines()
    assert "a secret" not in shown + run(*where, "--json").out
    assert "ssl.keystore.password\t-\tdefault" in run(*where, "-s", "ssl.keystore.password").lines


def test_lists_grow_and_shrink(run: Run, topic: str) -> None:
    def policy() -> str:
        return str(_setting(run, "cleanup.policy", "topic", topic)["value"])

    assert policy() == "delete"
    run("configs", "alter", "topic", topic, "--set", "cleanup.policy=delete")
    assert run("configs", "alter", "topic", topic, "--append", "cleanup.policy=compact", "--dry-run").lines == [
        f"topic {topic} would have new settings"
    ]
    run("configs", "alter", "topic", topic, "--append", "cleanup.policy=compact")
    eventually(policy, lambda value: value == "delete,compact")
    run("configs", "alter", "topic", topic, "--subtract", "cleanup.policy=delete")
    eventually(policy, lambda value: value == "compact")
    assert "cleanup.policy\tcompact\tthe topic" in run("configs", "describe", "topic", topic).lines


def test_loggers_and_groups(run: Run, name: Callable[..., str]) -> None:
    levels = {item["name"]: item for item in run("configs", "describe", "broker-logger", "1", "--json").json}
    assert levels
    assert all(item["source"] == "DYNAMIC_BROKER_LOGGER_CONFIG" for item in levels.values())
    group = name("group")
    said = run("configs", "alter", "group", group, "--set", "consumer.session.timeout.ms=50000")
    assert said.lines == [f"group {group} has new settings"]
    found = eventually(lambda: _setting(run, "consumer.session.timeout.ms", "group", group), bool)
    assert (
        eventually(
            lambda: _setting(run, "consumer.session.timeout.ms", "group", group),
            lambda s: s["source"] == "DYNAMIC_GROUP_CONFIG",
        )["value"]
        == "50000"
    ), found


def test_log_directories(run: Run, target: BrokerProcess, topic: str) -> None:
    run("produce", topic, "-p", "1", stdin=b"x" * 1000)
    (found,) = run("logdirs", "--json").json
    assert (found["broker"], found["path"], found["error"]) == (1, str(target.data_dir), None)
    assert 0 < found["usable"] <= found["total"]
    sizes = {item["partition"]: item["size"] for item in found["partitions"] if item["topic"] == topic}
    assert sizes.keys() == {0, 1, 2}
    assert sizes[0] == 0
    assert 1000 < sizes[1] <= found["size"]
    lines = run("logdirs", topic).lines
    assert lines[2] == f"1\t{topic}\t1\t{sizes[1]}\t0\tno\t{target.data_dir}"
    assert run("logdirs").lines[0].split("\t")[:4] == ["BROKER", "PATH", "PARTITIONS", "SIZE"]
    assert "(UNKNOWN_TOPIC_OR_PARTITION)" in run("logdirs", "missing").err


def test_quotas(run: Run, name: Callable[..., str]) -> None:
    user, client = name("user"), name("client")
    whose = ("--user", user, "--client-id", client)

    def listed(*options: str) -> Any:
        return run("quotas", "list", *options, "--json").json

    planned = run("quotas", "set", *whose, "producer_byte_rate=1", "--dry-run")
    assert planned.lines == [f"client-id {client}, user {user} would be changed: has new quotas"]
    assert listed("--user", user) == []
    assert run("quotas", "set", *whose, "producer_byte_rate=1048576", "request_percentage=12.5").status == 0
    found = eventually(lambda: listed(*whose), lambda rows: len(rows) == 2)
    assert found[0] == {"entity": {"user": user, "client-id": client}, "quota": "producer_byte_rate", "value": 1048576}
    assert f"client-id {client}, user {user}\trequest_percentage\t12.5" in run("quotas", "list").lines
    assert run("quotas", "set", "--default-ip", "connection_creation_rate=1000").status == 0
    eventually(lambda: listed("--default-ip"), lambda rows: [row["entity"] for row in rows] == [{"ip": None}])
    assert run("quotas", "remove", *whose, "request_percentage").status == 0
    eventually(lambda: listed(*whose), lambda rows: [row["quota"] for row in rows] == ["producer_byte_rate"])
    assert run("quotas", "remove", *whose, "producer_byte_rate").status == 0
    assert run("quotas", "remove", "--default-ip", "connection_creation_rate").status == 0
    refused = run("quotas", "set", "--user", user, "frog=1")
    assert refused.status == 1
    assert f"error: Quotas of user {user}: " in refused.err
    assert "(INVALID_REQUEST)" in refused.err


def test_subscriptions_of_client_metrics(run: Run, name: Callable[..., str]) -> None:
    mine = name("metrics")

    def listed() -> list[dict[str, str]]:
        return [each for each in run("client-metrics", "list", "--json").json if each["name"] == mine]

    match = ("--match", f"client_id={mine}-.*", "--match", "client_software_name=librdkafka")
    assert run("client-metrics", "set", mine, "--metrics", "a.", "--metrics", "b.", *match, "--dry-run").status == 0
    assert listed() == []
    assert run("client-metrics", "set", mine, "--metrics", "a.", "--metrics", "b.", *match).lines == [f"{mine} is set"]
    wanted = {
        "name": mine,
        "interval.ms": "300000",
        "metrics": "a.,b.",
        "match": f"client_id={mine}-.*,client_software_name=librdkafka",
    }
    eventually(listed, lambda rows: rows == [wanted])
    assert run("client-metrics", "set", mine, "--interval-ms", "60000").status == 0
    eventually(listed, lambda rows: rows == [wanted | {"interval.ms": "60000"}])
    refused = run("client-metrics", "set", mine, "--interval-ms", "1")
    assert (refused.status, "interval must be between" in refused.err) == (1, True)
    assert run("client-metrics", "remove", mine).status == 0
    eventually(listed, lambda rows: not rows)
