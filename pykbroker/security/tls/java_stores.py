"""Reads PKCS12 and JKS stores. As in Java, the first bytes tell which, not the setting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pykbroker.security.tls.material import KeyMaterial, missing_extra
from pykbroker.security.tls.settings import TlsError

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.serialization import pkcs12
except ImportError as missing:
    raise missing_extra(missing) from missing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_JKS: Final = b"\xfe\xed\xfe\xed"


def key_of(data: bytes, location: str, password: str, key_password: str | None) -> KeyMaterial:
    """The private key in a store, with its chain. Raises TlsError."""
    with _readable(location):
        if data.startswith(_JKS):
            key, chain = _jks_key(data, location, password, key_password)
        else:
            key, chain = _pkcs12_key(data, location, password)
        return KeyMaterial(_unencrypted(key), tuple(map(_pem, _in_order(chain))))


def trusted_in(data: bytes, location: str, password: str | None) -> str:
    """The trusted certificates in a store, in PEM. Raises TlsError."""
    read = _jks_trusted if data.startswith(_JKS) else _pkcs12_trusted
    with _readable(location):
        found = read(data, location, password)
    if not found:
        raise TlsError(f"the trust store {location} contains no trusted certificate")
    return "\n".join(map(_pem, found))


@contextmanager
def _readable(location: str) -> Iterator[None]:
    """Turn errors in keys and certificates into TlsError: without a password, damage within a store is found only here."""
    try:
        yield
    except TlsError:
        raise
    except Exception as error:  # the libraries' errors have no common class
        raise TlsError(f"the store {location} cannot be read: a key or a certificate in it is damaged") from error


def _pkcs12_key(data: bytes, location: str, password: str) -> tuple[PrivateKeyTypes, list[x509.Certificate]]:
    key, own, others = _pkcs12(data, location, password)
    if key is None or own is None:
        raise TlsError(f"the key store {location} contains no private key with a certificate")
    return key, [own, *others]


def _pkcs12_trusted(data: bytes, location: str, password: str | None) -> list[x509.Certificate]:
    _, own, others = _pkcs12(data, location, password)
    return [*others] if own is None else [own, *others]


def _pkcs12(
    data: bytes, location: str, password: str | None
) -> tuple[Any, x509.Certificate | None, list[x509.Certificate]]:
    try:
        return pkcs12.load_key_and_certificates(data, None if password is None else password.encode())
    except ValueError as error:
        raise _unreadable(location, "PKCS12") from error


def _jks_key(
    data: bytes, location: str, password: str, key_password: str | None
) -> tuple[PrivateKeyTypes, list[x509.Certificate]]:
    entries = list(_jks(data, location, password).private_keys.values())
    if not entries:
        raise TlsError(f"the key store {location} contains no private key")
    entry = entries[0]
    if not entry.is_decrypted():
        try:
            entry.decrypt(key_password if key_password is not None else password)
        except Exception as error:  # pyjks's errors have no common class
            raise TlsError(f"the key in {location} cannot be read: ssl.key.password is wrong") from error
    key = serialization.load_der_private_key(entry.pkey_pkcs8, password=None)
    return key, [x509.load_der_x509_certificate(der) for _, der in entry.cert_chain]


def _jks_trusted(data: bytes, location: str, password: str | None) -> list[x509.Certificate]:
    return [x509.load_der_x509_certificate(entry.cert) for entry in _jks(data, location, password).certs.values()]


def _jks(data: bytes, location: str, password: str | None) -> Any:
    try:
        import jks
    except ImportError as error:
        raise missing_extra(error) from error
    try:
        return jks.KeyStore.loads(data, password, try_decrypt_keys=True)
    except Exception as error:  # pyjks's errors have no common class
        raise _unreadable(location, "JKS") from error


def _unreadable(location: str, kind: str) -> TlsError:
    return TlsError(f"the store {location} cannot be read: it is not {kind}, or the password is wrong")


def _in_order(chain: list[x509.Certificate]) -> Iterable[x509.Certificate]:
    """The key's certificate, then each one's issuer: a PKCS12 store has the others in any order."""
    at, left = chain[0], chain[1:]
    yield at
    while issuer := next((each for each in left if each.subject == at.issuer and each is not at), None):
        left.remove(issuer)
        yield issuer
        at = issuer


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _unencrypted(key: PrivateKeyTypes) -> str:
    """The key in PEM, which OpenSSL reads from a file in memory (``openssl._file``)."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
