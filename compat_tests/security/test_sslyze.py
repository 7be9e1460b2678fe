"""sslyze, which tries what is known to be weak in TLS, finds nothing on a listener with default settings.

It has an environment of its own, for it wants another version of ``cryptography`` than we are tested with.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compat_tests.conftest import TARGET, takes_long
from compat_tests.security.listeners import Listeners
from scripts.jars import ROOT

RELEASE = "6.3.1"
PLACE = ROOT / "build" / f"sslyze-{RELEASE}"
#: Commands of sslyze that have one word of result each, where it is in it, and what it must be.
SOUND = {
    "heartbleed": ("is_vulnerable_to_heartbleed", False),
    "openssl_ccs_injection": ("is_vulnerable_to_ccs_injection", False),
    "tls_compression": ("supports_compression", False),
    "tls_fallback_scsv": ("supports_fallback_scsv", True),
    "tls_extended_master_secret": ("supports_ems_extension", True),
    "robot": ("robot_result", "NOT_VULNERABLE_RSA_NOT_SUPPORTED"),
}
OPENSSL = shutil.which("openssl")
VERSIONS = ["ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1", "tls_1_2", "tls_1_3"]


@pytest.fixture(scope="module")
def sslyze() -> Path:
    """Its Python."""
    python = PLACE / "bin" / "python"
    if not (PLACE / "bin" / "sslyze").exists():
        subprocess.run([sys.executable, "-m", "venv", str(PLACE)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"sslyze=={RELEASE}"], check=True)
    return python


@pytest.fixture(scope="module", params=["SSL", "SASL_SSL"])
def found(request: pytest.FixtureRequest, sslyze: Path, secured: Listeners) -> dict[str, Any]:
    """What it found at a listener, by command."""
    report = PLACE / "report.json"
    address = f"localhost:{secured.ports[request.param]}"
    ca = str(secured.files.authority)
    command = [str(sslyze), "-m", "sslyze", "--certinfo_ca_file", ca, "--json_out", str(report), address]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # its status is about Mozilla's public authorities
    (result,) = json.loads(report.read_text())["server_scan_results"]
    attempts = result["scan_result"]
    assert {attempt["status"] for attempt in attempts.values() if attempt} <= {"COMPLETED", "NOT_SCHEDULED"}
    return {name: attempt["result"] for name, attempt in attempts.items() if attempt}


@pytest.mark.skipif(OPENSSL is None, reason="not installed: apt-get install openssl")
@pytest.mark.parametrize("listener", ["SSL", "SASL_SSL"])
def test_no_ticket_is_good_for_early_data(secured: Listeners, listener: str) -> None:
    """sslyze can ask only those who speak HTTP; a client of OpenSSL shows the tickets that it gets. Its output is not held back
    in a buffer, which it would write when the connection ends.
    """
    shows_tickets = [str(OPENSSL), "s_client", "-connect", secured.address(listener), "-tls1_3"]
    command = ["stdbuf", "--output=0", *shows_tickets]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as client:
        assert client.stdout is not None
        said = next((line.strip() for line in client.stdout if "Max Early Data" in line), "no ticket")
        client.kill()
    assert said == "Max Early Data: 0"


@takes_long
@pytest.mark.parametrize("command", SOUND)
def test_attack(found: dict[str, Any], command: str) -> None:
    name, wanted = SOUND[command]
    assert found[command][name] == wanted


@takes_long
def test_renegotiation_by_clients_is_refused(found: dict[str, Any]) -> None:
    assert not found["session_renegotiation"]["is_vulnerable_to_client_renegotiation_dos"]
    assert found["session_renegotiation"]["supports_secure_renegotiation"]


@takes_long
def test_suites_have_forward_secrecy_and_are_authenticated_encryption(found: dict[str, Any]) -> None:
    accepted = {
        version: {each["cipher_suite"]["name"] for each in found[f"{version}_cipher_suites"]["accepted_cipher_suites"]}
        for version in VERSIONS
    }
    assert [version for version, suites in accepted.items() if suites] == ["tls_1_2", "tls_1_3"]
    if TARGET == "pykbroker":  # Apache Kafka's Java offers CBC as well
        assert all("_GCM_" in name or "_CHACHA20_" in name for name in accepted["tls_1_2"] | accepted["tls_1_3"])
    assert all(name.startswith("TLS_ECDHE_") for name in accepted["tls_1_2"])


@takes_long
def test_the_certificate_is_believed_by_the_strict(found: dict[str, Any]) -> None:
    (own, *_) = found["certificate_info"]["certificate_deployments"]
    by_store = {
        each["trust_store"]["name"]: each["was_validation_successful"] for each in own["path_validation_results"]
    }
    assert by_store["Supplied CA file"]
    assert own["received_chain_has_valid_order"]
