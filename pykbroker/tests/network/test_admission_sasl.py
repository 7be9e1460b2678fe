"""SASL over real sockets: who gets in, who is answered late and closed, and that requests wait for neither."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from pykbroker.network.admission import TIME_TO_AUTHENTICATE_MS
from pykbroker.runtime.clock import ManualClock
from pykbroker.security.delegation_tokens import hmac_of
from pykbroker.tests.kit.running import Client, until
from pykbroker.tests.kit.secured import SecuredNode, client_context, sasl_settings, secured_node, tls_settings
from pykbroker.tests.network.test_connection import ASK
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

LISTENERS = {"SASL": "SASL_PLAINTEXT", "BOTH": "SASL_SSL"}
GOOD = b"\0alice\0secret"


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


def settings(folder: Path, **more: str) -> dict[str, str]:
    return (
        tls_settings(folder)
        | sasl_settings("sasl", "both")
        | {name.replace("_", "."): text for name, text in more.items()}
    )


async def sign_in(talk: Client, token: bytes = GOOD) -> SaslAuthenticateResponse:
    assert (await talk.ask(ASK, 3, ApiVersionsResponse)).error_code == 0
    assert (await talk.ask(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)).error_code == 0
    return await talk.ask(SaslAuthenticateRequest(token), 2, SaslAuthenticateResponse)  # type: ignore[return-value]


async def served(talk: Client) -> None:
    assert (await talk.ask(DescribeClusterRequest(), 0, DescribeClusterResponse)).error_code == 0


def principals(node: SecuredNode) -> list[str]:
    return [connection.principal for connection in node.node.server.sockets(1).connections]


@pytest.mark.parametrize("listener", LISTENERS)
def test_who_signs_in_is_served_and_known(tmp_path: Path, listener: str) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, LISTENERS, settings(tmp_path)) as node:
            talk = await node.connect(listener, client_context() if listener == "BOTH" else None)
            assert (await sign_in(talk)).error_code == 0
            assert principals(node) == ["User:alice"]
            await served(talk)
            assert (await talk.ask(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)).error_code == 34
            await served(talk)
            talk.close()

    run(scenario())


def test_versions_that_the_release_does_not_have_may_be_asked_for_before(tmp_path: Path) -> None:
    """A client of today asks for ApiVersions 4 first, and again in the version that it is told."""

    async def scenario() -> None:
        async with secured_node(tmp_path, LISTENERS, settings(tmp_path), as_version="2.8") as node:
            talk = await node.connect("SASL")
            talk.send(ASK, 4)
            assert (await talk.receive(ApiVersionsResponse, 0))[1].error_code == ErrorCode.UNSUPPORTED_VERSION
            assert (await sign_in(talk)).error_code == 0
            await served(talk)
            talk.close()

    run(scenario())


def test_another_cluster_than_the_expected_one_is_told_of_after_signing_in(tmp_path: Path) -> None:
    """As Apache Kafka 4.4.0 does; half of an expectation is refused at once."""

    async def scenario() -> None:
        async with secured_node(tmp_path, LISTENERS, settings(tmp_path)) as node:
            expecting = ApiVersionsRequest("test", "1", "another", 1)
            half = ApiVersionsRequest("test", "1", "another", -1)
            talk = await node.connect("SASL")
            assert (await talk.ask(half, 5, ApiVersionsResponse)).error_code == ErrorCode.INVALID_REQUEST
            assert (await talk.ask(expecting, 5, ApiVersionsResponse)).error_code == ErrorCode.NONE
            assert (await talk.ask(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)).error_code == 0
            assert (await talk.ask(SaslAuthenticateRequest(GOOD), 2, SaslAuthenticateResponse)).error_code == 0
            assert (await talk.ask(expecting, 5, ApiVersionsResponse)).error_code == ErrorCode.REBOOTSTRAP_REQUIRED
            await served(talk)
            talk.close()

    run(scenario())


def test_all_at_once_is_answered_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with secured_node(tmp_path, LISTENERS, settings(tmp_path)) as node:
            talk = await node.connect("SASL")
            talk.send(ASK, 3)
            talk.send(SaslHandshakeRequest("PLAIN"), 1)
            talk.send(SaslAuthenticateRequest(GOOD), 2)
            sent = [talk.send(DescribeClusterRequest(), 0) for _ in range(100)]
            await talk.receive(ApiVersionsResponse, 3)
            await talk.receive(SaslHandshakeResponse, 1)
            assert (await talk.receive(SaslAuthenticateResponse, 2))[1].error_code == 0
            assert [(await talk.receive(DescribeClusterResponse, 0))[0] for _ in sent] == sent
            talk.close()

    run(scenario())


def test_who_fails_is_answered_late_and_holds_up_nobody(tmp_path: Path, caplog: Any) -> None:
    async def scenario() -> None:
        late = settings(tmp_path, **{"connection.failed.authentication.delay.ms": "30000"})
        clock = ManualClock()
        async with secured_node(tmp_path, LISTENERS, late, clock) as node:
            talk = await node.connect("SASL")
            await talk.ask(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
            talk.send(SaslAuthenticateRequest(b"\0alice\0wr0ng"), 2)
            talk.send(DescribeClusterRequest(), 0)
            other = await node.connect("SASL")
            assert (await sign_in(other)).error_code == 0
            await served(other)
            assert not talk.reader._buffer
            clock.advance(30_000)
            node.node.cluster.runtime.timers.run_due()
            answer = (await talk.receive(SaslAuthenticateResponse, 2))[1]
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert answer.error_message == "Authentication failed: Invalid username or password"
            assert await talk.closed_by_broker()
            await served(other)
            other.close()
        assert "it failed to authenticate by PLAIN" in caplog.text
        assert "wr0ng" not in caplog.text

    run(scenario())


def test_who_leaves_before_he_is_answered_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario() -> None:
        late = settings(tmp_path, **{"connection.failed.authentication.delay.ms": "1000"})
        async with secured_node(tmp_path, LISTENERS, late) as node:
            talk = await node.connect("SASL")
            await talk.ask(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
            talk.send(SaslAuthenticateRequest(b"\0alice\0wr0ng"), 2)
            await until(lambda: any(c._holds for c in node.node.server.sockets(1).connections))
            talk.close()
            await until(lambda: not node.node.server.sockets(1).connections)

    run(scenario())


def test_a_frame_larger_than_a_token_may_be_ends_the_connection_before_it_is_received(
    tmp_path: Path, caplog: Any
) -> None:
    async def scenario() -> None:
        small = settings(tmp_path, **{"sasl.server.max.receive.size": "1000"})
        async with secured_node(tmp_path, LISTENERS, small) as node:
            talk = await node.connect("SASL")
            talk.writer.write((1001).to_bytes(4, "big"))
            assert await talk.closed_by_broker()
            talk = await node.connect("SASL")
            assert (await sign_in(talk)).error_code == 0
            assert (await talk.ask(SaslAuthenticateRequest(b"x" * 5000), 2, SaslAuthenticateResponse)).error_code == 34
            talk.close()

    run(scenario())
    assert "it announced a frame of 1001 bytes, but sasl.server.max.receive.size is 1000" in caplog.text


def test_who_does_not_sign_in_in_time_is_cut_and_who_does_is_not(tmp_path: Path, caplog: Any) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        async with secured_node(tmp_path, LISTENERS, settings(tmp_path), clock) as node:
            good = await node.connect("SASL")
            assert (await sign_in(good)).error_code == 0
            talk = await node.connect("SASL")
            await talk.ask(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
            clock.advance(TIME_TO_AUTHENTICATE_MS)
            node.node.cluster.runtime.timers.run_due()
            assert await talk.closed_by_broker()
            await served(good)
            good.close()

    run(scenario())
    assert caplog.text.count("it did not authenticate") == 1


def test_users_are_altered_while_it_runs(tmp_path: Path) -> None:
    from pykbroker.tests.network.test_tls import alter

    async def scenario() -> None:
        async with secured_node(tmp_path, LISTENERS, settings(tmp_path)) as node:
            admin, old = await node.connect("PLAINTEXT"), await node.connect("SASL")
            assert (await sign_in(old)).error_code == 0
            name = "listener.name.sasl.plain.sasl.jaas.config"
            value = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_carol="c";'
            assert await alter(admin, {name: value}) == 0
            for token, code in ((GOOD, 58), (b"\0carol\0c", 0)):
                talk = await node.connect("SASL")
                assert (await sign_in(talk, token)).error_code == code
                talk.close()
            await served(old)
            assert await alter(admin, {name: value.replace(";", "")}) == 42
            assert await alter(admin, {name: value.replace("apache", "example")}) == 42
            for talk in (admin, old):
                talk.close()

    run(scenario())


def test_who_signs_in_by_a_delegation_token_is_its_owner_for_as_long_as_it_is_good(tmp_path: Path) -> None:
    from compat_tests.security.scram_client import ScramClient

    async def scenario() -> None:
        clock, asked = ManualClock(), CreateDelegationTokenRequest(max_lifetime_ms=60_000)
        with_key = settings(tmp_path, **{"delegation.token.secret.key": "key"})
        async with secured_node(tmp_path, LISTENERS, with_key, clock) as node:
            owner = await node.connect("SASL")
            assert (await sign_in(owner)).error_code == 0
            made = await owner.ask(asked, 3, CreateDelegationTokenResponse)
            owner.close()
            clock.advance(20_000)
            talk = await node.connect("SASL")
            password = base64.b64encode(made.hmac).decode()
            client = ScramClient("SCRAM-SHA-256", made.token_id, password, extensions=",tokenauth=true")
            await talk.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1, SaslHandshakeResponse)
            first = await talk.ask(SaslAuthenticateRequest(client.first()), 2, SaslAuthenticateResponse)
            last = await talk.ask(SaslAuthenticateRequest(client.final(first.auth_bytes)), 2, SaslAuthenticateResponse)
            assert (last.error_code, last.session_lifetime_ms) == (0, 40_000)
            await until(lambda: principals(node) == ["User:alice"])
            refused = await talk.ask(asked, 3, CreateDelegationTokenResponse)
            assert refused.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
            clock.advance(40_001)
            talk.send(DescribeClusterRequest(), 0)
            assert await talk.closed_by_broker()

    run(scenario())


def test_a_release_of_before_kraft_has_delegation_tokens(tmp_path: Path) -> None:
    async def scenario() -> None:
        with_key = settings(tmp_path, **{"delegation.token.master.key": "key"})
        async with secured_node(tmp_path, LISTENERS, with_key, as_version="2.8") as node:
            talk = await node.connect("SASL")
            assert (await sign_in(talk)).error_code == 0
            made = await talk.ask(CreateDelegationTokenRequest(max_lifetime_ms=-1), 2, CreateDelegationTokenResponse)
            assert made.hmac == hmac_of(b"key", made.token_id)
            missing = RenewDelegationTokenRequest(b"nobody's", -1)
            refused = await talk.ask(missing, 2, RenewDelegationTokenResponse)
            assert (refused.error_code, refused.expiry_timestamp_ms) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, -1)
            talk.close()

    run(scenario())


def test_credentials_of_scram_are_those_of_the_metadata(tmp_path: Path) -> None:
    from compat_tests.security.scram_client import ScramClient

    async def scenario() -> None:
        async with secured_node(tmp_path, LISTENERS, settings(tmp_path)) as node:
            admin = await node.connect("PLAINTEXT")
            salted = hashlib.pbkdf2_hmac("sha256", b"pw", b"salt", 4096)
            upsertion = ScramCredentialUpsertion("bob", 1, 4096, b"salt", salted)
            answer = await admin.ask(
                AlterUserScramCredentialsRequest([], [upsertion]), 0, AlterUserScramCredentialsResponse
            )
            assert answer.results[0].error_code == 0
            for password, code in (("pw", 0), ("other", 58)):
                talk, own = await node.connect("SASL"), ScramClient("SCRAM-SHA-256", "bob", password)
                await talk.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1, SaslHandshakeResponse)
                first = await talk.ask(SaslAuthenticateRequest(own.first()), 2, SaslAuthenticateResponse)
                last = await talk.ask(SaslAuthenticateRequest(own.final(first.auth_bytes)), 2, SaslAuthenticateResponse)
                assert last.error_code == code
                assert own.trusts(last.auth_bytes) == (code == 0)
                talk.close()
            admin.close()

    run(scenario())
