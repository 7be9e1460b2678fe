"""kafka-go's own tests (segmentio), from its Go module: the client, signing in, codecs, and its listing of topics.

They talk to localhost:9092, whatever the environment says; so they run in a copy that names the broker under test.
Skipped where Go is not installed.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from compat_tests.conftest import TARGET
from compat_tests.harness.client_suites import UNPACKED, Excuses, check
from compat_tests.harness.go_cases import GO
from compat_tests.harness.go_tests import module_copy, run_tests
from compat_tests.security.listeners import Listeners
from compat_tests.security.users import add_users
from compat_tests.suites.conftest import StartSecured

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")

MODULE, VERSION = "github.com/segmentio/kafka-go", "v0.4.51"
#: Names and passwords are the suite's.
USERS = 'username="adminplain" password="admin-secret" user_adminplain="admin-secret"'
SCRAM_USERS = {"adminscram256": "admin-secret-256", "adminscram512": "admin-secret-512"}
SETTINGS = {
    "message.max.bytes": "200000000",
    "group.initial.rebalance.delay.ms": "0",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required {USERS};"
    ),
}
LIMIT_S = 800

_ADDRESS = re.compile(r'(?<=")(localhost|127\.0\.0\.1):9092(?=")')
_SIGNED_IN = re.compile(r'(?<=")(localhost|127\.0\.0\.1):9093(?=")')
_BARE = re.compile(r'TCP\("localhost"\)')
_PORT = re.compile(r"(?<=Port: )9092\b|(?<=Port != )9092\b")
#: About the form of addresses alone.
_NO_BROKER = "address_test.go"

_CRASHES = "crashes before it asks a broker: it calls a function of the client that it has not set"
_LATE = "fails as often against Apache Kafka: its ten seconds are over before its group has settled"
_FOLLOWS = "fails now and then against Apache Kafka, whose metadata follows a moment later"
_LEFT_OUT = {
    "TestConn/nettest": "the suite says itself that it fails with Apache Kafka from 2.3.1 on",
    "TestConn/test_delete_topics": _FOLLOWS,
    "TestConn/test_delete_topics_with_an_invalid_topic": _FOLLOWS,
    "TestConsumerGroupWithGroupTopicsMultiple": _LATE,
    "TestConsumerGroupWithGroupTopicsSingle": _LATE,
    "TestConsumerGroupWithTopic": _LATE,
    "TestDialerResolver": "dials port 9092, which the client adds",
    "TestReaderReadCompactedMessage": "wants a setting that Apache Kafka 4 refuses",
    "TestRebalanceTooManyConsumers": _LATE,
}
_GROUPS = {
    "TestReaderConsumerGroup/consumer_group_commits_on_close": _CRASHES,
    "TestReaderConsumerGroup/consumer_group_rebalance": "the suite says itself that it may fail: a reader may be late",
    "TestReaderConsumerGroup/verify_offset_committed": _CRASHES,
    "TestReaderConsumerGroup/verify_offset_committed_when_using_interval_committer": _CRASHES,
}
if TARGET == "kafka":
    _LEFT_OUT["TestClient/retrieve_committed_offsets_for_a_consumer_group_and_topic"] = (
        "writes without acknowledgements to partitions that Apache Kafka does not lead yet, so that records are lost"
    )
    _LEFT_OUT["TestClientElectLeaders"] = "its time is over before Apache Kafka has elected, on a small machine"
    _LEFT_OUT |= dict.fromkeys(
        ("TestClientAlterConfigs", "TestClientDescribeACLs", "TestDescribeUserScramCredentials"), _FOLLOWS
    )
if os.environ.get("KAFKA_GO_TEST_GROUPS"):
    _LEFT_OUT |= _GROUPS
else:
    _LEFT_OUT["TestReaderConsumerGroup"] = "takes a minute, most of it waiting; KAFKA_GO_TEST_GROUPS=1 runs it"
_ALWAYS = {
    **_LEFT_OUT,
    "TestClient(InitProducerId|AddPartitionsToTxn|AddOffsetsToTxn|TxnOffsetCommit)": "the suite skips it for Apache Kafka from 3.0 on",
    "TestConsumerGroupWithMissingTopic|TestReadTruncatedMessages": "the suite skips it always",
}


def _with_addresses(listeners: Listeners) -> Path:
    """The module, its tests talking to these ports of localhost."""
    plain, signed_in = listeners.ports["PLAINTEXT"], listeners.ports["SASL_PLAINTEXT"]
    folder = module_copy(MODULE, VERSION, UNPACKED)
    for file in folder.rglob("*_test.go"):
        if file.name != _NO_BROKER:
            text = _SIGNED_IN.sub(rf"\1:{signed_in}", _ADDRESS.sub(rf"\1:{plain}", file.read_text()))
            file.write_text(_PORT.sub(str(plain), _BARE.sub(f'TCP("localhost:{plain}")', text)))
    # Go no longer takes the short form of the language's version that its go.mod has.
    subprocess.run([str(GO), "mod", "edit", "-go=1.23.0"], cwd=folder, check=True)
    return folder


def test_suite(start_secured: StartSecured, subtests: pytest.Subtests) -> None:
    listeners = start_secured(SETTINGS, "localhost")
    add_users(listeners.address("PLAINTEXT"), SCRAM_USERS)
    cases = run_tests(
        _with_addresses(listeners),
        [r"Test\w+"],
        {"KAFKA_VERSION": "4.3.1"},
        LIMIT_S,
        left_out=list(_LEFT_OUT),
        packages=(".", "./compress", "./sasl", "./topics"),
    )
    check(cases, Excuses(_ALWAYS), subtests)
