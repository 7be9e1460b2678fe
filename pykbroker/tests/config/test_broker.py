"""BrokerConfig: what a file gives, what is refused, what lies over it at run time."""

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.differences import OUR_DEFAULTS
from pykbroker.config.listeners import Listener
from pykbroker.config.setting import ConfigError

HOUR_MS = 3_600_000


def test_no_file_is_needed():
    config = BrokerConfig()
    assert config.node_id == 1
    assert config["log.segment.bytes"] == 1024**3
    assert config["log.retention.ms"] is None
    assert config.listeners == [Listener("PLAINTEXT", "PLAINTEXT", None, 9092)]
    assert all(config[name] == ours.value for name, ours in OUR_DEFAULTS.items())


def test_unknown_names_are_told_and_kept():
    config = BrokerConfig({"zookeeper.connect": "x", "listener.name.plaintext.ssl.keystore.location": "y"})
    assert config.unknown == ("zookeeper.connect",)
    assert config.explicit["zookeeper.connect"] == "x"
    with pytest.raises(KeyError):
        config["zookeeper.connect"]


def test_a_combined_nodes_file_is_taken_as_it_is():
    config = BrokerConfig(
        {
            "process.roles": "broker,controller",
            "node.id": "7",
            "controller.quorum.bootstrap.servers": "localhost:9093",
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            "inter.broker.listener.name": "PLAINTEXT",
            "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
            "log.dirs": "/data/a, /data/b",
        }
    )
    assert config.node_id == config["broker.id"] == 7
    assert [listener.name for listener in config.listeners] == ["PLAINTEXT"]
    assert config.advertised_listeners == [Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092)]
    assert config.log_dirs == ("/data/a", "/data/b")
    assert config.unknown == ()


