"""kafka-go's own tests (segmentio), from its Go module: the client, its codecs and its listing of topics.

They talk to localhost:9092, whatever the environment says; so they run in a copy that names the broker under test.
Skipped where Go is not installed.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.conftest import TARGET
from compat_tests.harness.client_suites import UNPACKED, Excuses, check
from compat_tests.harness.go_cases import GO
from compat_tests.harness.go_tests import module_copy, run_tests
from compat_tests.harness.process import BrokerProcess, free_ports

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")

MODULE, VERSION = "github.com/segmentio/kafka-go", "v0.4.51"
SETTINGS = {"message.max.bytes": "200000000", "group.initial.rebalance.delay.ms": "0"}
LIMIT_S = 300

_ADDRESS = re.compile(r'(?<=")(localhost|127\.0\.0\.1):9092(?=")')
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
    "TestUnsupportedSASLMechanism": "wants a listener with SASL",
    "TestWriter/writing_a_message_with_SASL_Plain_authentication": "wants a listener with SASL",
}
_GROUPS = {
    "TestReaderConsumerGroup/consumer_group_commits_on_close": _CRASHES,
    "TestReaderConsumerGroup/consumer_group_rebalance": "the suite says itself that it may fail: a reader may be late",
    "TestReaderConsumerGroup/verify_offset_committed": _CRASHES,
    "TestReaderConsumerGroup/verify_offset_committed_when_using_interval_committer": _CRASHES,
}
if TARGET == "kafka":
    _LEFT_OUT["TestClientElectLeaders"] = "its time is over before Apache Kafka has elected, on a small machine"
    _LEFT_OUT["TestDescribeUserScramCredentials"] = _FOLLOWS
if os.environ.get("KAFKA_GO_TEST_GROUPS"):
    _LEFT_OUT |= _GROUPS
else:
    _LEFT_OUT["TestReaderConsumerGroup"] = "takes a minute, most of it waiting; KAFKA_GO_TEST_GROUPS=1 runs it"
_ALWAYS = {
    **_LEFT_OUT,
    "TestClient(InitProducerId|AddPartitionsToTxn|AddOffsetsToTxn|TxnOffsetCommit)": "the suite skips it for Apache Kafka from 3.0 on",
    "TestClient(Create|Delete|Describe)ACLs": "wants an authorizer",
    "TestConsumerGroupWithMissingTopic|TestReadTruncatedMessages": "the suite skips it always",
}


def _with_address(port: int) -> Path:
    """The module, its tests talking to this port of localhost."""
    folder = module_copy(MODULE, VERSION, UNPACKED)
    for file in folder.rglob("*_test.go"):
        if file.name != _NO_BROKER:
            text = _ADDRESS.sub(rf"\1:{port}", file.read_text())
            file.write_text(_PORT.sub(str(port), _BARE.sub(f'TCP("localhost:{port}")', text)))
    # Go no longer takes the short form of the language's version that its go.mod has.
    subprocess.run([str(GO), "mod", "edit", "-go=1.23.0"], cwd=folder, check=True)
    return folder


def test_suite(start_target: Callable[..., BrokerProcess], subtests: pytest.Subtests) -> None:
    (port,) = free_ports(1)
    start_target({**SETTINGS, "advertised.listeners": f"PLAINTEXT://localhost:{port}"}, port)
    cases = run_tests(
        _with_address(port),
        [r"Test\w+"],
        {"KAFKA_VERSION": "4.3.1"},
        LIMIT_S,
        left_out=list(_LEFT_OUT),
        packages=(".", "./compress", "./topics"),
    )
    check(cases, Excuses(_ALWAYS), subtests)
