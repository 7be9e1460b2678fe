"""franz-go's own integration tests, from its Go module: those of pkg/kgo that talk to a broker.

They produce, consume through chains of groups whose members come and go (classic and KIP-848, with every balancer,
static members too), and do the same exactly once in transactions. Skipped where Go is not installed.

The suite's own count of records is half a million per topic; ``KGO_TEST_RECORDS=500000 pytest compat_tests/suites/franz_go``
runs it in full. Most of its time it waits, so that more records would mostly prove the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest

from compat_tests.conftest import TARGET
from compat_tests.harness.client_suites import UNPACKED, Excuses, check
from compat_tests.harness.go_cases import GO
from compat_tests.harness.go_tests import broker_tests, module_folder, run_tests
from compat_tests.harness.process import BrokerProcess, free_ports
from compat_tests.security.users import SCRAM_USERS, add_users

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")

MODULE, VERSION = "github.com/twmb/franz-go", "v1.22.2"
RECORDS = "20000"
LIMIT_S = 900

#: What those tests call that have something to do with a broker.
_ASKS_A_BROKER = re.compile(
    r"\b(newTestClient|testClientOpts|getSeedBrokers|tmp\w*Topic\w*|tmpGroup|adm)\(|\bscramSeeds\b"
)

_ALWAYS = {
    "TestIssueProduceBrokerTooOldFailsRecords": "wants a broker that refuses Produce v2; Apache Kafka 4.3.1 skips it, too",
}
_OURS = {
    "TestShareGroup|TestShareGroup(ETL|AckOnClose|OffsetsAdmin)|TestConsumeRegexShareSkipsInternal": (
        "share groups are not served yet"
    ),
}


_THEIRS = {"TestSCRAMAuth|TestSCRAMAuthBadCredentials": "the harness gives Apache Kafka no listener for it here"}
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def _with_scram() -> tuple[dict[str, str], dict[str, str]]:
    """Settings for a listener with SCRAM beside the plain one, and what tells the suite of it."""
    plain, scram = free_ports(2)
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SCRAM://127.0.0.1:{scram}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT",
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.scram.scram-sha-256.sasl.jaas.config": _SCRAM,
    }
    return settings, {"KGO_TEST_SCRAM": f"bob:{SCRAM_USERS['bob']}", "KGO_TEST_SCRAM_SEEDS": f"127.0.0.1:{scram}"}


def test_suite(start_target: Callable[..., BrokerProcess], subtests: pytest.Subtests) -> None:
    package = module_folder(MODULE, VERSION, UNPACKED) / "pkg" / "kgo"
    settings, of_scram = _with_scram() if TARGET == "pykbroker" else ({}, {})
    broker = start_target(settings)
    add_users(broker.bootstrap)
    environment = {
        **of_scram,
        "KGO_SEEDS": broker.bootstrap,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": os.environ.get("KGO_TEST_RECORDS", RECORDS),
        "KGO_TEST_UNSAFE": "1",
        "KGO_LOG_LEVEL": "none",
    }
    cases = run_tests(package, broker_tests(package, _ASKS_A_BROKER), environment, LIMIT_S)
    check(cases, Excuses({**_ALWAYS, **(_OURS if TARGET == "pykbroker" else _THEIRS)}), subtests)
