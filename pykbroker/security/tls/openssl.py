"""Configures OpenSSL for brokers and clients: versions, cipher suites, trusted certificates and the private key."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pykbroker.security.tls.ciphers import OF_TLS_1_3, choose_of_tls_1_3, of_tls_1_2
from pykbroker.security.tls.material import KeyMaterial
from pykbroker.security.tls.settings import TlsError, TlsSettings

#: OpenSSL's reasons to refuse a weak certificate: an RSA key below 2048 bits, a signature with SHA-1 or MD5 (which 3.6 takes).
_WEAK: Final = frozenset({"EE_KEY_TOO_SMALL", "CA_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"})
#: The security level at which OpenSSL refuses nothing as weak.
ANY_STRENGTH: Final = "@SECLEVEL=0"
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def context_of(settings: TlsSettings, side: int) -> ssl.SSLContext:
    """A context with the versions and cipher suites of the settings; ``side`` is ssl.PROTOCOL_TLS_SERVER or
    ssl.PROTOCOL_TLS_CLIENT. Raises TlsError.
    """
    context = ssl.SSLContext(side)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # trust every certificate in the store, as Java does
    versions = sorted(_VERSIONS[name] for name in settings.protocols if name in _VERSIONS)
    if settings.ciphers:
        versions = _with_ciphers(context, settings.ciphers, versions)
    if not versions:
        raise TlsError(
            f"ssl.enabled.protocols={','.join(settings.protocols)} leaves no protocol version: TLSv1.2 and TLSv1.3 are supported, "
            "and ssl.cipher.suites, if set, must have suites of an enabled one"
        )
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    return context


def _with_ciphers(
    context: ssl.SSLContext, names: tuple[str, ...], versions: list[ssl.TLSVersion]
) -> list[ssl.TLSVersion]:
    """Set the suites; returns the versions that have any of them."""
    older = of_tls_1_2(names)
    if older:
        context.set_ciphers(":".join(older))
    newer = OF_TLS_1_3.keys() & set(names)
    if newer and ssl.TLSVersion.TLSv1_3 in versions:
        choose_of_tls_1_3(context, names)
    there = {ssl.TLSVersion.TLSv1_2: older, ssl.TLSVersion.TLSv1_3: newer}
    return [version for version in versions if there[version]]


def trust(context: ssl.SSLContext, trusted: str | None, otherwise: ssl.Purpose) -> None:
    """Trust the certificates of a trust store or, without one, the system's authorities, as Java does. Raises TlsError."""
    try:
        if trusted is not None:
            context.load_verify_locations(cadata=trusted)
        else:
            context.load_default_certs(otherwise)
    except ssl.SSLError as error:
        raise TlsError(f"the certificates of the trust store cannot be read: {error.reason or error}") from error


def load_key(context: ssl.SSLContext, material: KeyMaterial) -> bool:
    """Use a key and its certificate; returns whether OpenSSL calls it weak. A weak one is used all the same, as in Java: the
    peer decides whether to accept it. Raises TlsError.
    """
    if _is_loaded(context, material):
        return False
    suites = [suite["name"] for suite in context.get_ciphers() if suite["protocol"] != "TLSv1.3"]
    context.set_ciphers(":".join([*suites, ANY_STRENGTH]))
    if not _is_loaded(context, material):
        raise TlsError("the certificate is too weak for every security level of OpenSSL")
    return True


def _is_loaded(context: ssl.SSLContext, material: KeyMaterial) -> bool:
    """Load the key; False if it is too weak for the context's security level."""

    def password() -> str:
        if material.password is None:
            raise TlsError("the private key is encrypted: set ssl.key.password")
        return material.password

    try:
        with _file(material.key + "\n" + "\n".join(material.chain) + "\n") as path:
            context.load_cert_chain(path, password=password)
    except TlsError:
        raise
    except (ssl.SSLError, ValueError) as error:  # ValueError: a password of more than 1024 bytes
        reason = error.reason if isinstance(error, ssl.SSLError) else None
        if reason in _WEAK:
            return False
        if reason == "KEY_VALUES_MISMATCH":
            raise TlsError("the private key and the first certificate of the key store do not match") from error
        cause = "ssl.key.password is wrong, or OpenSSL" if material.password is not None else "OpenSSL"
        raise TlsError(
            f"the private key or its certificates cannot be read: {cause} does not know their format"
        ) from error
    return True


@contextmanager
def _file(text: str) -> Iterator[str]:
    """A file for OpenSSL, which reads keys from files only: in memory if the system supports it, readable by this user only."""
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
            os.unlink(path)  # noqa: PTH108 - a string, as from mkstemp
