"""DescribeConfigs and ListConfigResources. Expected answers were read from Apache Kafka 4.4.0's."""

import pytest

from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from pykbroker.tests.kit.configs import SET, ConfigCluster
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, DYNAMIC, DYNAMIC_DEFAULT, STATIC, DEFAULT, LOGGER, METRICS, GROUP = range(1, 9)


def test_a_topic_shows_all_settings_but_internal_ones():
    broker = ConfigCluster()
    result = broker.describe(TOPIC_RESOURCE, "t")
    assert (result.error_code, result.error_message) == (0, "")
    assert len(result.configs) == 37
    assert len(broker.describe(TOPIC_RESOURCE, "t", version=1).configs) == 37
    broker.alter((TOPIC_RESOURCE, "t", [("internal.segment.bytes", SET, "1000")]))
    assert broker.entry(TOPIC_RESOURCE, "t", "internal.segment.bytes")[:2] == ("1000", TOPIC)


def test_synonyms_go_from_the_topic_down_to_the_default():
    broker = ConfigCluster(log_retention_hours="48", message_max_bytes="7")
    assert broker.entry(TOPIC_RESOURCE, "t", "max.message.bytes") == (
        "7",
        STATIC,
        [("message.max.bytes", "7", STATIC), ("message.max.bytes", "1048588", DEFAULT)],
    )
    assert broker.entry(TOPIC_RESOURCE, "t", "retention.ms") == (
        "172800000",
        DEFAULT,
        [],
    )  # as Kafka: only from its own name on
    broker.alter(
        (BROKER_RESOURCE, "", [("log.retention.ms", SET, "3000")]),
        (BROKER_RESOURCE, "1", [("log.retention.ms", SET, "4000")]),
    )
    inherited = [
        ("log.retention.ms", "4000", DYNAMIC),
        ("log.retention.ms", "3000", DYNAMIC_DEFAULT),
        ("log.retention.hours", "48", STATIC),
        ("log.retention.hours", "168", DEFAULT),
    ]
    assert broker.entry(TOPIC_RESOURCE, "t", "retention.ms") == ("4000", DYNAMIC, inherited)
    assert broker.entry(BROKER_RESOURCE, "1", "log.retention.ms") == ("4000", DYNAMIC, inherited)
    assert broker.entry(BROKER_RESOURCE, "", "log.retention.ms") == (
        "3000",
        DYNAMIC_DEFAULT,
        [("log.retention.ms", "3000", DYNAMIC_DEFAULT)],
    )
    broker.alter((TOPIC_RESOURCE, "t", [("retention.ms", SET, "5")]))
    assert broker.entry(TOPIC_RESOURCE, "t", "retention.ms") == (
        "5",
        TOPIC,
        [("retention.ms", "5", TOPIC), *inherited],
    )


def test_keys_choose_and_an_empty_list_chooses_all():
    broker = ConfigCluster()
    chosen = broker.describe(TOPIC_RESOURCE, "t", "retention.ms", "foo", "segment.ms", "retention.ms")
    assert sorted(config.name for config in chosen.configs) == ["retention.ms", "segment.ms"]
    request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC_RESOURCE, "t", [])])
    assert len(broker.ask(request, 4).results[0].configs) == 37


def test_synonyms_types_and_sentences_only_where_asked_for():
    broker = ConfigCluster()
    plain = broker.describe(TOPIC_RESOURCE, "t", "max.message.bytes", include_synonyms=False).configs[0]
    assert (plain.synonyms, plain.documentation, plain.config_type) == ([], None, 3)
    told = broker.describe(TOPIC_RESOURCE, "t", "max.message.bytes", include_documentation=True).configs[0]
    assert told.documentation.startswith("The largest record batch")
    assert broker.describe(TOPIC_RESOURCE, "t", "max.message.bytes", version=2).configs[0].config_type == 0


def test_a_broker_shows_its_settings_and_whatever_else_was_given():
    broker = ConfigCluster(ssl_keystore_password="secret", num_partitions="3", not_kafkas="x")
    described = {config.name: config for config in broker.describe(BROKER_RESOURCE, "1").configs}
    public = {name for name, setting in BROKER_SETTINGS.items() if not setting.internal}
    assert described.keys() == public | {"not.kafkas"}
    assert (described["num.partitions"].value, described["num.partitions"].read_only) == ("3", True)
    assert (described["message.max.bytes"].read_only, described["message.max.bytes"].config_type) == (False, 3)
    for secret in ("ssl.keystore.password", "not.kafkas"):
        assert (described[secret].value, described[secret].is_sensitive) == (None, True)
        assert all(synonym.value is None for synonym in described[secret].synonyms)
    assert described["node.id"].config_source == STATIC
    assert [(s.value, s.source) for s in described["group.initial.rebalance.delay.ms"].synonyms] == [
        ("0", STATIC),
        ("150", DEFAULT),
    ]


