"""Stores of every type hold the same key, chain and trust; what is wrong with one is said without its secrets."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

import pytest

from pykbroker.security.tls.context import ServerTls
from pykbroker.security.tls.settings import KeyStoreSettings, TlsError, TlsSettings, TrustStoreSettings
from pykbroker.security.tls.stores import read_key_store, read_trust_store
from pykbroker.tests.kit.certificates import (
    as_jks,
    as_pkcs12,
    authority,
    broker,
    client,
    encrypted,
    trusted_jks,
    trusted_pkcs12,
    written,
)

KEY, CHAIN, CA = broker().key, broker().chain, authority().certificate
STORES = {
    "PEM": broker().pem,
    "PKCS12": as_pkcs12(broker(), "s3cret"),
    "JKS": as_jks(broker(), "s3cret"),
}
TRUSTED = {"PEM": CA, "PKCS12": trusted_pkcs12(CA, "s3cret"), "JKS": trusted_jks(CA, "s3cret")}


def password(kind: str) -> str | None:
    return None if kind == "PEM" else "s3cret"


def clean(pem: str) -> list[str]:
    return pem.split()


@pytest.mark.parametrize("kind", STORES)
def test_key_stores_of_every_type(tmp_path: Path, kind: str) -> None:
    settings = KeyStoreSettings(kind, written(tmp_path, "store", STORES[kind]), password(kind))
    found = read_key_store(settings)
    assert found is not None
    assert clean(found.key) == clean(KEY)
    assert clean("\n".join(found.chain)) == clean(CHAIN)
    assert ServerTls(TlsSettings(settings)).certificate["subject"] == ((("commonName", "localhost"),),)


@pytest.mark.parametrize("kind", TRUSTED)
def test_trust_stores_of_every_type(tmp_path: Path, kind: str) -> None:
    settings = TrustStoreSettings(kind, written(tmp_path, "store", TRUSTED[kind]), password(kind))
    assert clean(read_trust_store(settings) or "") == clean(CA)


def test_as_in_java_jks_may_be_pkcs12_and_the_other_way_round(tmp_path: Path) -> None:
    for says, is_one in (("JKS", "PKCS12"), ("PKCS12", "JKS"), ("pkcs12", "PKCS12")):
        location = written(tmp_path, is_one, STORES[is_one])
        assert read_key_store(KeyStoreSettings(says, location, "s3cret")) is not None


def test_a_key_in_line_and_one_under_a_password(tmp_path: Path) -> None:
    in_line = KeyStoreSettings("PEM", key=KEY, certificate_chain=CHAIN)
    assert ServerTls(TlsSettings(in_line)).certificate
    hidden = encrypted(KEY, "k3y")
    in_line = KeyStoreSettings("PEM", key=hidden, certificate_chain=CHAIN, key_password="k3y")
    assert ServerTls(TlsSettings(in_line)).certificate
    jks = written(tmp_path, "store", as_jks(broker(), "s3cret", "k3y"))
    assert ServerTls(TlsSettings(KeyStoreSettings("JKS", jks, "s3cret", "k3y"))).certificate
    assert read_trust_store(TrustStoreSettings("PEM", certificates=CA)) is not None
    assert read_key_store(KeyStoreSettings()) is None
    assert read_trust_store(TrustStoreSettings()) is None


def test_the_chain_of_a_pkcs12_store_is_put_in_order(tmp_path: Path) -> None:
    shuffled = broker()._replace(chain=CHAIN + authority("Another CA").certificate)
    found = read_key_store(
        KeyStoreSettings("PKCS12", written(tmp_path, "store", as_pkcs12(shuffled, "s3cret")), "s3cret")
    )
    assert found is not None
    assert clean("\n".join(found.chain)) == clean(CHAIN)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (KeyStoreSettings("PEM", "nowhere.pem"), "nowhere.pem cannot be read: No such file"),
        (KeyStoreSettings("BCFKS", "x"), "ssl.keystore.type=BCFKS is not supported"),
        (KeyStoreSettings("PEM", "PEM", "s3cret"), "key store password cannot be specified with PEM"),
        (KeyStoreSettings("PKCS12", "PKCS12"), "key store password is not specified"),
        (KeyStoreSettings("PKCS12", "PKCS12", "wr0ng"), "the password is wrong"),
        (KeyStoreSettings("JKS", "JKS", "wr0ng"), "the password is wrong"),
        (KeyStoreSettings("JKS", "PEM", "s3cret"), "it is not PKCS12"),
        (KeyStoreSettings("PEM", "PKCS12"), "is not PEM"),
        (KeyStoreSettings("JKS", "locked", "s3cret"), "ssl.key.password is wrong"),
        (KeyStoreSettings("JKS", "trusted", "s3cret"), "contains no private key"),
        (KeyStoreSettings("PKCS12", "trusted12", "s3cret"), "contains no private key"),
        (KeyStoreSettings("PEM", "ca"), "contains 0 private keys"),
        (KeyStoreSettings("PEM", "key"), "contains no certificate"),
        (KeyStoreSettings("PEM", key=KEY), "belong together"),
        (KeyStoreSettings("PEM", "PEM", key=KEY, certificate_chain=CHAIN), "Both SSL key store location"),
        (KeyStoreSettings("JKS", key=KEY, certificate_chain=CHAIN), "only for PEM"),
        (KeyStoreSettings("PEM", key=KEY, certificate_chain=CHAIN, password="s3cret"), "cannot be specified with PEM"),
        (KeyStoreSettings("PEM", key=client().key, certificate_chain=CHAIN), "do not match"),
        (KeyStoreSettings("PEM", key=encrypted(KEY, "k3y"), certificate_chain=CHAIN), "set ssl.key.password"),
        (
            KeyStoreSettings("PEM", key=encrypted(KEY, "k3y"), certificate_chain=CHAIN, key_password="wr0ng"),
            "is wrong",
        ),
        (
            KeyStoreSettings("PEM", key=encrypted(KEY, "k3y"), certificate_chain=CHAIN, key_password="wr0ng" * 300),
            "is wrong",
        ),
        (
            KeyStoreSettings("PEM", key=KEY, certificate_chain=CHAIN.replace("M", "ü", 1)),
            "characters that are not",
        ),
        (KeyStoreSettings(), "set ssl.keystore.location"),
    ],
)
def test_key_stores_that_are_refused(tmp_path: Path, settings: KeyStoreSettings, why: str) -> None:
    files = {**STORES, "ca": CA, "key": KEY, "trusted": TRUSTED["JKS"], "trusted12": TRUSTED["PKCS12"]}
    files["locked"] = as_jks(broker(), "s3cret", "k3y")
    for name, content in files.items():
        written(tmp_path, name, content)
    location = None if settings.location is None else str(tmp_path / settings.location)
    with pytest.raises(TlsError, match=why) as refused:
        ServerTls(TlsSettings(settings._replace(location=location)))
    for secret in ("s3cret", "wr0ng", "k3y", "PRIVATE KEY"):
        assert secret not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (TrustStoreSettings("PEM", "PEM", "s3cret"), "trust store password cannot be specified"),
        (TrustStoreSettings("JKS", certificates=CA), "only for PEM"),
        (TrustStoreSettings("PEM", "PEM", certificates=CA), "Both SSL trust store location"),
        (TrustStoreSettings("PEM", certificates="CA"), "contains no certificate"),
        (TrustStoreSettings("JKS", "JKS", "wr0ng"), "the password is wrong"),
        (TrustStoreSettings("JKS", "empty", "s3cret"), "contains no trusted certificate"),
        (
            TrustStoreSettings("PEM", certificates="-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----"),
            "cannot be read",
        ),
        (TrustStoreSettings("PEM", certificates=CA.replace("M", "ü", 1)), "characters that are not"),
        (TrustStoreSettings("JKS", "damaged"), "a key or a certificate in it is damaged"),
    ],
)
def test_trust_stores_that_are_refused(tmp_path: Path, settings: TrustStoreSettings, why: str) -> None:
    spoiled = TRUSTED["JKS"].replace(b"\x30\x82", b"\x30\x83", 1)  # without a password no digest says so
    for name, content in {**TRUSTED, "empty": STORES["JKS"], "damaged": spoiled}.items():
        written(tmp_path, name, content)
    location = None if settings.location is None else str(tmp_path / settings.location)
    with pytest.raises(TlsError, match=why):
        ServerTls(
            TlsSettings(KeyStoreSettings("PEM", key=KEY, certificate_chain=CHAIN), settings._replace(location=location))
        )


@pytest.mark.parametrize("seed", range(30))
def test_a_store_that_is_torn_or_damaged_is_refused_or_as_good_as_whole(tmp_path: Path, seed: int) -> None:
    """As one that is just being written when it is read."""
    chance = random.Random(seed)
    for kind, store in STORES.items():
        location = written(tmp_path, "own", damaged(store, chance))
        trusted = written(tmp_path, "trusted", damaged(TRUSTED[kind], chance))
        good_key = KeyStoreSettings("PEM", key=KEY, certificate_chain=CHAIN)
        for settings in (
            TlsSettings(KeyStoreSettings(kind, location, password(kind))),
            TlsSettings(good_key, TrustStoreSettings(kind, trusted, password(kind))),
            TlsSettings(good_key, TrustStoreSettings(kind, trusted)),
        ):
            with contextlib.suppress(TlsError):
                assert ServerTls(settings).certificate


def damaged(store: str | bytes, chance: random.Random) -> bytes:
    data = bytearray(store.encode() if isinstance(store, str) else store)
    at = chance.randrange(len(data))
    if chance.random() < 0.3:
        del data[at:]
    elif chance.random() < 0.5:
        data[at] ^= 1 << chance.randrange(8)
    else:
        data[at : at + chance.choice((1, 4, 64))] = chance.randbytes(chance.choice((0, 4)))
    return bytes(data)


@pytest.mark.parametrize(("library", "kind"), [("cryptography", "PKCS12"), ("jks", "JKS")])
def test_without_the_extra_pem_is_read_and_others_are_refused_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, kind: str
) -> None:
    location = written(tmp_path, "store", STORES[kind])
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "pykbroker.security.tls.java_stores", raising=False)
    assert read_key_store(KeyStoreSettings("PEM", written(tmp_path, "pem", STORES["PEM"])))
    with pytest.raises(TlsError, match=rf"{library}, which reads .* is not installed: .*\[security\]"):
        read_key_store(KeyStoreSettings(kind, location, "s3cret"))