def test_broker_id_is_another_name_of_node_id():
    assert BrokerConfig({"broker.id": "4"}).node_id == 4
    with pytest.raises(ConfigError, match=r"You must set `node\.id` to the same value as `broker\.id`"):
        BrokerConfig({"broker.id": "4", "node.id": "5"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num.partitions": "0"}, "Invalid value 0 for configuration num.partitions: Value must be at least 1"),
        ({"log.dirs": ""}, "Configuration 'log.dirs' must not be empty. Valid values include: any non-empty value"),
        ({"log.retention.ms": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.retention.hours": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.cleaner.threads": "0"}, "log.cleaner.threads must be at least 1"),
        ({"max.connections.per.ip.overrides": "x"}, "'x' is not HOST:NUMBER"),
        ({"max.connections.per.ip.overrides": "1.2.3.4:" + "9" * 5000}, "is not HOST:NUMBER"),
        ({"max.connections.per.ip.overrides": "a:1,,b:2"}, "'' is not HOST:NUMBER"),
        ({"max.connections.per.ip.overrides": "[::1]:1, b:2"}, "contains invalid addresses : [::1]"),
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip can be set to zero only if"),
        ({"listeners": "nowhere"}, "a listener is written NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:70000"}, "a port is a number from 0 to 65535"),
        ({"listeners": "OUTSIDE://:9092"}, "no security protocol is defined for listener OUTSIDE"),
        ({"listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "Each listener must have a different name"),
        ({"listeners": "PLAINTEXT://a:1,SSL://b:1"}, "Each listener must have a different port"),
        ({"listeners": "CONTROLLER://:9093"}, "listeners must name at least one listener"),
        ({"listener.security.protocol.map": "PLAINTEXT:PLAIN"}, "each entry must be NAME:PROTOCOL"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "advertised.listeners cannot use the address 0.0.0.0"),
        ({"advertised.listeners": "SSL://host:1"}, "advertised.listeners names SSL, which listeners does not"),
        ({"inter.broker.listener.name": "INSIDE"}, "inter.broker.listener.name is INSIDE"),
    ],
)
def test_bad_values_are_refused_by_name(settings, message):
    with pytest.raises(ConfigError) as refused:
        BrokerConfig(settings)
    assert message in str(refused.value)


def test_one_port_may_serve_both_ip_versions_and_port_0_repeats():
    assert len(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9092"}).listeners) == 2
    assert len(BrokerConfig({"listeners": "PLAINTEXT://:0,SSL://:0"}).listeners) == 2


def test_ipv6_hosts_lose_their_brackets():
    assert BrokerConfig({"listeners": "PLAINTEXT://[::1]:9092"}).listeners[0].host == "::1"


def test_named_listeners_take_their_protocol_from_the_map():
    config = BrokerConfig(
        {"listeners": "inside://:1,Outside://:2", "listener.security.protocol.map": "INSIDE:plaintext,outside:Sasl_Ssl"}
    )
    assert [(listener.name, listener.security_protocol) for listener in config.listeners] == [
        ("INSIDE", "PLAINTEXT"),
        ("OUTSIDE", "SASL_SSL"),
    ]


def test_topic_defaults_come_from_the_most_specific_broker_setting():
    hours = BrokerConfig({"log.retention.hours": "2", "log.roll.hours": "3"})
    assert hours.topic_defaults()["retention.ms"] == 2 * HOUR_MS
    assert hours.topic_defaults()["segment.ms"] == 3 * HOUR_MS
    minutes = BrokerConfig({"log.retention.hours": "2", "log.retention.minutes": "3"})
    assert minutes.topic_defaults()["retention.ms"] == 180_000
    unlimited = BrokerConfig({"log.retention.hours": "-1"})
    assert unlimited.topic_defaults()["retention.ms"] == -1
    assert BrokerConfig({"log.flush.scheduler.interval.ms": "9"}).topic_defaults()["flush.ms"] == 9


def test_a_topic_overrides_its_defaults():
    config = BrokerConfig({"log.segment.bytes": "2000000"})
    effective = config.effective_topic_settings({"cleanup.policy": "compact,delete", "retention.ms": " 5 "})
    assert effective["cleanup.policy"] == ("compact", "delete")
    assert effective["retention.ms"] == 5
    assert effective["segment.bytes"] == 2_000_000
    assert config.effective_topic_settings({"internal.segment.bytes": "100"})["segment.bytes"] == 100


def test_altered_settings_lie_over_the_file_this_brokers_first():
    config = BrokerConfig({"log.retention.hours": "2", "message.max.bytes": "1000"})
    config.apply_dynamic({"log.retention.ms": "50", "message.max.bytes": "2000"}, {"message.max.bytes": "3000"})
    assert config["message.max.bytes"] == 3000
    assert config.topic_defaults()["retention.ms"] == 50
    config.apply_dynamic({}, {})
    assert config["message.max.bytes"] == 1000
    assert config.topic_defaults()["retention.ms"] == 2 * HOUR_MS


def test_a_stored_value_that_does_not_parse_is_passed_over():
    config = BrokerConfig({"message.max.bytes": "1000"})
    config.apply_dynamic({"message.max.bytes": "large", "not.kafkas": "x"}, {})
    assert config["message.max.bytes"] == 1000


def test_listener_prefix_beats_the_plain_name():
    name = "ssl.keystore.location"
    config = BrokerConfig({"listener.name.outside.ssl.keystore.location": "/outside", name: "/plain"})
    assert config.listener_value("OUTSIDE", name) == "/outside"
    assert config.listener_value("INSIDE", name) == "/plain"
    config.apply_dynamic({}, {"listener.name.outside.ssl.keystore.location": "/new"})
    assert config.listener_value("OUTSIDE", name) == "/new"


@pytest.mark.parametrize(("size", "threads"), [(1048576, 1), (2097152, 2), (2097153, 2)])
def test_a_cleaner_thread_has_more_than_a_mebibyte_and_not_just_one(size: int, threads: int) -> None:
    settings = {"log.cleaner.dedupe.buffer.size": str(size), "log.cleaner.threads": str(threads)}
    with pytest.raises(ConfigError, match="at least 1MB per cleaner thread"):
        BrokerConfig(settings)
    BrokerConfig({**settings, "log.cleaner.dedupe.buffer.size": str(threads * 1048577)})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"group.consumer.heartbeat.interval.ms": "1"}, "must be greater than or equal to group.consumer.min.heartbeat.interval.ms"),
        ({"group.share.session.timeout.ms": "60001"}, "must be less than or equal to group.share.max.session.timeout.ms"),
        (
            {"group.streams.session.timeout.ms": "5000", "group.streams.min.session.timeout.ms": "1"},
            "group.streams.heartbeat.interval.ms must be less than group.streams.session.timeout.ms",
        ),
        ({"group.streams.num.standby.replicas": "3"}, "must be less than or equal to group.streams.max.standby.replicas"),
        ({"group.share.max.share.sessions": "1"}, "must be greater than or equal to group.share.max.size"),
    ],
)  # fmt: skip
def test_bounds_of_groups(given: dict[str, str], says: str) -> None:
    """``compat_tests/settings`` compares all of them with Apache Kafka."""
    with pytest.raises(ConfigError, match=says):
        BrokerConfig(given)
