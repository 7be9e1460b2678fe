"""Texts to values and back. Expected values and messages are those of Kafka's ConfigDef."""

import math

import pytest

from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.config.definitions.client_metrics import CLIENT_METRICS_SETTINGS
from pykbroker.config.definitions.groups import GROUP_SETTINGS
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.config.setting import REQUIRED, ConfigError, Type, value_text

EVERY_SETTING = [
    setting
    for settings in (BROKER_SETTINGS, TOPIC_SETTINGS, GROUP_SETTINGS, CLIENT_METRICS_SETTINGS)
    for setting in settings.values()
]

GOOD = [
    ("retention.ms", " 5 ", 5),
    ("retention.ms", "+5", 5),
    ("retention.ms", "\u0663", 3),
    ("retention.ms", "9223372036854775807", 2**63 - 1),
    ("min.cleanable.dirty.ratio", "1e-1", 0.1),
    ("min.cleanable.dirty.ratio", ".5", 0.5),
    ("min.cleanable.dirty.ratio", "0.5f", 0.5),
    ("preallocate", " TRUE ", True),
    ("preallocate", "False", False),
    ("cleanup.policy", " delete , compact ", ("delete", "compact")),
    ("cleanup.policy", "delete,delete", ("delete",)),
    ("cleanup.policy", "", ()),
    ("compression.type", " gzip ", "gzip"),
    ("compression.gzip.level", "-1", -1),
    ("leader.replication.throttled.replicas", "*", ("*",)),
    ("leader.replication.throttled.replicas", "0:1,2:3", ("0:1", "2:3")),
]

_PAIRS = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
BAD = [
    ("retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    ("retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG"),
    ("retention.ms", "1_0", "Invalid value 1_0 for configuration retention.ms: Not a number of type LONG"),
    ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
    ("retention.ms", None, "Invalid value null for configuration retention.ms: Value must be non-null"),
    (
        "segment.bytes",
        "99999999999",
        "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT",
    ),
    ("segment.bytes", "5", "Invalid value 5 for configuration segment.bytes: Value must be at least 1048576"),
    (
        "min.cleanable.dirty.ratio",
        "2",
        "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
    ),
    (
        "preallocate",
        "yes",
        "Invalid value yes for configuration preallocate: Expected value to be either true or false",
    ),
    (
        "cleanup.policy",
        "delete,foo",
        "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
    ),
    ("cleanup.policy", "delete,", "Configuration 'cleanup.policy' values must not be empty."),
    (
        "compression.type",
        "GZIP",
        (
            "Invalid value GZIP for configuration compression.type: "
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"
        ),
    ),
    (
        "compression.gzip.level",
        "0",
        "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
    ),
    (
        "leader.replication.throttled.replicas",
        "*,0:1",
        "Invalid value [*, 0:1] for configuration leader.replication.throttled.replicas: "
        "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
        + _PAIRS,
    ),
]


@pytest.mark.parametrize(("name", "text", "value"), GOOD)
def test_parses(name, text, value):
    assert TOPIC_SETTINGS[name].parse(text) == value


def test_numbers_of_any_length():
    """int() refuses thousands of digits in words of its own; Java's integers take any zeros before a number."""
    retention = TOPIC_SETTINGS["retention.ms"]
    assert retention.parse("0" * 5000 + "7") == 7
    with pytest.raises(ConfigError, match="Not a number of type LONG"):
        retention.parse("9" * 5000)


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_refuses_in_kafkas_words(name, text, message):
    with pytest.raises(ConfigError) as refused:
        TOPIC_SETTINGS[name].parse(text)
    assert str(refused.value) == message


@pytest.mark.parametrize("setting", EVERY_SETTING, ids=lambda setting: setting.name)
def test_a_default_is_a_value_that_its_text_gives_back(setting):
    if setting.default not in (None, REQUIRED):
        assert setting.parse(value_text(setting.default)) == setting.default


def test_only_passwords_are_secret():
    secret = {setting.name for setting in EVERY_SETTING if setting.sensitive}
    assert "ssl.keystore.password" in secret
    assert secret == {setting.name for setting in EVERY_SETTING if setting.type is Type.PASSWORD}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (0.5, "0.5"),
        (2.0, "2.0"),
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (99999999.0, "9.9999999E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-1.25e-9, "-1.25E-9"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (("a", "b"), "a,b"),
        ((), ""),
        (None, None),
    ],
)
def test_values_are_written_as_java_writes_them(value, text):
    assert value_text(value) == text
