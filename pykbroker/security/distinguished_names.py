"""The distinguished name of a certificate's subject as in Kafka: RFC 2253, last part first (Java 17's X500Principal.getName)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pykbroker.extras import install_hint

#: Attributes with a keyword, by OpenSSL's long names. Others are written as OID, with the value in DER.
_KEYWORDS: Final = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_OIDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.11": "OU",
    "2.5.4.10": "O",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ESCAPED: Final = frozenset(',=+<>#;"\\')

#: A relative distinguished name: its attributes as text, usually one.
_Part = Sequence[str]


class UnreadableName(ValueError):
    """The name cannot be read, or has attributes that need the extra ``pykbroker[security]``."""


def subject_name(certificate: Mapping[str, Any], der: bytes | None) -> str:
    """The subject of a certificate, given as by ``SSLSocket.getpeercert`` and in DER. Raises UnreadableName."""
    subject = certificate.get("subject", ())
    if all(name in _KEYWORDS for part in subject for name, _ in part):
        return _joined([f"{_KEYWORDS[name]}={_escaped(value)}" for name, value in part] for part in subject)
    return _joined(_parts_of(der))


def _joined(parts: Iterable[_Part]) -> str:
    return ",".join("+".join(part) for part in reversed(list(parts)))


def _escaped(value: str) -> str:
    inner = value.strip(" \r")
    leading = len(value) - len(value.lstrip(" \r"))
    trailing = len(value) - len(inner) - leading
    middle = "".join("\\" + c if c in _ESCAPED else "\\00" if c == "\0" else c for c in inner)
    before, after = value[:leading], value[len(value) - trailing :] if trailing else ""
    return "".join("\\" + c for c in before) + middle + "".join("\\" + c for c in after)


def _parts_of(der: bytes | None) -> list[_Part]:
    """The parts read from DER: getpeercert lacks the types of values."""
    try:
        from cryptography import x509
    except ImportError as error:
        raise UnreadableName(
            "the certificate's name has attributes other than CN, OU, O, C, L, ST, STREET, DC and UID, which the package cryptography "
            f"reads: {install_hint('security')}"
        ) from error
    assert der is not None, "a certificate that has a subject was sent"
    try:
        subject = x509.load_der_x509_certificate(der).subject
        return [[_written(attribute) for attribute in part] for part in subject.rdns]
    except ValueError as error:  # OpenSSL, which has accepted the certificate, is not as strict
        raise UnreadableName(f"the certificate's name cannot be read: {error}") from error


def _written(attribute: Any) -> str:
    oid, value = attribute.oid.dotted_string, attribute.value
    if oid in _OIDS:
        return f"{_OIDS[oid]}={_escaped(value)}"
    kind = attribute._type  # noqa: SLF001 - has no public name, and Kafka's form contains it
    content = value if isinstance(value, bytes) else value.encode(_ENCODINGS.get(kind.name, "utf-8"))
    return f"{oid}=#{(bytes([kind.value]) + _length(len(content)) + content).hex()}"


_ENCODINGS: Final = {"BMPString": "utf-16-be", "UniversalString": "utf-32-be"}


def _length(size: int) -> bytes:
    """A length in DER."""
    if size < 128:
        return bytes([size])
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([128 | len(octets)]) + octets
