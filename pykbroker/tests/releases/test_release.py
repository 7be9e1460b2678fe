"""Releases as values: what is listed is served, what is not served is not listed, and settings are the release's."""

from __future__ import annotations

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.validation import check_group_configs, check_topic_configs
from pykbroker.handlers.table import SUPPORTED
from pykbroker.metadata.features import CURRENT
from pykbroker.releases.release import NAMES, NEWEST, Release, release
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import KafkaError

OURS = {api.key: api for api in SUPPORTED}


@pytest.mark.parametrize("name", NAMES)
def test_every_listed_version_is_served(name: str) -> None:
    for api in release(name).table:
        own = OURS[api.key]
        assert (api.handler, api.min_version, api.listed_from) == (own.handler, own.min_version, own.listed_from)
        assert own.min_version <= api.max_version <= own.max_version


def test_the_newest_is_the_broker_as_it_is() -> None:
    newest = release(NEWEST)
    assert newest == Release(NEWEST)
    assert (newest.table, newest.features, newest.places) == (SUPPORTED, CURRENT, {})


def test_an_unknown_release_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no Kafka '2\.7'.*2\.8, 3\.9, 4\.3"):
        release("2.7")


def test_what_came_later_is_absent() -> None:
    keys = {name: {api.key for api in release(name).table} for name in NAMES}
    assert ApiKey.CONSUMER_GROUP_HEARTBEAT not in keys["2.8"]
    assert ApiKey.DESCRIBE_TRANSACTIONS in keys["3.9"] - keys["2.8"]
    ends = {name: api.max_version for name in NAMES for api in release(name).table if api.key == ApiKey.END_TXN}
    assert {ApiKey.TXN_OFFSET_COMMIT: 5, ApiKey.API_VERSIONS: 4}.items() <= {
        api.key: api.max_version for api in release("4.3").table
    }.items()
    assert ends == {"2.8": 3, "3.9": 4, "4.3": 5, "4.4": 5}  # 5 is transactions' second protocol


@pytest.mark.parametrize("name", NAMES)
def test_a_new_cluster_begins_within_what_is_registered(name: str) -> None:
    features = release(name).features
    assert all(
        features.ranges[each][0] <= level <= features.ranges[each][1] for each, level in features.bootstrap.items()
    )


# ---- settings


def test_a_setting_of_then_is_known_and_one_of_today_is_not() -> None:
    given = {"log.message.format.version": "2.8-IV1", "group.consumer.session.timeout.ms": "50000"}
    assert BrokerConfig(given, release("2.8").definitions).unknown == ("group.consumer.session.timeout.ms",)
    assert BrokerConfig(given).unknown == ("log.message.format.version",)


def test_settings_of_4_4_are_not_known_before() -> None:
    later = ("errors.deadletterqueue.topic.name.prefix", "max.decompressed.message.bytes", "log.remote.copy.lag.ms")
    for name in NAMES[:-1]:
        settings = release(name).definitions
        config = BrokerConfig(dict.fromkeys(later, "5"), settings)
        assert config.unknown == later, name
        assert not {"errors.deadletterqueue.group.enable", "remote.copy.lag.ms"} & settings.topics.keys()
        assert "errors.deadletterqueue.topic.name" not in settings.groups or name in ("2.8", "3.9")


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("consumer.session.timeout.ms", "1", "greater than or equal to group.consumer.min.session.timeout.ms"),
        ("consumer.heartbeat.interval.ms", "15001", "less than or equal to group.consumer.max.heartbeat.interval.ms"),
        ("share.delivery.count.limit", "11", "less than or equal to group.share.max.delivery.count.limit"),
        ("streams.num.standby.replicas", "3", "less than or equal to group.streams.max.standby.replicas"),
    ],
)
def test_a_groups_setting_out_of_bounds_was_refused_with_the_bounds_name(setting: str, value: str, words: str) -> None:
    """As Apache Kafka 4.3.1 answers; 4.4 has the values of the bounds."""
    config = BrokerConfig({}, release("4.3").definitions)
    with pytest.raises(KafkaError) as refused:
        check_group_configs(config, {setting: value})
    assert refused.value.message == f"{setting} must be {words}"


def test_the_key_of_delegation_tokens_had_another_name() -> None:
    given = {"delegation.token.master.key": "old"}
    assert BrokerConfig(given, release("3.9").definitions)["delegation.token.secret.key"] == "old"
    both = given | {"delegation.token.secret.key": "new"}
    assert BrokerConfig(both, release("2.8").definitions)["delegation.token.secret.key"] == "new"
    now = BrokerConfig(given)
    assert (now["delegation.token.secret.key"], now.unknown) == (None, ("delegation.token.master.key",))


def test_defaults_are_those_of_then() -> None:
    then, now = BrokerConfig({}, release("3.9").definitions), BrokerConfig({})
    assert (then["num.recovery.threads.per.data.dir"], now["num.recovery.threads.per.data.dir"]) == (1, 2)
    assert then.topic_defaults()["message.timestamp.after.max.ms"] == 2**63 - 1
    assert now.topic_defaults()["message.timestamp.after.max.ms"] == 3_600_000


def test_what_2_8_did_not_have_holds_beneath_as_if_it_were_not_there() -> None:
    config = BrokerConfig({}, release("2.8").definitions)
    assert config.topic_defaults()["message.timestamp.after.max.ms"] == 2**63 - 1
    assert config["transaction.partition.verification.enable"] is False


def test_settings_of_a_topic_are_checked_by_the_rules_of_then() -> None:
    then, now = BrokerConfig({}, release("2.8").definitions), BrokerConfig({})
    check_topic_configs(then, {"segment.bytes": "1000", "message.format.version": "0.11.0"})
    with pytest.raises(KafkaError, match="at least 1048576"):
        check_topic_configs(now, {"segment.bytes": "1000"})
    with pytest.raises(KafkaError, match=r"Unknown topic config name: message\.timestamp\.after\.max\.ms"):
        check_topic_configs(then, {"message.timestamp.after.max.ms": "1"})


def test_settings_survive_a_copy() -> None:
    definitions = release("2.8").definitions
    assert BrokerConfig({}, definitions).with_texts({"node.id": "7"}).definitions is definitions
