"""Signed tokens: whose signature counts, and what must be said. Against Apache Kafka: compat_tests/security/token_flows.py."""

from __future__ import annotations

import json

import jwt
import pytest

from pykbroker.security.sasl.oauthbearer import TokenRefused
from pykbroker.security.sasl.signed_tokens import ClaimRules, KeySetError, SignedTokens, find_key, parse_key_set
from pykbroker.tests.kit.tokens import claims, issuer, key_set, unsecured

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000
KEYS = parse_key_set(key_set(issuer()))


NO_RULES = ClaimRules()


def tokens(rules: ClaimRules = NO_RULES) -> SignedTokens:
    return SignedTokens(lambda kid, algorithm: find_key(KEYS, kid, algorithm), rules, lambda: NOW_MS)


def test_who_it_is_and_until_when() -> None:
    identity = tokens().validate(issuer().sign(NOW_MS))
    assert identity.name == "alice"
    assert identity.expires_ms == NOW_MS + 3_600_000


def test_the_latest_time_is_that_of_64_bits() -> None:
    for expires in (10**300, 10**400):  # the latter is beyond a float
        assert tokens().validate(issuer().sign(NOW_MS, exp=expires)).expires_ms == 2**63 - 1


def test_a_signature_of_somebody_else_is_none() -> None:
    stranger = issuer("stranger")
    for kid in ("first", "stranger", None):
        token = jwt.encode(claims(NOW_MS), stranger._key, "RS256", {} if kid is None else {"kid": kid})
        with pytest.raises(TokenRefused):
            tokens().validate(token)


def test_nobody_signs_with_a_secret_or_not_at_all() -> None:
    by_secret = jwt.encode(claims(NOW_MS), issuer().public["n"], "HS256", {"kid": "first"})
    for token in (unsecured(NOW_MS), by_secret):
        with pytest.raises(TokenRefused):
            tokens().validate(token)


@pytest.mark.parametrize(
    "other",
    [
        {"exp": NOW - 30, "iat": NOW - 60},
        {"exp": None},
        {"iat": None},
        {"nbf": NOW + 31},
        {"sub": None},
        {"sub": "  "},
        {"aud": "somebody"},
        {"aud": []},
        {"scope": ["a", "a"]},
        {"exp": True},
        {"exp": float("inf")},
        {"nbf": float("nan")},
        {"iat": NOW + 4000},
    ],
)
def test_what_is_refused(other: dict[str, object]) -> None:
    with pytest.raises(TokenRefused):
        tokens().validate(issuer().sign(NOW_MS, **other))


@pytest.mark.parametrize(
    "other", [{"exp": NOW - 29, "iat": NOW - 60}, {"iat": 0}, {"nbf": NOW + 30}, {"scope": "a b"}, {"scope": 5}]
)
def test_what_is_accepted(other: dict[str, object]) -> None:
    assert tokens().validate(issuer().sign(NOW_MS, **other)).name == "alice"


def test_rules_say_for_whom_by_whom_and_where_the_name_is() -> None:
    made = tokens(ClaimRules(("kafka", "other"), "https://issuer", 0, "who", "roles"))
    good = {"aud": ["x", "kafka"], "iss": "https://issuer", "who": " carol ", "sub": None}
    assert made.validate(issuer().sign(NOW_MS, **good)).name == "carol"
    for bad in ({"aud": "x"}, {"aud": None}, {"iss": "https://other"}, {"iss": None}, {"roles": [" "]}):
        with pytest.raises(TokenRefused):
            made.validate(issuer().sign(NOW_MS, **(good | bad)))


def test_every_change_of_a_token_is_noticed() -> None:
    token = issuer().sign(NOW_MS)
    for at in range(0, len(token), 7):
        with pytest.raises(TokenRefused):
            tokens().validate(token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :])


def test_keys_of_other_kinds_and_uses_are_left_out() -> None:
    own = issuer().public
    others = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "a"},
        {"kty": "new", "kid": "b"},
        {**own, "kid": "c", "use": "enc"},
    ]
    kept = parse_key_set(json.dumps({"keys": [*others, own]}))
    assert [key.kid for key in kept if find_key([key], key.kid, "RS256")] == ["first"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": 5}', '{"keys": [5]}', "\x00"])
def test_what_is_no_set_of_keys(text: str) -> None:
    with pytest.raises(KeySetError):
        parse_key_set(text)