def test_the_empty_broker_name_shows_what_was_altered_for_all():
    broker = ConfigCluster()
    begins_with = {"min.insync.replicas": "1"}  # a new cluster that keeps eligible leader replicas has it altered

    def shown():
        return {config.name: config.value for config in broker.describe(BROKER_RESOURCE, "").configs}

    assert shown() == begins_with
    broker.alter((BROKER_RESOURCE, "", [("not.kafkas", SET, "x"), ("message.max.bytes", SET, "7")]))
    assert shown() == begins_with | {"not.kafkas": None, "message.max.bytes": "7"}


def test_groups_inherit_from_the_broker():
    broker = ConfigCluster(group_consumer_session_timeout_ms="46000")
    inherited = [
        ("group.consumer.session.timeout.ms", "46000", STATIC),
        ("group.consumer.session.timeout.ms", "45000", DEFAULT),
    ]
    assert broker.entry(GROUP_RESOURCE, "g", "consumer.session.timeout.ms") == ("46000", STATIC, inherited)
    assert broker.entry(GROUP_RESOURCE, "g", "share.auto.offset.reset") == (
        "latest",
        DEFAULT,
        [("share.auto.offset.reset", "latest", DEFAULT)],
    )
    broker.alter((GROUP_RESOURCE, "g", [("consumer.session.timeout.ms", SET, "50000")]))
    own = ("consumer.session.timeout.ms", "50000", GROUP)
    assert broker.entry(GROUP_RESOURCE, "g", "consumer.session.timeout.ms") == ("50000", GROUP, [own, *inherited])
    assert len(broker.describe(GROUP_RESOURCE, "g").configs) == 21


def test_a_subscription_nobody_made_has_its_defaults():
    broker = ConfigCluster()
    configs = broker.describe(CLIENT_METRICS_RESOURCE, "m").configs
    assert {config.name: config.value for config in configs} == {"interval.ms": "300000", "match": "", "metrics": ""}
    broker.alter((CLIENT_METRICS_RESOURCE, "m", [("interval.ms", SET, "1000")]))
    assert broker.entry(CLIENT_METRICS_RESOURCE, "m", "interval.ms") == (
        "1000",
        METRICS,
        [("interval.ms", "1000", METRICS)],
    )


def test_loggers_have_levels():
    configs = {config.name: config for config in ConfigCluster().describe(BROKER_LOGGER_RESOURCE, "1").configs}
    assert (configs["root"].config_source, configs["root"].documentation) == (LOGGER, "")
    assert configs["root"].value in {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}


@pytest.mark.parametrize(
    ("resource_type", "name", "code", "message"),
    [
        (TOPIC_RESOURCE, "nope", 3, ""),
        (TOPIC_RESOURCE, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER_RESOURCE, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER_RESOURCE, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER_LOGGER_RESOURCE, "", 42, "Broker id must not be empty"),
        (BROKER_LOGGER_RESOURCE, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (GROUP_RESOURCE, "", 42, "Group name must not be empty"),
        (CLIENT_METRICS_RESOURCE, "", 42, "Client metrics subscription name must not be empty"),
    ],
)
def test_refusals(resource_type, name, code, message):
    result = ConfigCluster().describe(resource_type, name)
    assert (result.error_code, result.error_message, result.configs) == (code, message, [])


def test_an_unknown_type_refuses_the_whole_request():
    request = DescribeConfigsRequest([DescribeConfigsResource(99, "x"), DescribeConfigsResource(TOPIC_RESOURCE, "t")])
    results = ConfigCluster().ask(request, 4).results
    assert [result.error_code for result in results] == [42, 42]


def listed(broker, version, *types):
    answer = broker.ask(ListConfigResourcesRequest(list(types)), version)
    return answer.error_code, [(r.resource_type, r.resource_name) for r in answer.config_resources]


def test_list_names_what_can_be_described():
    broker = ConfigCluster(brokers=2)
    nothing_altered = [(2, "t"), (4, "1"), (4, "2"), (8, "1"), (8, "2")]
    assert listed(broker, 1) == (0, nothing_altered)
    broker.alter(
        (GROUP_RESOURCE, "g", [("consumer.session.timeout.ms", SET, "50000")]),
        (CLIENT_METRICS_RESOURCE, "m", [("interval.ms", SET, "1000")]),
    )
    assert listed(broker, 1) == (0, [*nothing_altered, (16, "m"), (32, "g")])
    assert listed(broker, 1, GROUP_RESOURCE, TOPIC_RESOURCE, GROUP_RESOURCE) == (0, [(2, "t"), (32, "g")])
    assert listed(broker, 0) == (0, [(16, "m")])


@pytest.mark.parametrize("resource_type", [0, 99])
def test_list_refuses_types_it_does_not_know(resource_type):
    assert listed(ConfigCluster(), 1, TOPIC_RESOURCE, resource_type) == (35, [])
