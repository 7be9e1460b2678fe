"""franz-go's own integration tests, from its Go module: those of pkg/kgo that talk to a broker.

They produce, consume through chains of groups whose members come and go (classic and KIP-848, with every balancer,
static members too), and do the same exactly once in transactions: once as they are, once over TLS with a certificate for
each client. Skipped where Go is not installed.

The suite's own count of records is half a million per topic; ``KGO_TEST_RECORDS=500000 pytest compat_tests/suites/franz_go``
runs it in full. Most of its time it waits, so that more records would mostly prove the machine.
"""

from __future__ import annotations

import os
import re

import pytest

from compat_tests.harness.client_suites import UNPACKED, Excuses, check
from compat_tests.harness.go_cases import GO
from compat_tests.harness.go_tests import broker_tests, module_folder, run_tests
from compat_tests.security.listeners import Files
from compat_tests.security.users import SCRAM_USERS, add_users
from compat_tests.suites.conftest import StartSecured

pytestmark = pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)")

MODULE, VERSION = "github.com/twmb/franz-go", "v1.22.3"
RECORDS = "20000"
LIMIT_S = 900

#: What those tests call that have something to do with a broker.
_ASKS_A_BROKER = re.compile(
    r"\b(newTestClient|testClientOpts|getSeedBrokers|tmp\w*Topic\w*|tmpGroup|adm)\(|\bscramSeeds\b"
)

_ALWAYS = {
    "TestIssueProduceBrokerTooOldFailsRecords": "wants a broker that refuses Produce v2; Apache Kafka 4.4.0 skips it, too",
}
_WITHOUT_TLS = {
    "TestIssue769": "crashes before it asks a broker: it sets a dialer, which franz-go refuses together with TLS"
}
#: Consumers of its chain of share groups end with records in hand, or give all back, and the test waits for every record: one is delivered
#: four times beside Apache Kafka, five times here, in one of eight runs each, and by default never after the fifth.
_SETTINGS = {"group.share.delivery.count.limit": "10"}


@pytest.mark.parametrize("listener", ["PLAINTEXT", "MUTUAL"])
def test_suite(start_secured: StartSecured, subtests: pytest.Subtests, listener: str) -> None:
    package = module_folder(MODULE, VERSION, UNPACKED) / "pkg" / "kgo"
    listeners = start_secured(_SETTINGS)
    add_users(listeners.address("PLAINTEXT"))
    environment = {
        **(_with_certificates(listeners.files) if listener == "MUTUAL" else {}),
        "KGO_SEEDS": listeners.address(listener),
        "KGO_TEST_SCRAM": f"bob:{SCRAM_USERS['bob']}",
        "KGO_TEST_SCRAM_SEEDS": listeners.address("SASL_PLAINTEXT"),
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": os.environ.get("KGO_TEST_RECORDS", RECORDS),
        "KGO_TEST_UNSAFE": "1",
        "KGO_LOG_LEVEL": "none",
    }
    without = _WITHOUT_TLS if listener == "MUTUAL" else {}
    tests = broker_tests(package, _ASKS_A_BROKER)
    cases = run_tests(package, tests, environment, LIMIT_S, left_out=list(without))
    check(cases, Excuses({**_ALWAYS, **without}), subtests)


def _with_certificates(files: Files) -> dict[str, str]:
    """Every connection of the suite is over TLS then, with a certificate of its own."""
    return {"KGO_TEST_TLS": f"ca:{files.authority},cert:{files.alice},key:{files.alice}"}
