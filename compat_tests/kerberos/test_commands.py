"""Our own commands with a key table or a ticket."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.kerberos.brokers import LISTENERS, Listeners
from pykbroker.security.kerberos.login_module import LOGIN_MODULE
from pykbroker.tests.kit.kerberos import Realm, needs_kerberos

pytestmark = needs_kerberos


@pytest.mark.parametrize("listener", ["TICKETS", "ENCRYPTED"])
@pytest.mark.parametrize("by", ["a key table", "a ticket cache"])
def test_our_commands(realm: Realm, listeners: Listeners, tmp_path: Path, name, by: str, listener: str) -> None:
    jaas = realm.jaas(realm.principal("people"), "people")
    if by == "a ticket cache":
        jaas = f'{LOGIN_MODULE} required useTicketCache="true" ticketCache="{realm.ticket("visitor")}";'
    settings = {
        "bootstrap.servers": listeners.address(listener),
        "security.protocol": LISTENERS[listener],
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(listeners.authority),
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": jaas,
    }
    path, topic = tmp_path / "client.properties", name()
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    for words in (("create", topic), ("describe", topic)):
        command = [sys.executable, "-m", "pykbroker", "topics", *words, "--command-config", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    assert topic in done.stdout
