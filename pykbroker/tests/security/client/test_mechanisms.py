"""Which mechanism, and who signs in by it, of the settings of Kafka's clients."""

from __future__ import annotations

import pytest

from pykbroker.security.client.mechanisms import mechanism, user_and_password
from pykbroker.security.client.oauthbearer import OAuthBearerLogin
from pykbroker.security.client.plain import PlainLogin
from pykbroker.security.client.scram import ScramLogin

PACKAGE = "org.apache.kafka.common.security"
PLAIN = f"{PACKAGE}.plain.PlainLoginModule required"
SCRAM = f"{PACKAGE}.scram.ScramLoginModule required"
BEARER = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule required"
BY_ISSUER = f"{PACKAGE}.oauthbearer.OAuthBearerLoginCallbackHandler"


def made(name: str | None, jaas: str | None, **more: str) -> object:
    settings = {"sasl.mechanism": name, "sasl.jaas.config": jaas, **more}
    given = {key: value for key, value in settings.items() if value is not None}
    return mechanism(given, lambda: 1_700_000_000_000, lambda: "nonce")


@pytest.mark.parametrize(
    ("name", "jaas", "kind", "first"),
    [
        ("PLAIN", f'{PLAIN} username="alice" password="a b";', PlainLogin, b"\0alice\0a b"),
        ("SCRAM-SHA-256", f'{SCRAM} username="alice" password="x";', ScramLogin, b"n,,n=alice,r=nonce"),
        (
            "SCRAM-SHA-512",
            f'{SCRAM} username="id" password="hmac" tokenauth="true";',
            ScramLogin,
            b"n,,n=id,r=nonce,tokenauth=true",
        ),
        ("OAUTHBEARER", f'{BEARER} unsecuredLoginStringClaim_sub="alice";', OAuthBearerLogin, b"n,,\x01auth=Bearer ey"),
    ],
)
def test_each(name: str, jaas: str, kind: type, first: bytes) -> None:
    found = made(name, jaas)
    begun = found.begin("localhost")  # type: ignore[attr-defined]
    assert (found.name, found.user in ("alice", "id"), type(begun)) == (name, True, kind)  # type: ignore[attr-defined]
    assert begun.first().startswith(first)


def test_a_token_of_a_file(tmp_path) -> None:
    (tmp_path / "to ken").write_text("abc")
    settings = {
        "sasl.login.callback.handler.class": BY_ISSUER,
        "sasl.oauthbearer.token.endpoint.url": (tmp_path / "to ken").as_uri(),
    }
    found = made("OAUTHBEARER", f'{BEARER} extension_a="b";', **settings)
    assert found.begin("localhost").first() == b"n,,\x01auth=Bearer abc\x01a=b\x01\x01"


@pytest.mark.parametrize(
    ("name", "jaas", "more", "why"),
    [
        (None, f"{PLAIN};", {}, r"sasl.mechanism=GSSAPI \(the default\) needs com.sun"),
        (
            None,
            None,
            {},
            r"GSSAPI \(the default\) as com.sun.security.auth.module.Krb5LoginModule required",
        ),
        ("PLAIM", f"{PLAIN};", {}, "sasl.mechanism is PLAIM; it must be one of PLAIN"),
        ("PLAIN", None, {}, "sasl.jaas.config is not set"),
        ("PLAIN", f"{PLAIN}", {}, "not terminated"),
        ("PLAIN", f"{SCRAM};", {}, "ScramLoginModule, but sasl.mechanism=PLAIN needs"),
        ("PLAIN", f'{PLAIN} username="a";', {}, "no password="),
        ("SCRAM-SHA-512", f'{SCRAM} password="a";', {}, "no username="),
        ("OAUTHBEARER", f"{BEARER};", {}, "unsecuredLoginStringClaim_sub"),
        ("OAUTHBEARER", f"{BEARER};", {"sasl.login.callback.handler.class": "my.Own"}, "my.Own, but Java classes"),
        ("OAUTHBEARER", f"{BEARER};", {"sasl.login.callback.handler.class": BY_ISSUER}, "file: or http"),
        (
            "OAUTHBEARER",
            f"{BEARER};",
            {"sasl.login.callback.handler.class": BY_ISSUER, "sasl.oauthbearer.token.endpoint.url": "https://x/y"},
            "clientSecret",
        ),
    ],
)
def test_what_nobody_can_sign_in_with(name: str | None, jaas: str | None, more: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        made(name, jaas, **more)


def test_no_password_is_in_a_message() -> None:
    with pytest.raises(ValueError) as caught:
        made("PLAIN", f'{PLAIN} username="" password="swordfish";')
    assert "swordfish" not in str(caught.value)


def test_a_users_name_and_password_for_other_clients() -> None:
    settings = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} username="a" password="b";'}
    assert user_and_password(settings) == ("PLAIN", "a", "b")
    with pytest.raises(ValueError, match="neither"):
        user_and_password({"sasl.mechanism": "OAUTHBEARER"})
