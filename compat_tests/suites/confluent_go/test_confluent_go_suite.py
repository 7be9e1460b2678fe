"""confluent-kafka-go's own tests that ask a broker, from its Go module: librdkafka's clients in Go, and its admin's requests.

The library is linked into them, so that they need Go and a C compiler. They bring a client of Docker along and are long to
build, so they run where CONFLUENT_GO_TESTS=1 asks for them.
"""

from __future__ import annotations

import json
import os
import shutil

import pytest

from compat_tests.harness.client_suites import UNPACKED, Excuses, check
from compat_tests.harness.go_cases import GO
from compat_tests.harness.go_tests import module_copy, run_tests
from compat_tests.security.listeners import USERS
from compat_tests.suites.conftest import StartSecured

pytestmark = [
    pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(
        not os.environ.get("CONFLUENT_GO_TESTS"), reason="takes ten minutes: CONFLUENT_GO_TESTS=1 runs it"
    ),
]

MODULE, VERSION = "github.com/confluentinc/confluent-kafka-go/v2", "v2.11.1"
SETTINGS = {"num.partitions": "4"}
LIMIT_S = 900
_TESTS = r"Test(Integration|TransactionalProducer|TransactionalSendOffsets)"
_LEFT_OUT = {
    "TestTransactionalProducer": "calls the client's Flush(-1), which returns at once with what is not delivered yet"
}
_EXCUSES = {
    "classic": {},
    "consumer": {
        "TestIntegration/TestAdminClient_ListAndDescribeConsumerGroups": "the suite skips it for this protocol"
    },
}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_suite(start_secured: StartSecured, subtests: pytest.Subtests, protocol: str) -> None:
    listeners = start_secured(SETTINGS)
    package = module_copy(MODULE, VERSION, UNPACKED) / "kafka"
    settings = {
        "Brokers": listeners.address("PLAINTEXT"),
        "BrokersSasl": listeners.address("SASL_PLAINTEXT"),
        "SaslMechanism": "PLAIN",
        "SaslUsername": "alice",
        "SaslPassword": USERS["alice"],
        "TopicName": "test",
        "GroupID": "testgroup",
        "PerfMsgCount": 10_000,
    }
    (package / "testconf.json").write_text(json.dumps(settings))
    environment = {"TEST_CONSUMER_GROUP_PROTOCOL": protocol}
    cases = run_tests(package, [_TESTS], environment, LIMIT_S, left_out=list(_LEFT_OUT))
    check(cases, Excuses({**_LEFT_OUT, **_EXCUSES[protocol]}), subtests)
