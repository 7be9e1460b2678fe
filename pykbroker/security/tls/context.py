"""The TLS of a listener as OpenSSL wants it, made of its settings, and tried before anybody depends on it."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pykbroker.security.tls.ciphers import OF_TLS_1_3, of_tls_1_2
from pykbroker.security.tls.material import KeyMaterial
from pykbroker.security.tls.settings import TlsError, TlsSettings
from pykbroker.security.tls.stores import read_key_store, read_trust_store

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
#: X509_V_FLAG_NO_CHECK_TIME, which Python has no name for.
_WHATEVER_THE_TIME: Final = 0x200000


class ServerTls:
    """``context`` is for handshakes; ``certificate`` is the own one, as ``SSLSocket.getpeercert`` gives it."""

    def __init__(self, settings: TlsSettings) -> None:
        """Raises TlsError."""
        material = read_key_store(settings.key_store)
        if material is None:
            raise TlsError(
                "TLS needs a key: set ssl.keystore.location, or ssl.keystore.key and ssl.keystore.certificate.chain"
            )
        self.context = _context(settings)
        _load(self.context, material)
        self.certificate = _tried(self.context, material.chain[0])
        self._believe(read_trust_store(settings.trust_store), settings.client_auth)

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

    def _believe(self, trusted: str | None, client_auth: str) -> None:
        self.context.verify_mode = _CLIENT_AUTH[client_auth]
        try:
            if trusted is not None:
                self.context.load_verify_locations(cadata=trusted)
            elif client_auth != "none":  # as Java: the authorities of the system
                self.context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        except ssl.SSLError as error:
            raise TlsError(f"the certificates of the trust store cannot be read: {error.reason or error}") from error


def _context(settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # whatever is in the store is believed, as in Java
    versions = sorted(_VERSIONS[name] for name in settings.protocols if name in _VERSIONS)
    if settings.ciphers:
        versions = _with_ciphers(context, settings.ciphers, versions)
    if not versions:
        raise TlsError(
            f"ssl.enabled.protocols={','.join(settings.protocols)} leaves nothing: TLSv1.2 and TLSv1.3 are served, with "
            "those cipher suites that belong to them"
        )
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    return context


def _with_ciphers(
    context: ssl.SSLContext, names: tuple[str, ...], versions: list[ssl.TLSVersion]
) -> list[ssl.TLSVersion]:
    """Which versions are left with these suites."""
    older = of_tls_1_2(names)
    if older:
        context.set_ciphers(":".join(older))
    newer = OF_TLS_1_3.intersection(names)
    if newer and newer != OF_TLS_1_3 and ssl.TLSVersion.TLSv1_3 in versions:
        raise TlsError(
            f"ssl.cipher.suites names {', '.join(sorted(newer))} of TLS 1.3, whose suites cannot be chosen one by one here: "
            f"name all of {', '.join(sorted(OF_TLS_1_3))}, or none of them and TLSv1.2 alone is served"
        )
    there = {ssl.TLSVersion.TLSv1_2: older, ssl.TLSVersion.TLSv1_3: newer}
    return [version for version in versions if there[version]]


def _load(context: ssl.SSLContext, material: KeyMaterial) -> None:
    """OpenSSL takes keys from files alone; this one is in memory."""

    def password() -> str:
        if material.password is None:
            raise TlsError("the private key is encrypted: set ssl.key.password")
        return material.password

    try:
        with _file(material.key + "\n" + "\n".join(material.chain) + "\n") as path:
            context.load_cert_chain(path, password=password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise TlsError(
                "the private key and the first certificate of the key store do not belong together"
            ) from error
        what = "ssl.key.password is not its password, or it is" if material.password is not None else "it is"
        raise TlsError(
            f"the private key or its certificates cannot be read: {what} in no form that OpenSSL knows"
        ) from error


@contextmanager
def _file(text: str) -> Iterator[str]:
    """A file that only this process can read, and on no disk where the system has such."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pykbroker-key")
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp(prefix="pykbroker-key-")
    try:
        with open(descriptor, "w", encoding="ascii", closefd=False) as file:
            file.write(text)
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            os.unlink(path)  # noqa: PTH108 - as it was made


def _tried(context: ssl.SSLContext, certificate: str) -> dict[str, Any]:
    """Shake hands with a client that believes this one certificate, whenever it is valid; what that client sees of it."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
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
