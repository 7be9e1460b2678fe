"""Our tables of settings, and how texts are read, against Kafka's own classes (ConfigDef, java.util.Properties).

One JVM prints all definitions and reads thousands of values. Nothing is skipped but classes, which cannot be looked for
here, and passwords, which Kafka prints hidden.
"""

from __future__ import annotations

import base64
import itertools
import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from compat_tests.harness.java import compile_java, java_command
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.config.definitions.groups import GROUP_SETTINGS
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.config.setting import REQUIRED, ConfigError, Type, value_text
from pykbroker.storage.properties import load, parse_properties

TABLES = {
    table: {name: setting for name, setting in settings.items() if not setting.is_own}
    for table, settings in (
        ("broker", BROKER_SETTINGS),
        ("topic", TOPIC_SETTINGS),
        ("group", GROUP_SETTINGS),
    )
}

# Near every limit, and in every shape of text that some type takes or refuses.
TEXTS = [
    *("", " ", ",", "a", "a,b", "a,a", " a , b ", "a,", "*", "0:1", "0:1,2:3", "a:b", "true", " TRUE ", "no"),
    *("0", "1", "-1", "-2", "-3", "+5", " 7 ", "1_0", "0x10", "1.5", "1e-1", ".5", "5.", "NaN", "Infinity", "1f"),
    *("2", "3", "4", "5", "9", "10", "17", "18", "22", "23", "25", "26", "99", "100", "500", "501", "1000", "1001"),
    *("1023", "1024", "32767", "32768", "65536", "524287", "524288", "1048575", "1048576", "8388608", "99999999"),
    *("2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
    *("gzip", "GZIP", "uncompressed", "delete", "compact,delete", "DELETE", "CreateTime", "LogAppendTime"),
    *("broker", "broker,controller", "classic,consumer", "PLAINTEXT", "SASL_SSL", "required", "requested", "none"),
    *("upgrade", "Bidirectional", "es256", "read_committed", "latest", "earliest", "by_duration:PT1H", "by_duration:P"),
    *("PLAINTEXT://:9092", "1@localhost:99", "x@localhost:99", "1@localhost", "localhost:99", "localhost"),
]

VALUES = [
    (table, name, text)
    for table, settings in TABLES.items()
    for name, setting in settings.items()
    if setting.type not in (Type.CLASS, Type.PASSWORD)
    for text in TEXTS
]


def _properties_texts() -> list[str]:
    """Short texts of the characters that mean something in a .properties file, the same in every run."""
    rng = random.Random(7)
    letters = "ab=: \\\n\r\t#!n"
    texts = ["".join(rng.choices(letters, k=rng.randrange(2, 16))) for _ in range(4000)]
    # A line of nothing but a backslash makes an entry without a name in Java, or none, depending on what follows.
    return [text for text in texts if not any(not line.strip(" \t\\") for line in text.replace("\r", "\n").split("\n"))]


#: Bytes of files: every byte, escapes, pairs of surrogates, and UTF-8, which is read as what it is not.
FILES = [
    bytes(range(0xA0, 0x100)).join([b"a=", b"\n"]),
    b"a=\\u00fc\\u20ac \\ud83d\\ude00\nb=\xc3\xbc\n",
    "\\u00fc=\u00e9".encode("iso-8859-1"),
]

_COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "IN://localhost:9092,OUT://localhost:9094,CONTROLLER://localhost:9093",
    "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT,ELSEWHERE:PLAINTEXT",
}
_BY_NAME = "inter.broker.listener.name"
_BY_PROTOCOL = "security.inter.broker.protocol"
_BY_MECHANISM = "sasl.mechanism.inter.broker.protocol"
_OUT = "listener.name.out.sasl.enabled.mechanisms"
#: What is set beside _COMBINED about brokers among themselves, and part of what we say where it is refused.
TOGETHER: list[tuple[dict[str, str], str | None]] = [
    ({_BY_NAME: "IN"}, None),
    ({_BY_NAME: "in"}, None),
    ({_BY_NAME: "IN", _BY_PROTOCOL: "PLAINTEXT"}, "only one may be"),
    ({_BY_NAME: "NOWHERE"}, "does not name"),
    ({_BY_NAME: "ELSEWHERE"}, "no advertised listener of that name"),
    ({_BY_NAME: "CONTROLLER"}, "no advertised listener of that name"),
    ({_BY_NAME: "IN", "advertised.listeners": "OUT://localhost:9094"}, "no advertised listener of that name"),
    ({_BY_PROTOCOL: "PLAINTEXT"}, "does not name"),
    ({_BY_PROTOCOL: "PLAINTEXT", "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
      "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"}, None),
    ({_BY_NAME: "OUT"}, None),
    ({_BY_NAME: "OUT", _BY_MECHANISM: "PLAIN"}, "sasl.mechanism.inter.broker.protocol is PLAIN"),
    ({_BY_NAME: "OUT", _OUT: "PLAIN"}, "sasl.mechanism.inter.broker.protocol is GSSAPI"),
    ({_BY_NAME: "OUT", _OUT: "PLAIN,SCRAM-SHA-256", _BY_MECHANISM: "SCRAM-SHA-256"}, None),
    ({_BY_NAME: "IN", _OUT: "PLAIN"}, None),
    ({_BY_NAME: "OUT", "sasl.enabled.mechanisms": "PLAIN", _BY_MECHANISM: "PLAIN"}, None),
]  # fmt: skip

