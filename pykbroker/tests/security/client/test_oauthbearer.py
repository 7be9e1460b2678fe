"""OAUTHBEARER, the client's side, with our broker's."""

from __future__ import annotations

import pytest

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.client.oauthbearer import OAuthBearerLogin
from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused
from pykbroker.security.sasl.oauthbearer import OAuthBearerExchange, TokenRefused


def validate(token: str) -> Authenticated:
    if token != "good":
        raise TokenRefused("it is bad")
    return Authenticated("alice")


def test_a_token_is_shown_with_extensions() -> None:
    ours, broker = OAuthBearerLogin(lambda: "good", {"logicalCluster": "lkc-1"}), OAuthBearerExchange(validate)
    assert ours.first() == b"n,,\x01auth=Bearer good\x01logicalCluster=lkc-1\x01\x01"
    assert ours.answer(broker.evaluate(ours.first())) is None
    assert broker.result == Authenticated("alice")


def test_a_refusal_is_acknowledged_and_the_broker_ends_it() -> None:
    ours, broker = OAuthBearerLogin(lambda: "bad", {}), OAuthBearerExchange(validate)
    acknowledged = ours.answer(broker.evaluate(ours.first()))
    assert acknowledged == b"\x01"
    with pytest.raises(CredentialsRefused):
        broker.evaluate(acknowledged)
    with pytest.raises(LoginFailed, match="invalid_token"):  # a broker that goes on saying so
        ours.answer(b'{"status":"invalid_token"}')
