"""Unsecured tokens: who is believed. Against Apache Kafka: compat_tests/security/token_flows.py."""

from __future__ import annotations

import base64

import pytest

from pykbroker.security.sasl.oauthbearer import TokenRefused
from pykbroker.security.sasl.unsecured_tokens import UnsecuredTokens
from pykbroker.tests.kit.tokens import unsecured

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000


def tokens(**options: str) -> UnsecuredTokens:
    return UnsecuredTokens({f"unsecuredValidator{name}": text for name, text in options.items()}, lambda: NOW_MS)


def test_who_it_is_and_until_when() -> None:
    identity = tokens().validate(unsecured(NOW_MS))
    assert identity.name == "alice"
    assert identity.expires_ms == NOW_MS + 3_600_000


@pytest.mark.parametrize("written", ["1e18", "1e400", "1" + 400 * "0"])
def test_the_latest_time_is_that_of_64_bits(written: str) -> None:
    """Kafka saturates there, too (Math.round); a session's lifetime has to fit into its field."""
    assert tokens().validate(_token(f'{{"sub": "alice", "exp": {written}}}')).expires_ms == 2**63 - 1


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_of_json(written: str) -> None:
    with pytest.raises(TokenRefused):
        tokens().validate(_token(f'{{"sub": "alice", "exp": {written}}}'))


def _token(claims: str) -> str:
    header, body = (
        base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode() for text in ('{"alg":"none"}', claims)
    )
    return f"{header}.{body}."


@pytest.mark.parametrize(
    "claims", [{"sub": None}, {"sub": " "}, {"sub": 5}, {"exp": None}, {"exp": NOW}, {"exp": "1"}, {"iat": NOW + 1}]
)
def test_what_is_refused(claims: dict[str, object]) -> None:
    with pytest.raises(TokenRefused) as refused:
        tokens().validate(unsecured(NOW_MS, **claims))
    assert refused.value.client_message == '{"status":"invalid_token"}'


@pytest.mark.parametrize(
    "token", ["", "a", "a.b", "e30.e30.", "e30.e30.c2ln", "\u00e9.x.", "bm9uZQ.bm9uZQ.", "++++.e30."]
)
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(TokenRefused):
        tokens().validate(token)


def test_options_name_claims_scopes_and_a_skew() -> None:
    made = tokens(PrincipalClaimName="who", ScopeClaimName="roles", RequiredScope="a b", AllowableClockSkewMs="2000")
    good = {"who": "carol", "roles": ["b", "a"], "exp": NOW - 1, "iat": None}
    assert made.validate(unsecured(NOW_MS, **good)).name == "carol"
    with pytest.raises(TokenRefused) as refused:
        made.validate(unsecured(NOW_MS, **(good | {"roles": "a b"})))
    assert refused.value.client_message == '{"status":"insufficient_scope", "scope":"[a, b]"}'
    with pytest.raises(TokenRefused):
        made.validate(unsecured(NOW_MS, **(good | {"exp": NOW - 2})))


@pytest.mark.parametrize("skew", ["-1", "soon"])
def test_a_skew_that_is_no_number_is_an_error(skew: str) -> None:
    with pytest.raises(ValueError, match="AllowableClockSkewMs"):
        tokens(AllowableClockSkewMs=skew)
