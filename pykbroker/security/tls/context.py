"""Builds the TLS context of a listener from its settings, and tries it before clients depend on it."""

from __future__ import annotations

import ssl
from typing import Any, Final

from pykbroker.security.tls.ciphers import also_offered
from pykbroker.security.tls.openssl import ANY_STRENGTH, context_of, load_key, trust
from pykbroker.security.tls.settings import TlsError, TlsSettings
from pykbroker.security.tls.stores import read_key_store, read_trust_store

_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
#: The suites of TLS 1.2 with forward secrecy and authenticated encryption, no CBC. Every client of the last ten years supports
#: them; ssl.cipher.suites enables others.
_WITHOUT_KNOWN_WEAKNESSES: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
#: X509_V_FLAG_NO_CHECK_TIME, which the ssl module lacks.
_WHATEVER_THE_TIME: Final = 0x200000


class ServerTls:
    """``context`` is for handshakes; ``certificate`` is the broker's, as returned by ``SSLSocket.getpeercert``; with ``is_weak``,
    many clients will refuse it. ``also_offered`` are suites that are offered although ``ssl.cipher.suites`` does not name them.
    """

    def __init__(self, settings: TlsSettings) -> None:
        """Raises TlsError."""
        material = read_key_store(settings.key_store)
        if material is None:
            raise TlsError(
                "TLS needs a key: set ssl.keystore.location, or ssl.keystore.key and ssl.keystore.certificate.chain"
            )
        self.context = context_of(settings, ssl.PROTOCOL_TLS_SERVER)
        if not settings.ciphers:
            self.context.set_ciphers(_WITHOUT_KNOWN_WEAKNESSES)
        self.also_offered = also_offered(self.context, settings.ciphers)
        self.is_weak = load_key(self.context, material)
        self.certificate = _tried(self.context, material.chain[0])
        self.context.verify_mode = _CLIENT_AUTH[settings.client_auth]
        trusted = read_trust_store(settings.trust_store)
        if trusted is not None or settings.client_auth != "none":
            trust(self.context, trusted, ssl.Purpose.CLIENT_AUTH)

    @property
    def not_after(self) -> int:
        """When the certificate expires, in seconds since the epoch."""
        return ssl.cert_time_to_seconds(self.certificate["notAfter"])

    def check_replaces(self, former: ServerTls, *, new_name: bool, fewer_hosts: bool) -> None:
        """Check that clients of the ``former`` certificate can go on: the distinguished name is the same and no alternative name
        is missing, except as ``new_name`` and ``fewer_hosts`` allow. Raises TlsError.
        """
        mine, theirs = self.certificate, former.certificate
        if not new_name and mine.get("subject") != theirs.get("subject"):
            raise TlsError(
                "the distinguished name of the new certificate differs from that of the present one; "
                "ssl.allow.dn.changes=true allows it"
            )
        missing = set(theirs.get("subjectAltName", ())).difference(mine.get("subjectAltName", ()))
        if not fewer_hosts and missing:
            names = ", ".join(sorted(f"{kind}:{name}" for kind, name in missing))
            raise TlsError(
                f"the new certificate lacks alternative names of the present one: {names}; ssl.allow.san.changes=true allows it"
            )


def _tried(context: ssl.SSLContext, certificate: str) -> dict[str, Any]:
    """Try a handshake with a client that trusts only this certificate and ignores its dates; returns what the client gets."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.set_ciphers(f"DEFAULT:{ANY_STRENGTH}")
    client.load_verify_locations(cadata=certificate)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _WHATEVER_THE_TIME
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(to_client, to_server)
    answers = context.wrap_bio(to_server, to_client, server_side=True)
    try:
        for side in (asks, answers, asks, answers, asks):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    except ssl.SSLError as error:
        raise TlsError(
            f"no TLS handshake is possible with this key store: {(error.reason or str(error)).lower()}"
        ) from error
    return asks.getpeercert() or {}
