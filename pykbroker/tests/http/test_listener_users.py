"""Who may do what in the registry: the users of a listener, by passwords, tokens and certificates, with the rights of topics."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("avro")
pytest.importorskip("grpc_tools")
pytest.importorskip("cryptography")

from pykbroker.cli.serve_options import parser, registry_options
from pykbroker.client.errors import ClientError
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.http.rights import REGISTRY, registry_rights
from pykbroker.registry.rest.table import ROUTES
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import ALTER_CONFIGS, DESCRIBE_CONFIGS, READ, WRITE
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, LITERAL, PREFIXED, TOPIC
from pykbroker.testing import Kafka

KIND = "application/vnd.schemaregistry.v1+json"
SECRET = '{"type":"record","name":"Secret","fields":[]}'
USERS = {"alice": "alice-secret", "bob": "bob-secret", "admin": "admin-secret"}
AUTHORISED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin;User:console"}


class Asker:
    """Asks a registry as somebody."""

    def __init__(self, kafka: Kafka, user: str | None = None, password: str | None = None, client: Any = None) -> None:
        where = urlsplit(kafka.schema_registry_url)
        self._where = where.hostname or "", where.port or 0
        self._context = None
        if where.scheme == "https":
            self._context = client or ssl.create_default_context(cadata=kafka.security.authority)
        self.headers = {"Content-Type": KIND}
        if user is not None:
            said = base64.b64encode(f"{user}:{USERS.get(user) if password is None else password}".encode()).decode()
            self.headers["Authorization"] = f"Basic {said}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        host, port = self._where
        if self._context is None:
            connection = http.client.HTTPConnection(host, port, timeout=30)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=30, context=self._context)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {**self.headers, **headers})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(content) if content else None

    def code(self, method: str, path: str, body: Any = None, **headers: str) -> int:
        status, answer = self.ask(method, path, body, **headers)
        return status if status == 200 else int(answer["error_code"])


def allow(kafka: Kafka, user: str, operation: int, name: str, kind: int = TOPIC, pattern: int = LITERAL) -> None:
    acl = Acl(kind, name, pattern, f"User:{user}", "*", operation, ALLOW)
    kafka._ask_later(lambda cluster: cluster.controller.create_acls([acl]))


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with Kafka(AUTHORISED, schema_registry=True, security="sasl_ssl", users=USERS) as found:
        admin = Asker(found, "admin")
        for subject in ("orders-value", "secret-value", "bobs-value"):
            assert admin.ask("POST", f"/subjects/{subject}/versions", {"schema": f'"{_primitive(subject)}"'})[0] == 200
        allow(found, "alice", READ, "orders")
        allow(found, "bob", WRITE, "bobs", pattern=PREFIXED)
        allow(found, "bob", READ, "bobs", pattern=PREFIXED)
        yield found


def _primitive(subject: str) -> str:
    return {"orders-value": "int", "secret-value": "long", "bobs-value": "string"}[subject]


def test_each_route_has_its_rights() -> None:
    assert set(REGISTRY) == {f"{route.method} {route.path}" for route in ROUTES}


def test_all_of_a_context_are_the_clusters() -> None:
    assert registry_rights("PUT", "/config/{subject}", of_all=True) == registry_rights("PUT", "/config", of_all=False)


def test_strangers_and_wrong_passwords_are_refused(kafka: Kafka) -> None:
    for asker in (Asker(kafka), Asker(kafka, "alice", "x"), Asker(kafka, "nobody", "x"), Asker(kafka, "alice", "")):
        assert asker.code("GET", "/subjects") == 401
    for header in (
        "Basic !",
        "Basic \xff",
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
        "Bearer x",
        "Digest x",
    ):
        assert Asker(kafka).code("GET", "/subjects", Authorization=header) == 401


def test_subjects_have_the_rights_of_their_topics(kafka: Kafka) -> None:
    alice = Asker(kafka, "alice")
    assert alice.ask("GET", "/subjects") == (200, ["orders-value"])
    assert [each["subject"] for each in alice.ask("GET", "/schemas")[1]] == ["orders-value"]
    assert alice.code("GET", "/subjects/orders-value/versions/1") == 200
    assert alice.code("GET", "/schemas/ids/1") == 200
    assert alice.code("GET", "/config/orders-value?defaultToGlobal=true") == 200
    for path in (
        "/subjects/secret-value/versions",
        "/subjects/secret-value/versions/latest/schema",
        "/schemas/ids/2",
        "/schemas/ids/2/schema",
        "/schemas/ids/2/subjects",
        "/config",
        "/config/:.c:",
        "/contexts/.c/config",
        "/contexts",
    ):
        assert alice.code("GET", path) == 40301, path
    assert (
        "acls add --principal User:alice --topic secret --operation read"
        in alice.ask("GET", "/subjects/secret-value/versions")[1]["message"]
    )
    for method, path in (
        ("POST", "/subjects/orders-value/versions"),
        ("POST", "/compatibility/subjects/orders-value/versions"),
        ("DELETE", "/subjects/orders-value"),
        ("PUT", "/config/orders-value"),
        ("PUT", "/mode"),
    ):
        assert alice.code(method, path, {"schema": '"int"', "mode": "READONLY", "compatibility": "NONE"}) == 40301


def test_nothing_leads_around_the_rights(kafka: Kafka) -> None:
    """A subject that one may write could name another by its alias, or refer to it; a guid names it, too."""
    bob = Asker(kafka, "bob")
    assert bob.code("POST", "/subjects/bobs-other-value/versions", {"schema": SECRET}) == 200
    assert bob.code("PUT", "/config/bobs-value", {"alias": "secret-value"}) == 200
    assert bob.code("GET", "/subjects/bobs-value/versions/latest") == 40301
    assert bob.code("GET", "/subjects/bobs-value/versions") == 40301
    assert bob.code("DELETE", "/config/bobs-value") == 200
    to_secret = {"schema": SECRET, "references": [{"name": "long", "subject": "secret-value", "version": 1}]}
    assert bob.code("POST", "/subjects/bobs-value/versions", to_secret) == 40301
    assert bob.code("POST", "/subjects/bobs-value", to_secret) == 40301
    guid = Asker(kafka, "admin").ask("GET", "/schemas/ids/2")[1]["guid"]
    assert bob.code("GET", f"/schemas/guids/{guid}") == 40301
    assert bob.code("GET", f"/schemas/guids/{guid}/ids") == 40301
    assert bob.code("GET", "/contexts/:.:/subjects/secret-value/versions/1") == 40301
    assert bob.code("GET", "/subjects/%73ecret-value/versions/1") == 40301


def test_a_schema_of_several_subjects_is_read_by_whoever_may_read_one(kafka: Kafka) -> None:
    admin, alice = Asker(kafka, "admin"), Asker(kafka, "alice")
    assert admin.code("POST", "/subjects/hidden-value/versions", {"schema": '"int"'}) == 200
    assert alice.ask("GET", "/schemas/ids/1/versions") == (200, [{"subject": "orders-value", "version": 1}])
    assert sorted(admin.ask("GET", "/schemas/ids/1/subjects")[1]) == ["hidden-value", "orders-value"]


def test_settings_of_all_are_those_of_the_cluster(kafka: Kafka) -> None:
    bob = Asker(kafka, "bob")
    allow(kafka, "bob", DESCRIBE_CONFIGS, CLUSTER_NAME, CLUSTER)
    allow(kafka, "bob", ALTER_CONFIGS, CLUSTER_NAME, CLUSTER)
    assert bob.ask("GET", "/config")[1] == {"compatibilityLevel": "BACKWARD"}
    assert bob.code("PUT", "/config", {"compatibility": "BACKWARD"}) == 200


def test_the_token_is_the_principal_of_http(kafka: Kafka) -> None:
    bearer = Asker(kafka)
    bearer.headers["Authorization"] = f"Bearer {kafka.http_token}"
    assert "secret-value" in bearer.ask("GET", "/subjects")[1]
    assert kafka.schemas.get("secret-value").id == 2


def test_without_its_rights_the_token_may_do_nothing() -> None:
    with (
        Kafka({**AUTHORISED, "super.users": "User:alice"}, schema_registry=True) as kafka,
        pytest.raises(ClientError, match=r"40301.*User:console"),
    ):
        kafka.schemas.register("a", '"int"')


def test_users_of_scram_and_tokens(kafka: Kafka) -> None:
    from confluent_kafka.admin import (
        AdminClient,
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, **kafka.security.librdkafka("admin")})
    made = UserScramCredentialUpsertion("carol", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"carols")
    for future in client.alter_user_scram_credentials([made]).values():
        future.result()
    assert Asker(kafka, "carol", "carols").ask("GET", "/subjects") == (200, [])
    assert Asker(kafka, "carol", "wrong").code("GET", "/subjects") == 401
    bearer = Asker(kafka)
    bearer.headers["Authorization"] = f"Bearer {kafka.security.token('alice')}"
    assert bearer.ask("GET", "/subjects") == (200, ["orders-value"])
    bearer.headers["Authorization"] = f"Bearer {kafka.security.token('alice', -5)}"
    assert bearer.code("GET", "/subjects") == 401


def test_a_certificate_names_the_principal(tmp_path: Path) -> None:
    with Kafka({**AUTHORISED, "super.users": "User:CN=alice"}, schema_registry=True, security="ssl") as kafka:
        assert Asker(kafka).code("GET", "/contexts") == 40301  # as anonymous as on the listener
        made = kafka.security.certificate("alice")
        pem = tmp_path / "alice.pem"
        pem.write_text(made.key + made.chain)
        context = ssl.create_default_context(cadata=kafka.security.authority)
        context.load_cert_chain(pem)
        assert Asker(kafka, client=context).ask("GET", "/contexts") == (200, ["."])
        assert (
            Asker(kafka, client=context).code("PUT", "/mode", {"mode": "READWRITE"}, Origin="https://evil.example")
            == 403
        )


def test_a_renewed_certificate_is_used(kafka: Kafka) -> None:
    host, port = Asker(kafka)._where
    context = ssl.create_default_context(cadata=kafka.security.authority)

    def serial() -> Any:
        with socket.create_connection((host, port)) as plain, context.wrap_socket(plain, server_hostname=host) as tls:
            return (tls.getpeercert() or {})["serialNumber"]

    before = serial()
    assert serial() == before
    kafka.renew_certificate()
    assert serial() != before


def test_handshakes_that_do_not_go_on_keep_nobody_out(kafka: Kafka) -> None:
    """Each connection beyond the most that there may be takes the place of one whose client owes something."""
    where = Asker(kafka)._where
    silent = [socket.create_connection(where) for _ in range(300)]
    try:
        assert Asker(kafka, "alice").code("GET", "/subjects") == 200
    finally:
        for each in silent:
            each.close()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--schema-registry", "8081"], "token"),
        (["--schema-registry", "8081", "--schema-registry-listener", "NONE"], "SASL_PLAINTEXT"),
        (["--schema-registry", "8081", "--schema-registry-listener", "PLAINTEXT"], "SASL_PLAINTEXT"),
        (["--schema-registry-listener", "SASL_PLAINTEXT"], "open it with"),
    ],
)
def test_what_protects_the_broker_protects_its_registry(words: list[str], why: str) -> None:
    listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    config = BrokerConfig({"listeners": listeners, "authorizer.class.name": STANDARD_AUTHORIZER})
    with pytest.raises(ConfigError, match=why):
        registry_options(parser().parse_args(words), config)
    named = ["--schema-registry", "8081", "--schema-registry-listener", "sasl_plaintext"]
    found = registry_options(parser().parse_args(named), config)
    assert found is not None
    assert found.listener == "SASL_PLAINTEXT"


@pytest.mark.deep
def test_in_a_process_of_its_own() -> None:
    with Kafka(schema_registry=True, security="sasl_ssl", users=USERS, process=True) as kafka:
        assert Asker(kafka, "alice").ask("GET", "/subjects") == (200, [])
        assert Asker(kafka).code("GET", "/subjects") == 401
        assert kafka.schemas.register("a", '"int"') == 1


def test_nobody_waits_for_a_password_of_scram(kafka: Kafka) -> None:
    """Wrong ones wait for the listener's delay, each by itself."""
    found: list[int] = []
    asking = [
        threading.Thread(target=lambda: found.append(Asker(kafka, "alice", "x").code("GET", "/subjects")))
        for _ in range(8)
    ]
    for each in asking:
        each.start()
    assert Asker(kafka, "alice").code("GET", "/subjects") == 200
    for each in asking:
        each.join()
    assert found == [401] * 8
