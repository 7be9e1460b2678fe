"""IncrementalAlterConfigs and AlterConfigs. Codes and words were read from Apache Kafka 4.4.0's answers."""

import logging

import pytest

from pykbroker.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from pykbroker.tests.kit.configs import APPEND, DELETE, SET, SUBTRACT, ConfigCluster

OK = (0, None)
UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_CONFIG, INVALID_REQUEST = 3, 17, 40, 42


def alter_one(resource_type, name, *changes, broker=None):
    return (broker or ConfigCluster()).alter((resource_type, name, changes))[0]


@pytest.mark.parametrize("version", [0, 1])
def test_a_topics_setting_is_set_and_removed(version):
    broker = ConfigCluster()
    assert broker.alter((TOPIC_RESOURCE, "t", [("retention.ms", SET, " 5000 ")]), version=version) == [OK]
    assert broker.image.topic_config("t") == {"retention.ms": " 5000 "}
    assert broker.entry(TOPIC_RESOURCE, "t", "retention.ms")[:2] == ("5000", 1)
    assert broker.alter((TOPIC_RESOURCE, "t", [("retention.ms", DELETE, "ignored")]), version=version) == [OK]
    assert broker.image.topic_config("t") == {}


@pytest.mark.parametrize(
    ("name", "changes", "answer"),
    [
        ("t", [("foo", SET, "1")], (INVALID_CONFIG, "Unknown topic config name: foo")),
        ("t", [("foo", DELETE, None)], OK),
        ("t", [], OK),
        ("t", [("retention.ms", SET, None)], (INVALID_REQUEST, "Null value not supported for : retention.ms")),
        (
            "t",
            [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
            (INVALID_REQUEST, "Error due to duplicate config keys"),
        ),
        ("t", [("retention.ms", 7, "1")], (INVALID_REQUEST, "Unknown operations type 7")),
        (
            "t",
            [("retention.ms", APPEND, "1")],
            (INVALID_CONFIG, "Can't APPEND to key retention.ms because its type is not LIST."),
        ),
        (
            "t",
            [("foo", SUBTRACT, "1")],
            (INVALID_CONFIG, "Can't SUBTRACT to key foo because its type is not LIST."),
        ),
        ("nope", [("retention.ms", SET, "1")], (UNKNOWN_TOPIC, "The topic 'nope' does not exist.")),
        ("nope", [("foo", SET, "1")], (INVALID_CONFIG, "Unknown topic config name: foo")),
        ("", [("retention.ms", SET, "1")], (INVALID_REQUEST, "Default topic resources are not allowed.")),
    ],
)
def test_answers_for_topics(name, changes, answer):
    assert alter_one(TOPIC_RESOURCE, name, *changes) == answer


def test_a_bad_topic_name_is_refused_before_the_settings():
    code, message = alter_one(TOPIC_RESOURCE, "a/b", ("foo", SET, "1"))
    assert code == INVALID_TOPIC
    assert message.startswith("Topic name is invalid: 'a/b'")


def test_one_bad_setting_leaves_the_whole_resource_as_it_was_and_others_go_on():
    broker = ConfigCluster()
    bad = (TOPIC_RESOURCE, "t", [("retention.ms", SET, "9"), ("foo", SET, "1")])
    good = (GROUP_RESOURCE, "g", [("consumer.session.timeout.ms", SET, "50000")])
    assert [code for code, _ in broker.alter(bad, good)] == [INVALID_CONFIG, 0]
    assert broker.image.topic_config("t") == {}
    assert broker.image.config(GROUP_RESOURCE, "g") == {"consumer.session.timeout.ms": "50000"}


def test_validate_only_changes_nothing():
    broker = ConfigCluster()
    changes = [("retention.ms", SET, "9")]
    assert broker.alter((TOPIC_RESOURCE, "t", changes), validate_only=True) == [OK]
    assert broker.replace((TOPIC_RESOURCE, "t", {"retention.ms": "9"}), validate_only=True) == [OK]
    assert broker.image.topic_config("t") == {}


def test_lists_grow_and_shrink_from_the_default_or_the_override():
    broker = ConfigCluster(log_cleanup_policy="compact")  # the file's value is not where a list starts

    def policy(operation, value):
        assert alter_one(TOPIC_RESOURCE, "t", ("cleanup.policy", operation, value), broker=broker) == OK
        return broker.image.topic_config("t")["cleanup.policy"]

    assert policy(APPEND, "compact") == "delete,compact"
    assert policy(APPEND, "compact") == "delete,compact"
    assert policy(SUBTRACT, "delete") == "compact"
    assert policy(SUBTRACT, "compact") == ""
    assert policy(APPEND, "") == ""
    assert policy(APPEND, "compact,compact") == "compact"


def test_an_appended_list_is_checked_as_a_whole():
    change = ("cleanup.policy", APPEND, "compact,foo")
    assert alter_one(TOPIC_RESOURCE, "t", change) == (
        INVALID_CONFIG,
        "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
    )


@pytest.mark.parametrize("resource_type", [0, 1, 99, -1])
def test_unknown_resource_types_are_refused_one_by_one(resource_type):
    broker = ConfigCluster()
    answers = broker.alter((resource_type, "x", [("a", SET, "b")]), (TOPIC_RESOURCE, "t", [("retention.ms", SET, "1")]))
    assert answers == [(INVALID_REQUEST, f"Unknown resource type {resource_type}"), OK]
    assert broker.replace((resource_type, "x", {})) == [(INVALID_REQUEST, f"Unknown resource type {resource_type}")]


def test_a_resource_named_twice_is_refused_both_times():
    broker = ConfigCluster()
    first, second = (TOPIC_RESOURCE, "t", [("retention.ms", SET, "1")]), (TOPIC_RESOURCE, "t", [])
    refused = (INVALID_REQUEST, "Each resource must appear at most once.")
    assert broker.alter(first, second) == [refused, refused]
    assert broker.replace((TOPIC_RESOURCE, "t", {}), (TOPIC_RESOURCE, "t", {})) == [refused, refused]
    assert broker.image.topic_config("t") == {}


def test_alter_configs_takes_away_what_it_does_not_name():
    broker = ConfigCluster()
    for version in range(3):
        assert broker.replace((TOPIC_RESOURCE, "t", {"retention.ms": "5", "segment.ms": "7"}), version=version) == [OK]
        assert broker.replace((TOPIC_RESOURCE, "t", {"segment.ms": "8"}), version=version) == [OK]
        assert broker.image.topic_config("t") == {"segment.ms": "8"}
    assert broker.replace((TOPIC_RESOURCE, "t", {})) == [OK]
    assert broker.image.topic_config("t") == {}


# -- brokers


def test_altered_broker_settings_are_in_force_at_once():
    broker = ConfigCluster()
    assert broker.alter((BROKER_RESOURCE, "", [("log.retention.ms", SET, "3000")])) == [OK]
    assert broker.cluster.config.topic_defaults()["retention.ms"] == 3000
    assert broker.alter((BROKER_RESOURCE, "1", [("log.retention.ms", SET, "4000")])) == [OK]
    assert broker.cluster.config.topic_defaults()["retention.ms"] == 4000
    assert broker.replace((BROKER_RESOURCE, "1", {}), (BROKER_RESOURCE, "", {"min.insync.replicas": "1"})) == [OK, OK]
    assert broker.cluster.config.topic_defaults()["retention.ms"] == 604_800_000


@pytest.mark.parametrize(
    ("name", "change", "answer"),
    [
        (
            "1",
            ("num.partitions", SET, "3"),
            (INVALID_REQUEST, "Cannot update these configs dynamically: [num.partitions]"),
        ),
        (
            "",
            ("num.partitions", SET, "3"),
            (INVALID_REQUEST, "Cannot update these configs dynamically: [num.partitions]"),
        ),
        ("1", ("num.partitions", DELETE, None), OK),
        ("1", ("not.kafkas", SET, "x"), OK),
        ("2", ("log.retention.ms", SET, "3"), (INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2")),
        ("x", ("log.retention.ms", SET, "3"), (INVALID_REQUEST, "Node id must be an integer, but it is: x")),
        (
            "1",
            ("log.retention.ms", SET, "x"),
            (INVALID_REQUEST, "Invalid value x for configuration log.retention.ms: Not a number of type LONG"),
        ),
        (
            "1",
            ("log.retention.ms", SET, "0"),
            (
                INVALID_REQUEST,
                "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
            ),
        ),
        (
            "1",
            ("group.share.assignment.interval.ms", SET, "15001"),
            (
                INVALID_REQUEST,
                "group.share.assignment.interval.ms must be less than or equal to group.share.max.assignment.interval.ms",
            ),
        ),
        (
            "1",
            ("log.cleaner.threads", APPEND, "1"),
            (INVALID_CONFIG, "Config value append is not allowed for config key: log.cleaner.threads"),
        ),
        ("1", ("foo", SUBTRACT, "1"), (INVALID_CONFIG, "Unknown config name: foo")),
        (
            "1",
            ("ssl.keystore.location", SET, "x"),
            (
                INVALID_REQUEST,
                (
                    "These security configs can be dynamically updated only per-listener using the listener prefix: "
                    "[ssl.keystore.location]"
                ),
            ),
        ),
        ("1", ("listener.name.plaintext.ssl.keystore.location", SET, "x"), OK),
        (
            "",
            ("listener.name.plaintext.ssl.keystore.location", SET, "x"),
            (
                INVALID_REQUEST,
                (
                    "Cannot update these configs at default cluster level, broker id must be specified: "
                    "[listener.name.plaintext.ssl.keystore.location]"
                ),
            ),
        ),
        ("", ("listener.name.plaintext.max.connections", SET, "5"), OK),
        (
            "",
            ("listeners", SET, "PLAINTEXT://:9"),
            (
                INVALID_REQUEST,
                "Cannot update these configs at default cluster level, broker id must be specified: [listeners]",
            ),
        ),
        ("", ("follower.replication.throttled.rate", SET, "100"), OK),
    ],
)
def test_answers_for_brokers(name, change, answer):
    assert alter_one(BROKER_RESOURCE, name, change) == answer


def test_listeners_stay_as_they_are_until_a_restart():
    code, message = alter_one(BROKER_RESOURCE, "1", ("listeners", SET, "PLAINTEXT://:9"))
    assert code == INVALID_REQUEST
    assert message.endswith("cannot update them dynamically: [listeners]")


def test_each_broker_of_the_process_answers_for_itself():
    broker = ConfigCluster(brokers=2, asked=2)
    assert broker.alter((BROKER_RESOURCE, "2", [("message.max.bytes", SET, "5")])) == [OK]
    assert broker.entry(BROKER_RESOURCE, "2", "message.max.bytes")[:2] == ("5", 2)
    assert broker.entry(BROKER_RESOURCE, "2", "node.id")[:2] == ("2", 4)
    assert broker.entry(BROKER_RESOURCE, "2", "listeners")[0] == "PLAINTEXT://host2:9002"


# -- groups, subscriptions, loggers


@pytest.mark.parametrize(
    ("resource_type", "name", "change", "answer"),
    [
        (
            GROUP_RESOURCE,
            "",
            ("consumer.session.timeout.ms", SET, "50000"),
            (INVALID_REQUEST, "Default group resources are not allowed."),
        ),
        (GROUP_RESOURCE, "g", ("foo", SET, "1"), (INVALID_CONFIG, "Unknown group config name: foo")),
        (
            CLIENT_METRICS_RESOURCE,
            "",
            ("interval.ms", SET, "1000"),
            (INVALID_REQUEST, "Subscription name can't be empty"),
        ),
        (
            CLIENT_METRICS_RESOURCE,
            "m",
            ("match", APPEND, "client_id=b"),
            (INVALID_CONFIG, "Can't APPEND to key match because its type is not LIST."),
        ),
    ],
)
def test_answers_for_groups_and_subscriptions(resource_type, name, change, answer):
    assert alter_one(resource_type, name, change) == answer


@pytest.fixture
def logger():
    """A logger of this test, and the root's level put back afterwards."""
    root_level, made = logging.root.level, logging.getLogger("pykbroker.tests.alter_configs")
    yield made
    logging.root.setLevel(root_level)
    made.setLevel(logging.NOTSET)


def test_the_level_of_a_package_is_that_of_its_modules():
    module = logging.getLogger("pykbroker.tests.a_package.module")
    broker = ConfigCluster()
    assert broker.alter((BROKER_LOGGER_RESOURCE, "1", [("pykbroker.tests.a_package", SET, "DEBUG")])) == [OK]
    try:
        assert module.getEffectiveLevel() == logging.DEBUG
        assert broker.entry(BROKER_LOGGER_RESOURCE, "1", module.name)[0] == "DEBUG"
    finally:
        logging.getLogger("pykbroker.tests.a_package").setLevel(logging.NOTSET)


def test_loggers_take_kafkas_levels(logger):
    broker = ConfigCluster()
    assert broker.alter((BROKER_LOGGER_RESOURCE, "1", [("root", SET, "ERROR"), (logger.name, SET, "TRACE")])) == [OK]
    assert (logging.root.level, logger.level) == (logging.ERROR, 5)
    assert broker.entry(BROKER_LOGGER_RESOURCE, "1", logger.name)[:2] == ("TRACE", 6)
    assert broker.alter((BROKER_LOGGER_RESOURCE, "1", [(logger.name, DELETE, None)])) == [OK]
    assert broker.entry(BROKER_LOGGER_RESOURCE, "1", logger.name)[0] == "ERROR"
    assert broker.alter((BROKER_LOGGER_RESOURCE, "1", [("root", SET, "TRACE")]), validate_only=True) == [OK]
    assert logging.root.level == logging.ERROR


@pytest.mark.parametrize(
    ("name", "change", "answer"),
    [
        (
            "1",
            ("root", SET, "info"),
            (
                INVALID_CONFIG,
                (
                    "Cannot set the log level of root to info as it is not a supported log level. "
                    "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"
                ),
            ),
        ),
        ("1", ("foo.bar", SET, "DEBUG"), (INVALID_CONFIG, "Logger foo.bar does not exist!")),
        ("1", ("root", DELETE, None), (INVALID_REQUEST, "Removing the log level of the root logger is not allowed")),
        (
            "1",
            ("root", APPEND, "INFO"),
            (INVALID_REQUEST, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        ),
        ("2", ("root", SET, "INFO"), (INVALID_REQUEST, "Unexpected node id. Expected 1, but received 2")),
        ("", ("root", SET, "INFO"), (INVALID_REQUEST, "Node id must be an integer, but it is: ")),
    ],
)
def test_answers_for_loggers(name, change, answer):
    assert alter_one(BROKER_LOGGER_RESOURCE, name, change) == answer


def test_alter_configs_has_no_loggers():
    assert ConfigCluster().replace((BROKER_LOGGER_RESOURCE, "1", {"root": "INFO"})) == [
        (INVALID_REQUEST, "Unknown resource type 8")
    ]
