"""An authority for tests, and stores of every type made of its certificates."""

from __future__ import annotations

import base64
import ssl
import time
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import jks
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from pykbroker.security.authority import Authority, Certificate

HOSTS = ("localhost", "127.0.0.1")


@cache
def authority(name: str = "Test CA") -> Authority:
    return Authority(name, now_ms())


@cache
def broker() -> Certificate:
    return authority().issue("localhost", now_ms(), hosts=HOSTS)


def client(name: str = "alice", **more: Any) -> Certificate:
    return authority().issue(name, now_ms(), organization="Test", **more)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def written(folder: Path, name: str, content: str | bytes) -> str:
    """The path of a file with this content, which nobody else may read."""
    path = folder / name
    path.touch(0o600)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def encrypted(key: str, password: str) -> str:
    """A key in PEM under a password."""
    return (
        serialization.load_pem_private_key(key.encode(), None)
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(password.encode()),
        )
        .decode()
    )


def as_pkcs12(certificate: Certificate, password: str) -> bytes:
    own, *others = x509.load_pem_x509_certificates(certificate.chain.encode())
    key: Any = serialization.load_pem_private_key(certificate.key.encode(), None)
    protection = serialization.BestAvailableEncryption(password.encode())
    return pkcs12.serialize_key_and_certificates(b"own", key, own, others, protection)


def trusted_pkcs12(pem: str, password: str) -> bytes:
    certificates = [pkcs12.PKCS12Certificate(each, b"ca") for each in x509.load_pem_x509_certificates(pem.encode())]
    protection = serialization.BestAvailableEncryption(password.encode())
    return pkcs12.serialize_java_truststore(certificates, protection)


def as_jks(certificate: Certificate, password: str, key_password: str | None = None) -> bytes:
    key: Any = serialization.load_pem_private_key(certificate.key.encode(), None)
    der = key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    chain = [_der(each) for each in x509.load_pem_x509_certificates(certificate.chain.encode())]
    entry = jks.PrivateKeyEntry.new("own", chain, der, "pkcs8")
    entry.encrypt(key_password or password)
    return jks.KeyStore.new("jks", [entry]).saves(password)


def trusted_jks(pem: str, password: str) -> bytes:
    entries = [jks.TrustedCertEntry.new("ca", _der(each)) for each in x509.load_pem_x509_certificates(pem.encode())]
    return jks.KeyStore.new("jks", entries).saves(password)


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def with_small_key() -> Certificate:
    """RSA of 1024 bits, which keytool made of old."""
    return _of_rsa(1024)


def signed_with_sha1() -> Certificate:
    """It says that it is; libraries of today no longer sign so. Both names have the same length."""
    made = _of_rsa(2048)
    der = base64.b64decode("".join(made.chain.splitlines()[1:-1]))
    pkcs1 = bytes.fromhex(
        "2a864886f70d0101"
    )  # 1.2.840.113549.1.1, of which 11 is sha256WithRSAEncryption and 5 is SHA-1's
    return Certificate(made.key, ssl.DER_cert_to_PEM_cert(der.replace(pkcs1 + b"\x0b", pkcs1 + b"\x05")))


def _of_rsa(bits: int) -> Certificate:
    key, issuers = (rsa.generate_private_key(65537, size) for size in (bits, 2048))
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("localhost", "Old CA")]
    now = datetime.fromtimestamp(now_ms() // 1000, UTC)
    builder = x509.CertificateBuilder(names[1], names[0], key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
    pem = builder.sign(issuers, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    forms = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Certificate(key.private_bytes(*forms).decode(), pem.decode())
