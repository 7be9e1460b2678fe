"""Reads key stores and trust stores into PEM: PEM in files or inline, PKCS12 and JKS.

PEM needs the standard library only. PKCS12 is read by ``cryptography`` and JKS by ``pyjks``, which the extra
``pykbroker[security]`` installs. As in Java, a store of type JKS may be PKCS12, and vice versa.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pykbroker.security.tls.material import KeyMaterial
from pykbroker.security.tls.settings import KeyStoreSettings, TlsError, TrustStoreSettings

_KEY: Final = re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----.*?-----END (?:[A-Z]+ )?PRIVATE KEY-----", re.DOTALL)
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_TYPES: Final = ("PEM", "PKCS12", "JKS")


def read_key_store(settings: KeyStoreSettings) -> KeyMaterial | None:
    """The key and its chain; None if the settings have no key store. Raises TlsError."""
    kind = _kind(settings.type, "ssl.keystore.type")
    if settings.key is not None or settings.certificate_chain is not None:
        return _in_line(kind, settings)
    if settings.location is None:
        return None
    data = _read(settings.location, "ssl.keystore.location")
    if kind == "PEM":
        if settings.password is not None:
            raise TlsError(
                "SSL key store password cannot be specified with PEM format, only key password may be specified"
            )
        return _from_pem(_text(data, settings.location), settings.key_password, settings.location)
    if settings.password is None:
        raise TlsError(f"SSL key store is specified, but key store password is not specified ({settings.location})")
    from pykbroker.security.tls.java_stores import key_of

    return key_of(data, settings.location, settings.password, settings.key_password)


def read_trust_store(settings: TrustStoreSettings) -> str | None:
    """The trusted certificates in PEM; None if the settings have no trust store. Raises TlsError."""
    kind = _kind(settings.type, "ssl.truststore.type")
    if settings.certificates is not None:
        if kind != "PEM":
            raise TlsError("SSL trust store certs can be specified only for PEM, but trust store type is " + kind + ".")
        if settings.location is not None:
            raise TlsError("Both SSL trust store location and separate trust certificates are specified.")
        return _certificates(settings.certificates, "ssl.truststore.certificates")
    if settings.location is None:
        return None
    data = _read(settings.location, "ssl.truststore.location")
    if kind == "PEM":
        if settings.password is not None:
            raise TlsError("SSL trust store password cannot be specified for PEM format.")
        return _certificates(_text(data, settings.location), settings.location)
    from pykbroker.security.tls.java_stores import trusted_in

    return trusted_in(data, settings.location, settings.password)


def _kind(text: str, name: str) -> str:
    kind = text.upper()
    if kind not in _TYPES:
        raise TlsError(f"{name}={text} is not supported: it must be one of {', '.join(_TYPES)}")
    return kind


def _in_line(kind: str, settings: KeyStoreSettings) -> KeyMaterial:
    if kind != "PEM":
        raise TlsError(f"SSL private key can be specified only for PEM, but key store type is {kind}.")
    if settings.location is not None:
        raise TlsError("Both SSL key store location and separate private key are specified.")
    if settings.password is not None:
        raise TlsError(
            "SSL key store password cannot be specified with PEM format, only key password may be specified."
        )
    if settings.key is None or settings.certificate_chain is None:
        raise TlsError(
            "SSL private key and certificate chain belong together: only one of ssl.keystore.key and "
            "ssl.keystore.certificate.chain is set."
        )
    return _from_pem(settings.key + "\n" + settings.certificate_chain, settings.key_password, "ssl.keystore.key")


def _from_pem(text: str, password: str | None, where: str) -> KeyMaterial:
    _check_ascii(text, where)
    keys, chain = _KEY.findall(text), _CERTIFICATE.findall(text)
    if len(keys) != 1:
        raise TlsError(f"{where} contains {len(keys)} private keys in PEM, but must contain one")
    if not chain:
        raise TlsError(
            f"{where} contains no certificate in PEM: the key must be followed by its certificate and the chain"
        )
    return KeyMaterial(keys[0], tuple(chain), password)


def _certificates(text: str, where: str) -> str:
    _check_ascii(text, where)
    found = _CERTIFICATE.findall(text)
    if not found:
        raise TlsError(f"{where} contains no certificate in PEM")
    return "\n".join(found)


def _check_ascii(text: str, where: str) -> None:
    if not text.isascii():
        raise TlsError(f"{where} is not PEM: it has characters that are not ASCII")


def _read(location: str, setting: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise TlsError(f"{setting}={location} cannot be read: {error.strerror}") from error


def _text(data: bytes, location: str) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise TlsError(f"{location} is not PEM: if it is a PKCS12 or JKS store, set the store's type") from error
