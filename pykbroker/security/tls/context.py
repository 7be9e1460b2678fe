"""The TLS of a listener as OpenSSL wants it, made of its settings, and tried before anybody depends on it."""

from __future__ import annotations

import ssl
from typing import Any, Final

from pykbroker.security.tls.openssl import ANY_STRENGTH, believe, context_of, load_key
from pykbroker.security.tls.settings import TlsError, TlsSettings
from pykbroker.security.tls.stores import read_key_store, read_trust_store

_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
#: Of TLS 1.2's suites those with forward secrecy that encrypt and authenticate in one: no CBC. Every client of the last ten
#: years has them; ``ssl.cipher.suites`` brings others.
_WITHOUT_KNOWN_WEAKNESSES: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
#: X509_V_FLAG_NO_CHECK_TIME, which Python has no name for.
_WHATEVER_THE_TIME: Final = 0x200000


class ServerTls:
    """``context`` is for handshakes; ``certificate`` is the own one, as ``SSLSocket.getpeercert`` gives it; ``is_weak`` where
    many clients will refuse it.
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
        self.is_weak = load_key(self.context, material)
        self.certificate = _tried(self.context, material.chain[0])
        self.context.verify_mode = _CLIENT_AUTH[settings.client_auth]
        trusted = read_trust_store(settings.trust_store)
        if trusted is not None or settings.client_auth != "none":
            believe(self.context, trusted, ssl.Purpose.CLIENT_AUTH)

    def check_replaces(self, former: ServerTls, *, new_name: bool, fewer_hosts: bool) -> None:
        """Clients that know the ``former`` certificate must go on: the new one has the same distinguished name, and all of its
        alternative names, unless those may change. Raises TlsError.
        """
        mine, theirs = self.certificate, former.certificate
        if not new_name and mine.get("subject") != theirs.get("subject"):
            raise TlsError(
                "the distinguished name of the new certificate is another one than that of the present one; "
                "ssl.allow.dn.changes=true allows it"
            )
        missing = set(theirs.get("subjectAltName", ())).difference(mine.get("subjectAltName", ()))
        if not fewer_hosts and missing:
            names = ", ".join(sorted(f"{kind}:{name}" for kind, name in missing))
            raise TlsError(
                f"the new certificate lacks alternative names of the present one: {names}; ssl.allow.san.changes=true allows it"
            )


def _tried(context: ssl.SSLContext, certificate: str) -> dict[str, Any]:
    """Shake hands with a client that believes this one certificate, whenever it is valid; what that client sees of it."""
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
            f"no client could shake hands by this key store: {(error.reason or str(error)).lower()}"
        ) from error
    return asks.getpeercert() or {}
