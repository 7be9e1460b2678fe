"""Versions, cipher suites and what a new certificate must have in common with the one before."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pykbroker.security.authority import Certificate
from pykbroker.security.tls import ciphers
from pykbroker.security.tls.ciphers import openssl_name
from pykbroker.security.tls.context import ServerTls
from pykbroker.security.tls.settings import KeyStoreSettings, TlsError, TlsSettings
from pykbroker.tests.kit.certificates import HOSTS, authority, broker, now_ms, signed_with_sha1, with_small_key


def made(certificate: Certificate | None = None, **settings: Any) -> ServerTls:
    own = certificate or broker()
    return ServerTls(TlsSettings(KeyStoreSettings("PEM", key=own.key, certificate_chain=own.chain), **settings))


@pytest.mark.parametrize(
    ("protocols", "lowest", "highest"),
    [
        (("TLSv1.2", "TLSv1.3"), 2, 3),
        (("TLSv1.3", "TLSv1.2", "TLSv1.1", "SSLv3"), 2, 3),
        (("TLSv1.2",), 2, 2),
        (("TLSv1.3",), 3, 3),
    ],
)
def test_versions(protocols: tuple[str, ...], lowest: int, highest: int) -> None:
    versions = {2: ssl.TLSVersion.TLSv1_2, 3: ssl.TLSVersion.TLSv1_3}
    context = made(protocols=protocols).context
    assert (context.minimum_version, context.maximum_version) == (versions[lowest], versions[highest])


@pytest.mark.parametrize(
    ("suites", "protocols", "highest"),
    [
        (("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",), ("TLSv1.2", "TLSv1.3"), ssl.TLSVersion.TLSv1_2),
        (("ECDHE-ECDSA-AES256-GCM-SHA384",), ("TLSv1.2",), ssl.TLSVersion.TLSv1_2),
        (
            ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"),
            ("TLSv1.2", "TLSv1.3"),
            ssl.TLSVersion.TLSv1_3,
        ),
    ],
)
def test_cipher_suites_decide_on_versions_too(suites: Any, protocols: Any, highest: ssl.TLSVersion) -> None:
    assert made(ciphers=suites, protocols=protocols).context.maximum_version == highest


AES_256, CHACHA, AES_128 = "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"
OLDER = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"


@pytest.mark.parametrize(("asked", "least"), [
    ((AES_256,), 256), ((CHACHA,), 256), ((CHACHA, AES_256), 256), ((AES_128,), 128), ((AES_256, AES_128), 128),
    ((AES_256, OLDER), 256),
])  # fmt: skip
def test_some_suites_of_tls_1_3_are_served_by_what_is_no_weaker(asked: tuple[str, ...], least: int) -> None:
    tls = made(ciphers=asked)
    assert set(tls.also_offered) <= {AES_256, CHACHA, AES_128} - set(asked)
    name, version, bits = agreed(tls.context)
    assert version == "TLSv1.3"
    assert bits >= least, name


def agreed(server: ssl.SSLContext, client: ssl.SSLContext | None = None) -> tuple[str, str, int]:
    """The suite of a handshake, by both sides."""
    client = client or ssl.create_default_context(cadata=authority().certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    answers = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (asks, answers, asks, answers):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    found = answers.cipher()
    assert found is not None
    assert found == asks.cipher()
    return found


def test_a_handshake_that_ends_weaker_than_asked_for_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that has nothing better: here every suite of TLS 1.3 passes for one with a short key."""
    tls, weak = made(ciphers=(AES_256,)), made(ciphers=(AES_128,))
    if hasattr(tls.context, "set_ciphersuites"):
        pytest.skip("this Python offers the suites that are asked for alone")
    monkeypatch.setitem(ciphers.OF_TLS_1_3, agreed(tls.context)[0], 128)
    with pytest.raises(ssl.SSLError, match=f"{AES_256} is weaker than what ssl.cipher.suites asks for"):
        agreed(tls.context)
    agreed(weak.context)


def test_without_a_choice_suites_encrypt_and_authenticate_in_one_and_keep_what_was_said_secret() -> None:
    suites = made().context.get_ciphers()
    assert {suite["protocol"] for suite in suites} == {"TLSv1.2", "TLSv1.3"}
    assert all(suite["aead"] for suite in suites)
    assert {suite["kea"] for suite in suites} == {"kx-ecdhe", "kx-any"}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"protocols": ("TLSv1.1", "SSLv3")}, "leaves no protocol version"),
        ({"ciphers": ("TLS_OF_MY_OWN",)}, "TLS_OF_MY_OWN"),
        (
            {"ciphers": ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",), "protocols": ("TLSv1.3",)},
            "leaves no protocol version",
        ),
        ({"ciphers": ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",)}, "no TLS handshake is possible"),  # the key is not RSA
    ],
)
def test_what_no_client_could_speak_is_refused(settings: Any, why: str) -> None:
    with pytest.raises(TlsError, match=why):
        made(**settings)


@pytest.mark.parametrize("certificate", [with_small_key, signed_with_sha1])
@pytest.mark.parametrize("protocols", [("TLSv1.2",), ("TLSv1.3",), ("TLSv1.2", "TLSv1.3")])
def test_a_weak_certificate_is_shown_as_java_shows_it(
    certificate: Callable[[], Certificate], protocols: tuple[str, ...], tmp_path: Path
) -> None:
    made_weak = certificate()
    weak, usual = made(made_weak, protocols=protocols), made(protocols=protocols)
    assert (weak.is_weak, usual.is_weak) == (_is_refused(made_weak, tmp_path), False)
    assert weak.certificate["subject"] == usual.certificate["subject"] == ((("commonName", "localhost"),),)
    assert weak.context.get_ciphers() == usual.context.get_ciphers()


def _is_refused(certificate: Certificate, folder: Path) -> bool:
    """Whether OpenSSL refuses it by default: 3.0 does, 3.6 takes a signature with SHA-1."""
    file = folder / "weak.pem"
    file.write_text(certificate.key + certificate.chain)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)
    except ssl.SSLError:
        return True
    return False


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", "DHE-RSA-AES256-SHA256"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_names_of_suites(java: str, openssl: str) -> None:
    assert openssl_name(java) == openssl


def test_a_new_certificate_has_the_name_and_the_hosts_of_the_one_before() -> None:
    def issued(name: str, *hosts: str, **more: Any) -> ServerTls:
        return made(authority().issue(name, now_ms(), hosts=hosts, **more))

    former = issued("localhost", *HOSTS)
    issued("localhost", *HOSTS, "more.example").check_replaces(former, new_name=False, fewer_hosts=False)
    issued("localhost", *HOSTS, days=-1).check_replaces(former, new_name=False, fewer_hosts=False)
    other, fewer = issued("other", *HOSTS), issued("localhost", "localhost")
    with pytest.raises(TlsError, match=r"distinguished name.*ssl\.allow\.dn\.changes"):
        other.check_replaces(former, new_name=False, fewer_hosts=True)
    with pytest.raises(TlsError, match=r"IP Address:127\.0\.0\.1; ssl\.allow\.san\.changes"):
        fewer.check_replaces(former, new_name=True, fewer_hosts=False)
    other.check_replaces(former, new_name=True, fewer_hosts=False)
    fewer.check_replaces(former, new_name=False, fewer_hosts=True)
