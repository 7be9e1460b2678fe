"""Settings of topics, groups, subscriptions: codes and words as Apache Kafka 4.4.0 answers them."""

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.topic_configs import effective_topic_configs
from pykbroker.config.validation import check_client_metrics_configs, check_group_configs, check_topic_configs
from pykbroker.wire.errors import ErrorCode, KafkaError

CONFIG = BrokerConfig()


def refusal(check, *arguments):
    with pytest.raises(KafkaError) as refused:
        check(*arguments)
    return refused.value.code, refused.value.message


def test_good_topic_settings_pass():
    assert (
        check_topic_configs(CONFIG, {"retention.ms": "-1", "cleanup.policy": "compact", "preallocate": "TRUE"}) is None
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        ({"retention.ms": "x"}, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
        (
            {"retention.ms": "x", "segment.bytes": "y"},
            "Invalid value y for configuration segment.bytes: Not a number of type INT",
        ),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            {"remote.storage.enable": "true"},
            (
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            ),
        ),
    ],
)
def test_bad_topic_settings(settings, message):
    assert refusal(check_topic_configs, CONFIG, settings) == (ErrorCode.INVALID_CONFIG, message)


def test_a_topic_is_checked_together_with_the_brokers_defaults():
    config = BrokerConfig({"log.cleaner.max.compaction.lag.ms": "5"})
    code, message = refusal(check_topic_configs, config, {"min.compaction.lag.ms": "10"})
    assert (code, message) == (
        ErrorCode.INVALID_CONFIG,
        "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"foo": "1"}, "Unknown group config name: foo"),
        (
            {"consumer.session.timeout.ms": "x"},
            "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT",
        ),
        (
            {"consumer.session.timeout.ms": "1"},
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
        ),
        (
            {"consumer.heartbeat.interval.ms": "15001"},
            "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive.",
        ),
        (
            {"share.partition.max.record.locks": "4001"},
            "share.partition.max.record.locks must be in the range 100 to 4000 inclusive.",
        ),
        ({"streams.num.standby.replicas": "3"}, "streams.num.standby.replicas must be less than or equal to 2"),
        (
            {"streams.task.offset.interval.ms": "14999"},
            "streams.task.offset.interval.ms must be greater than or equal to 15000",
        ),
        ({"streams.num.warmup.replicas": "21"}, "streams.num.warmup.replicas must be less than or equal to 20"),
        (
            {"streams.assignor.name": "range"},
            "streams.assignor.name 'range' is not a registered task assignor. Registered assignors are: [sticky].",
        ),
        (
            {"streams.rack.aware.assignment.tags": "zone, zone"},
            "streams.rack.aware.assignment.tags must not contain duplicate tag keys.",
        ),
        (
            {"errors.deadletterqueue.topic.name": "__dead"},
            "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
        ),
        (
            {"share.auto.offset.reset": "x"},
            (
                "Invalid value x for configuration share.auto.offset.reset: Invalid value `x` for configuration "
                "share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format "
                "'by_duration:<PnDTnHnMn.nS>'."
            ),
        ),
    ],
)
def test_bad_group_settings(settings, message):
    assert refusal(check_group_configs, CONFIG, settings) == (ErrorCode.INVALID_CONFIG, message)


@pytest.mark.parametrize("reset", ["latest", "earliest", "by_duration:PT1H", "by_duration:P1D", "by_duration:pt1.5s"])
def test_share_groups_may_start_anywhere_kafka_knows(reset):
    assert check_group_configs(CONFIG, {"share.auto.offset.reset": reset}) is None


@pytest.mark.parametrize(
    "reset", ["by_duration:", "by_duration:P", "by_duration:PT", "by_duration:-PT1H", "by_duration:P1W"]
)
def test_a_share_groups_start_must_be_a_duration(reset):
    assert refusal(check_group_configs, CONFIG, {"share.auto.offset.reset": reset})[0] == ErrorCode.INVALID_CONFIG


def test_a_session_outlives_a_heartbeat():
    config = BrokerConfig(
        {"group.consumer.min.session.timeout.ms": "1", "group.consumer.min.heartbeat.interval.ms": "1"}
    )
    settings = {"consumer.session.timeout.ms": "5000", "consumer.heartbeat.interval.ms": "5000"}
    assert refusal(check_group_configs, config, settings) == (
        ErrorCode.INVALID_CONFIG,
        "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
    )


@pytest.mark.parametrize(
    ("subscription", "settings", "code", "message"),
    [
        ("", {}, ErrorCode.INVALID_REQUEST, "Subscription name can't be empty"),
        ("m", {"foo": "1"}, ErrorCode.INVALID_REQUEST, "Unknown client metrics configuration: foo"),
        (
            "m",
            {"interval.ms": "10"},
            ErrorCode.INVALID_REQUEST,
            "Invalid value 10 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            "m",
            {"interval.ms": "x"},
            ErrorCode.INVALID_CONFIG,
            "Invalid value x for configuration interval.ms: Not a number of type INT",
        ),
        ("m", {"match": "x=y"}, ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: x=y"),
        ("m", {"match": "client_id=["}, ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: client_id=["),
        ("m", {"match": "client_id=a=b"}, ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: client_id=a=b"),
        ("m", {"match": "client_id="}, ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: client_id="),
        ("m", {"metrics": ","}, ErrorCode.INVALID_CONFIG, "Configuration 'metrics' values must not be empty."),
    ],
)
def test_bad_subscriptions(subscription, settings, code, message):
    assert refusal(check_client_metrics_configs, subscription, settings) == (code, message)


def test_good_subscriptions_pass():
    settings = {"match": "client_id=a.*, client_software_name = b", "metrics": "*", "interval.ms": "100"}
    assert check_client_metrics_configs("m", settings) is None


def test_effective_settings_name_the_layer_that_decides():
    config = BrokerConfig({"log.retention.hours": "48"})
    config.apply_dynamic({"log.roll.ms": "100"}, {"log.preallocate": "true"})
    effective = {each.name: each for each in effective_topic_configs(config, {"cleanup.policy": "delete, compact"})}
    assert list(effective) == sorted(effective)
    assert effective["cleanup.policy"][1:3] == ("delete, compact", 1)
    assert effective["preallocate"][1:3] == ("true", 2)
    assert effective["segment.ms"][1:3] == ("100", 3)
    assert effective["retention.ms"][1:3] == ("172800000", 4)
    assert effective["segment.bytes"][1:3] == ("1073741824", 5)
    assert "internal.segment.bytes" not in effective


def test_an_assignor_that_the_broker_names_by_its_class_has_its_own_name() -> None:
    by_class = {"group.streams.assignors": "org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor"}
    config = BrokerConfig(by_class)
    assert check_group_configs(config, {"streams.assignor.name": "sticky"}) is None
