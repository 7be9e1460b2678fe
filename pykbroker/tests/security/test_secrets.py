"""Secrets of every kind, everything that fails with them, and all places where something of that is told: none tells a secret."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.process.secured import SecuredListeners
from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import WithHttp, with_http
from pykbroker.tests.kit.certificates import as_jks, as_pkcs12, authority, broker, encrypted, trusted_pkcs12, written
from pykbroker.tests.kit.tokens import Issuer, first_message, issuer, key_set
from pykbroker.wire.apis import response_class
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_configs import AlterableConfig as Replaced
from pykbroker.wire.messages.alter_configs import AlterConfigsRequest
from pykbroker.wire.messages.alter_configs import AlterConfigsResource as ReplacedResource
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

#: Stands in every secret.
MARK: Final = "hush7f3a"
_SECURITY: Final = "org.apache.kafka.common.security"
_PLAIN: Final = f"{_SECURITY}.plain.PlainLoginModule required"
_BROKER: Final = 4
_STORE, _KEY = f"{MARK}-store", f"{MARK}-key"
_TOKEN: Final = f"{MARK}-of-http-and-long-enough"


def settings(folder: Path) -> dict[str, str]:
    """Of a broker that has a secret of each kind."""
    bearer = "listener.name.sasl.oauthbearer."
    return {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL",
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL://127.0.0.1:0,TLS://127.0.0.1:0",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        "listener.name.sasl.plain.sasl.jaas.config": f'{_PLAIN} username="b" password="{MARK}-b" user_alice="{MARK}-a";',
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{_SECURITY}.scram.ScramLoginModule required;",
        f"{bearer}sasl.jaas.config": f'{_SECURITY}.oauthbearer.OAuthBearerLoginModule required clientSecret="{MARK}-c";',
        f"{bearer}sasl.server.callback.handler.class": f"{_SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler",
        f"{bearer}sasl.oauthbearer.jwks.endpoint.url": Path(written(folder, "keys.json", key_set(issuer()))).as_uri(),
        f"{bearer}sasl.oauthbearer.allow.unverified.audience": "true",
        f"{bearer}sasl.oauthbearer.allow.unverified.issuer": "true",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": written(folder, "own.p12", as_pkcs12(broker(), _STORE)),
        "ssl.keystore.password": _STORE,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": written(folder, "ca.p12", trusted_pkcs12(authority().certificate, _STORE)),
        "ssl.truststore.password": _STORE,
        "listener.name.tls.ssl.client.auth": "required",
        "connection.failed.authentication.delay.ms": "0",
    }


class Talk:
    """A connection of a listener."""

    def __init__(self, node: WithHttp, listener: str) -> None:
        address = node.kafka.node.summary()["brokers"][0]["listeners"][listener]
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), 30)

    def ask(self, request: Message, version: int) -> Any:
        """The answer, or None where there is none but the end."""
        frame = bytearray(4)
        encode_request_header(frame, RequestHeader(request.API_KEY, version, 1, "test"))
        request.encode(frame, version)
        struct.pack_into(">i", frame, 0, len(frame) - 4)
        self.socket.sendall(frame)
        size = self._exactly(4)
        if not size:
            return None
        answer = self._exactly(int.from_bytes(size, "big"))
        _, at = decode_response_header(answer, 0, request.API_KEY, version)
        return response_class(request.API_KEY).decode(answer, at, version)[0]

    def news(self) -> bytes:
        """What comes, which may be nothing but the end."""
        with contextlib.suppress(ConnectionError):
            return self.socket.recv(1000)
        return b""

    def _exactly(self, size: int) -> bytes:
        data = b""
        with contextlib.suppress(ConnectionError):
            while len(data) < size and (some := self.socket.recv(size - len(data))):
                data += some
        return data


def sign_in(node: WithHttp, mechanism: str, token: bytes, version: int = 1) -> Iterator[object]:
    talk = Talk(node, "SASL")
    yield talk.ask(SaslHandshakeRequest(mechanism), version)
    if version:
        yield talk.ask(SaslAuthenticateRequest(token), 2)
    else:
        talk.socket.sendall(len(token).to_bytes(4, "big") + token)
        yield talk.news()
    talk.socket.close()


def fail_to_sign_in(node: WithHttp) -> Iterator[object]:
    """Right and wrong ones: nobody is told either."""
    tokens = {
        "PLAIN": [f"\0alice\0{MARK}-a", f"\0alice\0{MARK}-no", f"x\0alice\0{MARK}-a", f"\0{MARK}", f"\0\0{MARK}"],
        "SCRAM-SHA-256": [f"n,,n=alice,r={MARK}", f"y,,n=alice,r={MARK}", f"{MARK}"],
        "OAUTHBEARER": [
            first_message(Issuer("other").sign(0, sub=MARK)).decode(),
            first_message(f"{MARK}.{MARK}.{MARK}").decode(),
            f"n,,\1auth=Basic {MARK}\1\1",
            MARK,
        ],
    }
    for mechanism, every in tokens.items():
        for token in every:
            for version in (1, 0):
                yield from sign_in(node, mechanism, token.encode(), version)
    yield from sign_in(node, "NONE", b"")


def sign_in_where_nobody_asks(node: WithHttp) -> Iterator[object]:
    """As a client does whose settings are those of another listener."""
    talk = Talk(node, "PLAINTEXT")
    for version in (0, 1, 2):
        yield talk.ask(SaslAuthenticateRequest(f"\0alice\0{MARK}-a".encode()), version)
    talk.socket.close()


def fail_to_alter(node: WithHttp) -> Iterator[object]:
    talk = Talk(node, "PLAINTEXT")
    for name, value in {
        "listener.name.tls.ssl.keystore.password": f"{MARK}-wrong",
        "listener.name.tls.ssl.key.password": f"{MARK}-wrong",
        "listener.name.tls.ssl.truststore.password": f"{MARK}-wrong",
        "listener.name.tls.ssl.keystore.key": f"{MARK}-no-key",
        "listener.name.sasl.plain.sasl.jaas.config": f'{_PLAIN} user_alice="{MARK}-unended;',
        "ssl.keystore.password": f"{MARK}-wrong",
        "max.connections.per.ip": "5",
    }.items():
        resource = AlterConfigsResource(_BROKER, "1", [AlterableConfig(name, 0, value)])
        yield talk.ask(IncrementalAlterConfigsRequest([resource]), 1)
        replaced = ReplacedResource(_BROKER, "1", [Replaced(name, value)])
        yield talk.ask(AlterConfigsRequest([replaced]), 2)
    good = f'{_PLAIN} user_alice="{MARK}-altered";'
    named = "listener.name.sasl.plain.sasl.jaas.config"
    yield talk.ask(
        IncrementalAlterConfigsRequest([AlterConfigsResource(_BROKER, "1", [AlterableConfig(named, 0, good)])]), 1
    )
    salted = (MARK * 4).encode()
    for iterations in (4096, 1):
        upsertion = ScramCredentialUpsertion("carol", 1, iterations, b"salt", salted)
        yield talk.ask(AlterUserScramCredentialsRequest([], [upsertion]), 0)
    yield talk.ask(DescribeUserScramCredentialsRequest(None), 0)
    for resource in ("1", ""):
        asked = DescribeConfigsRequest([DescribeConfigsResource(_BROKER, resource, None)], True, True)
        yield talk.ask(asked, 4)
    talk.socket.close()


def fail_at_tls(node: WithHttp) -> Iterator[object]:
    talk = Talk(node, "TLS")
    context = ssl.create_default_context(cadata=authority().certificate)
    try:
        with context.wrap_socket(talk.socket, server_hostname="localhost") as client:
            yield client.recv(1)
    except (ssl.SSLError, ConnectionError) as error:
        yield error
    talk = Talk(node, "TLS")
    talk.socket.sendall(b"GET / HTTP/1.0\r\n\r\n")
    yield talk.news()
    talk.socket.close()


def ask_http(node: WithHttp) -> Iterator[object]:
    right = {"Authorization": f"Bearer {_TOKEN}"}
    for headers in (right, {"Authorization": f"Bearer {MARK}-wrong"}, {}):
        for path in ("/metrics", "/health", "/ready", "/api/v1", "/api/v1/brokers", "/api/v1/requests", "/api/v1/none"):
            answer = node.ask(path, headers=headers)
            yield answer.headers, answer.text


TRIES: Final = (fail_to_sign_in, sign_in_where_nobody_asks, fail_to_alter, fail_at_tls, ask_http)


def hides(text: str) -> bool:
    """Neither as it is, nor in base64, nor as bytes in hexadecimal."""
    plain = MARK.encode()
    coded = [base64.b64encode(b"x" * skipped + plain)[4:-4].decode() for skipped in range(3)]
    return not any(form in text for form in (MARK, plain.hex(), *coded))


def test_no_secret_is_told_anywhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with with_http(HttpOptions("127.0.0.1", 0, _TOKEN), settings=settings(tmp_path)) as node:
        seen = [repr(each) for tries in TRIES for each in tries(node)]
        seen.append(json.dumps(node.kafka.node.summary()))
        seen += [repr(request) for request in node.kafka.requests()]
    assert len(caplog.records) > 30
    seen += [record.getMessage() for record in caplog.records]
    assert [told for told in seen if not hides(told)] == []


def refusals(folder: Path) -> Iterator[dict[str, str]]:
    """Settings that cannot be had, each for its secret."""
    good = settings(folder)
    jks = written(folder, "own.jks", as_jks(broker(), _STORE, _KEY))
    pem = written(folder, "own.pem", encrypted(broker().key, _KEY) + broker().chain)
    yield good | {"ssl.keystore.password": f"{MARK}-wrong"}
    yield good | {"ssl.truststore.password": f"{MARK}-wrong"}
    yield good | {"ssl.keystore.type": "JKS", "ssl.keystore.location": jks, "ssl.key.password": f"{MARK}-wrong"}
    for wrong in ({"ssl.key.password": f"{MARK}-wrong"}, {"ssl.keystore.password": _STORE}):
        yield {name: value for name, value in good.items() if name != "ssl.keystore.password"} | {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": pem,
            **wrong,
        }
    in_line = {"ssl.keystore.type": "PEM", "ssl.keystore.key": MARK, "ssl.keystore.certificate.chain": MARK}
    yield {name: value for name, value in good.items() if not name.startswith("ssl.keystore")} | in_line
    for jaas in (
        f'{_PLAIN} user_a="{MARK}',
        f"{_PLAIN} {MARK}",
        f'{_PLAIN} user_a="{MARK}" x',
        f'x.Module required user_a="{MARK}";',
    ):
        yield good | {"listener.name.sasl.plain.sasl.jaas.config": jaas}


def test_no_start_that_fails_tells_a_secret(tmp_path: Path) -> None:
    told = []
    for wrong in refusals(tmp_path):
        with pytest.raises(ConfigError) as error:
            SecuredListeners(BrokerConfig(wrong), lambda: pytest.fail("nobody connects"), [1])
        told.append(str(error.value))
    assert [each for each in told if not hides(each)] == []
