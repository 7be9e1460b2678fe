"""A certificate authority for tests and development machines (extra ``security``): issues certificates of brokers and clients.

Not for production: its key is unencrypted beside the certificates, and it revokes nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: Certificates are valid from this long before their issue, since clients' clocks may be behind.
_BEFORE: Final = timedelta(hours=1)
DEFAULT_DAYS: Final = 365


class Certificate(NamedTuple):
    """A private key and its certificate chain in PEM, the key's certificate first."""

    key: str
    chain: str

    @property
    def pem(self) -> str:
        """Key and chain, as in a PEM key store."""
        return self.key + self.chain


class Authority:
    """See the module. ``certificate`` is its own, in PEM, for trust stores."""

    def __init__(self, name: str, now_ms: int, days: float = DEFAULT_DAYS) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _unsigned(self._name, self._name, self._key.public_key(), self._key, now_ms, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        self.certificate = _pem(builder.sign(self._key, hashes.SHA256()))

    @classmethod
    def restored(cls, pem: str) -> Authority:
        """The authority with this ``pem``, as the property returns it. Raises ValueError."""
        key = serialization.load_pem_private_key(pem.encode(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the authority's key is not an elliptic curve key")  # noqa: TRY004 - about the text, not its type
        certificate = x509.load_pem_x509_certificate(pem.encode())
        found = cls.__new__(cls)
        found._key, found._name = key, certificate.subject  # noqa: SLF001 - its own
        found.certificate = _pem(certificate)
        return found

    @property
    def pem(self) -> str:
        """Its private key and certificate: a secret, with which anybody can issue certificates."""
        return _pem_of_key(self._key) + self.certificate

    def issue(
        self,
        name: str,
        now_ms: int,
        *,
        hosts: Iterable[str] = (),
        days: float = DEFAULT_DAYS,
        organization: str | None = None,
    ) -> Certificate:
        """A certificate for ``name``; a broker's needs the ``hosts``, names and addresses, to which clients connect. Negative
        ``days`` make an expired one.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if organization is not None:
            attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        builder = _unsigned(x509.Name(attributes), self._name, key.public_key(), self._key, now_ms, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
        if names := [_general_name(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        own = _pem(builder.sign(self._key, hashes.SHA256()))
        return Certificate(_pem_of_key(key), own + self.certificate)


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signed_by: ec.EllipticCurvePrivateKey,
    now_ms: int,
    days: float,
) -> x509.CertificateBuilder:
    """With the subject and authority key identifiers, which strict clients require (Python since 3.13)."""
    now = datetime.fromtimestamp(now_ms // 1000, UTC)
    ends = now + timedelta(days=days)
    begins = min(now - _BEFORE, ends - _BEFORE)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signed_by.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _pem_of_key(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
