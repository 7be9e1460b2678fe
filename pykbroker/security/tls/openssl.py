"""What both sides of TLS ask of OpenSSL: versions, cipher suites, whose certificates are believed, and the own key."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pykbroker.security.tls.ciphers import OF_TLS_1_3, of_tls_1_2
from pykbroker.security.tls.material import KeyMaterial
from pykbroker.security.tls.settings import TlsError, TlsSettings

#: What OpenSSL calls a certificate that it does not show: a key below 2048 bits (RSA), a signature with SHA-1 or MD5.
_WEAK: Final = frozenset({"EE_KEY_TOO_SMALL", "CA_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"})
#: Of OpenSSL's levels the one at which it refuses nothing for its strength.
ANY_STRENGTH: Final = "@SECLEVEL=0"
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def context_of(settings: TlsSettings, side: int) -> ssl.SSLContext:
    """Versions and cipher suites as the settings have them; ``side`` is ssl.PROTOCOL_TLS_SERVER or ssl.PROTOCOL_TLS_CLIENT.
    Raises TlsError.
    """
    context = ssl.SSLContext(side)
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


def believe(context: ssl.SSLContext, trusted: str | None, otherwise: ssl.Purpose) -> None:
    """Believe the certificates of a trust store; where there is none the authorities of the system, as Java does. Raises TlsError."""
    try:
        if trusted is not None:
            context.load_verify_locations(cadata=trusted)
        else:
            context.load_default_certs(otherwise)
    except ssl.SSLError as error:
        raise TlsError(f"the certificates of the trust store cannot be read: {error.reason or error}") from error


def load_key(context: ssl.SSLContext, material: KeyMaterial) -> bool:
    """Show this certificate; True where OpenSSL calls it weak: it is shown all the same, as Java does, for whether that is
    enough is for the peer to say. OpenSSL takes keys from files alone; this one is in memory. Raises TlsError.
    """
    if _is_shown(context, material):
        return False
    suites = [suite["name"] for suite in context.get_ciphers() if suite["protocol"] != "TLSv1.3"]
    context.set_ciphers(":".join([*suites, ANY_STRENGTH]))
    if not _is_shown(context, material):
        raise TlsError("the certificate is weaker than OpenSSL takes at any level")
    return True


def _is_shown(context: ssl.SSLContext, material: KeyMaterial) -> bool:
    """False where it is too weak for the context's level."""

    def password() -> str:
        if material.password is None:
            raise TlsError("the private key is encrypted: set ssl.key.password")
        return material.password

    try:
        with _file(material.key + "\n" + "\n".join(material.chain) + "\n") as path:
            context.load_cert_chain(path, password=password)
    except TlsError:
        raise
    except (ssl.SSLError, ValueError) as error:  # of a password of more than 1024 bytes, too
        reason = error.reason if isinstance(error, ssl.SSLError) else None
        if reason in _WEAK:
            return False
        if reason == "KEY_VALUES_MISMATCH":
            raise TlsError(
                "the private key and the first certificate of the key store do not belong together"
            ) from error
        what = "ssl.key.password is not its password, or it is" if material.password is not None else "it is"
        raise TlsError(
            f"the private key or its certificates cannot be read: {what} in no form that OpenSSL knows"
        ) from error
    return True


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
