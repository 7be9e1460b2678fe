"""TLS and SASL on the way to controllers and to other brokers, where an authorizer lets nobody but brokers do what brokers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import ServerFailed, ServerProcess
from compat_tests.quorum.member import Member, consume, create, log_of, produce, state
from compat_tests.security.listeners import Files, certificates
from compat_tests.security.tokens import Issuer
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import until_in_thread

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")


def settings(protocol: str, files: Files, *, password: str = "secret") -> dict[str, str]:
    """What every node of the cluster has; clients use the listener PLAINTEXT."""
    jaas = f'{_PLAIN} required username="broker" password="{password}" user_broker="secret";'
    stores = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.broker),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files.authority),
        "ssl.client.auth": "required" if protocol == "SSL" else "none",
    }
    return {
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,INTERNAL:{protocol},CONTROLLER:{protocol}",
        "inter.broker.listener.name": "INTERNAL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.internal.plain.sasl.jaas.config": jaas,
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:broker;User:CN=localhost",
        "allow.everyone.if.no.acl.found": "false",
        **({} if protocol == "SASL_PLAINTEXT" else stores),
    }


class SecuredNode(ApacheKafka):
    """Apache Kafka, controller and broker."""

    def __init__(self, folder: Path, protocol: str, files: Files) -> None:
        secured = settings(protocol, files)
        secured["super.users"] += ";User:ANONYMOUS"  # clients of the test
        super().__init__(folder, secured, standalone=True, flags=[*QUICK, "-Xmx300m"])
        self.port, self._between = free_ports(2)
        self.settings["advertised.listeners"] = f"PLAINTEXT://{self.bootstrap},INTERNAL://{self.host}:{self._between}"

    def _roles(self, controller: str) -> dict[str, str]:
        roles = super()._roles(controller)
        roles["listeners"] = f"{self.settings['advertised.listeners']},CONTROLLER://{controller}"
        return roles


class SecuredMember(Member):
    """Our broker."""

    def __init__(self, folder: Path, first: ApacheKafka, secured: dict[str, str]) -> None:
        super().__init__(folder, first, 4, {**secured, "super.users": f"{secured['super.users']};User:ANONYMOUS"})
        self.port, between = free_ports(2)
        self.settings["listeners"] = f"PLAINTEXT://{self.bootstrap},INTERNAL://{self.host}:{between}"


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return certificates(tmp_path, Issuer())


@pytest.fixture
def node(protocol: str, files: Files, tmp_path: Path) -> Iterator[SecuredNode]:
    node = SecuredNode(tmp_path / "java", protocol, files)
    node.start()
    yield node
    node.stop()


def test_a_broker_behind_tls_and_passwords(protocol: str, files: Files, node: SecuredNode, tmp_path: Path) -> None:
    member = SecuredMember(tmp_path / "ours", node, settings(protocol, files))
    member.start()
    topics = [create(member.bootstrap, replicas, min_insync_replicas="2") for replicas in ([1, 4], [4, 1])]
    for topic in topics:  # created by way of our broker, in an Envelope
        produce(node.bootstrap, topic, [b"secret"])
        until_in_thread(lambda topic=topic: log_of(node, topic) == log_of(member, topic))
        assert consume(member.bootstrap, topic, 1) == [b"secret"]
        assert state(member.bootstrap, topic)[1] == {1, 4}
    assert member.stop() == 0


@takes_long
@pytest.mark.parametrize("protocol", ["SSL"], indirect=True)
def test_certificates_of_another_authority(
    files: Files, node: SecuredNode, start: Callable[[ServerProcess], None], tmp_path: Path
) -> None:
    """Apache Kafka has them from its next start on, and ours from its next connection: it trusts them, and is trusted."""
    member = SecuredMember(tmp_path / "ours", node, settings("SSL", files))
    start(member)
    create(member.bootstrap, [4])
    node.kill()
    certificates(tmp_path, files.issuer)
    node.start()
    topic = create(
        member.bootstrap, [1, 4], min_insync_replicas="2"
    )  # by the controller, and ours fetches from the leader
    produce(node.bootstrap, topic, [b"after"])
    until_in_thread(lambda: log_of(node, topic) == log_of(member, topic))
    for listener in ("CONTROLLER", "INTERNAL"):
        assert f"Connections to the listener {listener} have renewed certificates" in member.log_file.read_text()
    assert member.stop() == 0


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT"], indirect=True)
def test_a_wrong_password(files: Files, node: SecuredNode, tmp_path: Path) -> None:
    wrong = settings("SASL_PLAINTEXT", files, password="wrong")
    wrong["initial.broker.registration.timeout.ms"] = "2000"
    member = SecuredMember(tmp_path / "ours", node, wrong)
    with pytest.raises(ServerFailed):
        member.start()
    assert "Authentication failed" in member.log_tail()