#: Bounds of groups that do not hold, each set alone or with what it is to be compared with.
GROUPS: list[dict[str, str]] = [
    *(
        {f"group.{kind}.{name}": value}
        for kind in ("consumer", "share", "streams")
        for name, value in (
            ("heartbeat.interval.ms", "4999"),
            ("heartbeat.interval.ms", "15001"),
            ("session.timeout.ms", "44999"),
            ("session.timeout.ms", "60001"),
            ("max.heartbeat.interval.ms", "4000"),
            ("min.heartbeat.interval.ms", "16000"),
            ("max.session.timeout.ms", "44000"),
            ("min.session.timeout.ms", "61000"),
            ("assignment.interval.ms", "15001"),
            ("max.assignment.interval.ms", "999"),
            ("min.assignment.interval.ms", "1001"),
        )
    ),
    *(
        {f"group.{kind}.min.session.timeout.ms": "1000", f"group.{kind}.session.timeout.ms": "5000"}
        for kind in ("consumer", "share", "streams")
    ),
    *({"group.streams.num.standby.replicas": value} for value in ("2", "3")),
    *({"group.streams.num.warmup.replicas": value} for value in ("20", "21", "1000")),
    *({"group.streams.task.offset.interval.ms": value} for value in ("0", "14999", "15000")),
    {"group.share.delivery.count.limit": "10", "group.share.max.delivery.count.limit": "9"},
    {"group.share.min.delivery.count.limit": "6"},
    {"group.share.delivery.count.limit": "2", "group.share.min.delivery.count.limit": "3"},
    *({"group.share.partition.max.record.locks": value} for value in ("100", "4001", "10000")),
    {"group.share.min.partition.max.record.locks": "2001"},
    *({"group.share.record.lock.duration.ms": value} for value in ("1000", "14999", "60000", "60001")),
    {"group.share.max.share.sessions": "199"},
    {"group.share.max.size": "1000", "group.share.max.share.sessions": "1000"},
    {"group.share.assignors": "simple,simple"},
    {"group.share.assignors": ""},
]


@pytest.fixture(scope="module")
def kafkas() -> dict:
    """What Kafka says: its definitions by table, the values, the properties."""
    source = Path(__file__).with_name("KafkaSettings.java")
    classes = compile_java([source], "kafka")
    files = [base64.b64encode(each).decode() for each in FILES]
    together = [{**_COMBINED, **more} for more, _ in TOGETHER] + [
        {**_COMBINED, _BY_NAME: "IN", **more} for more in GROUPS
    ]
    asked = json.dumps({"values": VALUES, "properties": _properties_texts(), "files": files, "together": together})
    command = java_command("KafkaSettings", "kafka", classes=classes)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("table", TABLES)
def test_definitions(kafkas, table):
    ours = [
        [
            setting.name,
            setting.type.name,
            setting.default is REQUIRED,
            None if setting.default is REQUIRED else value_text(setting.default),
            setting.importance.name,
            setting.update.value if table == "broker" else None,
            setting.internal,
        ]
        for setting in TABLES[table].values()
    ]
    theirs = [[*each[:5], each[5] if table == "broker" else None, each[6]] for each in kafkas[table]]
    if table == "broker":  # ours are in another order, by subject
        assert sorted(ours) == sorted(theirs)
    else:
        assert ours == theirs


def test_values_are_taken_and_refused_alike(kafkas):
    different = []
    for (table, name, text), theirs in zip(VALUES, kafkas["parsed"], strict=True):
        try:
            ours = [True, value_text(TABLES[table][name].parse(text))]
        except ConfigError as refused:
            ours = [False, str(refused)]
        if ours != theirs:
            different.append((name, text, ours, theirs))
    assert different == []


def test_properties_are_read_alike(kafkas):
    texts = _properties_texts()
    different = [
        (text, ours, theirs)
        for text, theirs in zip(texts, kafkas["properties"], strict=True)
        if (ours := parse_properties(text)) != theirs
    ]
    assert list(itertools.islice(different, 5)) == []


def test_files_are_read_alike(kafkas, tmp_path):
    for content, theirs in zip(FILES, kafkas["files"], strict=True):
        file = tmp_path / "server.properties"
        file.write_bytes(content)
        assert load(file) == theirs


def test_settings_of_brokers_among_themselves_are_refused_alike(kafkas):
    for (more, said), theirs in zip(TOGETHER, kafkas["together"], strict=False):
        assert (theirs is not None) == (said is not None), (more, theirs)
        if said is None:
            BrokerConfig({**_COMBINED, **more})
        else:
            with pytest.raises(ConfigError, match=re.escape(said)):
                BrokerConfig({**_COMBINED, **more})


@pytest.mark.parametrize("number", range(len(GROUPS)), ids=lambda number: " ".join(GROUPS[number]))
def test_bounds_of_groups_are_refused_alike(kafkas, number):
    try:
        BrokerConfig({**_COMBINED, _BY_NAME: "IN", **GROUPS[number]})
    except ConfigError as error:
        ours = str(error)
    else:
        ours = None
    assert ours == kafkas["together"][len(TOGETHER) + number]
