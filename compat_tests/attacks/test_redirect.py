"""An issuer of tokens that leads elsewhere: no client takes its secret there. Java's client, librdkafka and ours, of the same servers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from compat_tests.attacks.clients import java_client, librdkafka, our_client, properties
from compat_tests.attacks.hostile import Hostile, handshaken
from pykbroker.tests.kit.redirecting import Server

SECRET = "the-secret"
_BEARER = "org.apache.kafka.common.security.oauthbearer"


@pytest.mark.parametrize("code", [302, 307])
def test_no_client_takes_its_secret_elsewhere(code: int, tmp_path: Path) -> None:
    """Java's client and librdkafka ask for a token before they look for a broker, ours when one wants it."""
    received: dict[str, tuple[list[str | None], list[str | None]]] = {}
    said = ""

    def asks(client: str) -> None:
        nonlocal said
        with ExitStack() as stack:
            broker = stack.enter_context(Hostile(handshaken).running()).address
            other = stack.enter_context(Server().running())
            first = stack.enter_context(Server(other.address, code).running())
            login = f'{_BEARER}.OAuthBearerLoginModule required clientId="me" clientSecret="{SECRET}";'
            file = properties(
                tmp_path / client,
                {
                    "bootstrap.servers": broker,
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "OAUTHBEARER",
                    "sasl.oauthbearer.token.endpoint.url": first.address,
                    "sasl.jaas.config": login,
                    "sasl.login.callback.handler.class": f"{_BEARER}.OAuthBearerLoginCallbackHandler",
                },
            )
            if client == "java":
                allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={first.address}"
                java_client([file], allowed)
            elif client == "librdkafka":
                librdkafka({
                    "bootstrap.servers": broker,
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "OAUTHBEARER",
                    "sasl.oauthbearer.method": "oidc",
                    "sasl.oauthbearer.client.id": "me",
                    "sasl.oauthbearer.client.secret": SECRET,
                    "sasl.oauthbearer.token.endpoint.url": first.address,
                }, "Expected JSON response")  # fmt: skip
            else:
                said = our_client(file).stderr
            received[client] = first.heard, other.heard

    for client in ("java", "librdkafka", "ours"):
        asks(client)
    assert all(any(told) for told, _ in received.values())  # the first server was told who asks
    assert not any(told for _, elsewhere in received.values() for told in elsewhere)
    assert received["ours"] == (received["ours"][0][:1], [])
    assert "credentials are not sent on" in said
    assert SECRET not in said
