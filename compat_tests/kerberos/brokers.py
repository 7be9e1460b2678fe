"""Brokers that are services of a realm: the settings that Apache Kafka and pykbroker take alike."""

from __future__ import annotations

import time
from pathlib import Path

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.security.listeners import FAILED_DELAY_MS, SESSION_MS, properties_value
from pykbroker.security.authority import Authority
from pykbroker.tests.kit.kerberos import Realm
from pykbroker.tests.kit.ports import free_ports

#: With their protocols. PLAINTEXT is the harness's own. On RULES nobody is anybody but services, whose names are made long; on
#: LONG and SHORT sessions end.
LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "TICKETS": "SASL_PLAINTEXT",
    "ENCRYPTED": "SASL_SSL",
    "RULES": "SASL_PLAINTEXT",
    "LONG": "SASL_PLAINTEXT",
    "SHORT": "SASL_PLAINTEXT",
}
#: Those that tickets are for.
_WITH_TICKETS = [name for name in LISTENERS if name != "PLAINTEXT"]


class Listeners:
    """Ports and settings of one broker. Clients know it as localhost, which its principal and its certificate name."""

    def __init__(self, realm: Realm) -> None:
        self.realm = realm
        self.ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        now = time.time_ns() // 1_000_000
        authority = Authority("Test CA", now)
        folder = realm.folder / f"tls-{self.ports['ENCRYPTED']}"
        folder.mkdir()
        #: The certificate of who issued the broker's, and the broker's with its key; in PEM.
        self.authority, self._broker = folder / "authority.pem", folder / "broker.pem"
        self.authority.write_text(authority.certificate)
        self._broker.write_text(authority.issue("localhost", now, hosts=["localhost"]).pem)

    def address(self, listener: str = "TICKETS") -> str:
        return f"localhost:{self.ports[listener]}"

    def at(self, host: str) -> str:
        return ",".join(f"{name}://{host}:{port}" for name, port in self.ports.items())

    @property
    def settings(self) -> dict[str, str]:
        protocols = {**LISTENERS, "CONTROLLER": "PLAINTEXT"}
        return {
            "advertised.listeners": self.at("localhost"),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "connection.failed.authentication.delay.ms": str(FAILED_DELAY_MS),
            "sasl.enabled.mechanisms": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "listener.name.rules.sasl.kerberos.principal.to.local.rules": "RULE:[2:$1-of-$2]/U",
            "listener.name.long.connections.max.reauth.ms": str(100 * SESSION_MS),
            "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
            "delegation.token.secret.key": "the key of tokens",
            "listener.name.encrypted.ssl.keystore.type": "PEM",
            "listener.name.encrypted.ssl.keystore.location": str(self._broker),
            **{f"listener.name.{name.lower()}.gssapi.sasl.jaas.config": self.realm.jaas() for name in _WITH_TICKETS},
        }


class KerberosKafka(ApacheKafka):
    """Apache Kafka with all of them."""

    def __init__(self, folder: Path, listeners: Listeners) -> None:
        flags = [*QUICK, "-Xmx700m", f"-Djava.security.krb5.conf={listeners.realm.environment['KRB5_CONFIG']}"]
        settings = {name: properties_value(value) for name, value in listeners.settings.items()}
        super().__init__(folder, settings, flags=flags)
        self._listeners = listeners
        self.port = listeners.ports["PLAINTEXT"]

    def _roles(self, controller: str) -> dict[str, str]:
        roles = super()._roles(controller)
        return {**roles, "listeners": f"{self._listeners.at('127.0.0.1')},CONTROLLER://{controller}"}


class KerberosPykbroker(Pykbroker):
    """pykbroker with all of them."""

    def __init__(self, folder: Path, listeners: Listeners) -> None:
        super().__init__(folder, {**listeners.settings, "listeners": listeners.at("127.0.0.1")})
        self.port = listeners.ports["PLAINTEXT"]


KINDS: dict[str, type[KerberosKafka | KerberosPykbroker]] = {"kafka": KerberosKafka, "pykbroker": KerberosPykbroker}


def broker(kind: str, folder: Path, listeners: Listeners) -> BrokerProcess:
    return KINDS[kind](folder / kind, listeners)
