"""Subjects as Java 17 writes them: the expected texts are what X500Principal.getName said of the same names."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from pykbroker.security.distinguished_names import UnreadableName, subject_name

UTF8, PRINTABLE, IA5 = _ASN1Type.UTF8String, _ASN1Type.PrintableString, _ASN1Type.IA5String
CN, ORG, OU, C = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME, NameOID.COUNTRY_NAME


def certificate(*parts: list[tuple[Any, str, Any]]) -> tuple[dict[str, Any], bytes]:
    """A certificate with this subject: as getpeercert gives it, and in DER."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.RelativeDistinguishedName([x509.NameAttribute(oid, value, kind) for oid, value, kind in part])
            for part in parts
        ]
    )
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    made = builder.sign(key, hashes.SHA256())
    return {"subject": _as_openssl(made.subject)}, made.public_bytes(serialization.Encoding.DER)


_LONG = {CN: "commonName", ORG: "organizationName", OU: "organizationalUnitName", C: "countryName"}


def _as_openssl(name: x509.Name) -> Any:
    return tuple(tuple((_LONG.get(a.oid, a.oid.dotted_string), a.value) for a in part) for part in name.rdns)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([[(CN, "alice", UTF8)], [(ORG, "Test", UTF8)]], "O=Test,CN=alice"),
        ([[(CN, "a=b#c", UTF8)], [(ORG, "x;y<z>", UTF8)], [(OU, 'q"r\\s', UTF8)]], r"OU=q\"r\\s,O=x\;y\<z\>,CN=a\=b\#c"),
        ([[(CN, "#lead", UTF8)], [(ORG, " lead", UTF8)], [(OU, "trail ", UTF8)]], r"OU=trail\ ,O=\ lead,CN=\#lead"),
        ([[(CN, "a, b+c", UTF8)]], r"CN=a\, b\+c"),
        ([[(CN, "a", UTF8), (OU, "b", UTF8)], [(ORG, "ü", UTF8)]], "O=ü,CN=a+OU=b"),
        (
            [[(CN, "bob", UTF8)], [(NameOID.EMAIL_ADDRESS, "x@y.z", IA5)], [(NameOID.SERIAL_NUMBER, "12", PRINTABLE)], [(NameOID.TITLE, "t", UTF8)]],
            "2.5.4.12=#0c0174,2.5.4.5=#13023132,1.2.840.113549.1.9.1=#16057840792e7a,CN=bob",
        ),
        ([[(NameOID.TITLE, "t" * 200, UTF8)], [(C, "DE", PRINTABLE)]], "C=DE,2.5.4.12=#0c81c8" + "74" * 200),
    ],
)  # fmt: skip
def test_as_java_writes_them(parts: Any, expected: str) -> None:
    assert subject_name(*certificate(*parts)) == expected


def test_without_the_extra_a_rare_attribute_is_refused_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, rare = certificate([(CN, "alice", UTF8)]), certificate([(NameOID.TITLE, "t", UTF8)])
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert subject_name(*plain) == "CN=alice"
    with pytest.raises(UnreadableName, match=r"pip install .*\[security\]"):
        subject_name(*rare)


def test_a_name_that_is_not_what_it_says_is_nobodys() -> None:
    """OpenSSL accepts a PrintableString with other characters, and so does whoever signed it."""
    peer, der = certificate([(CN, "bob", UTF8)], [(NameOID.TITLE, "a@b", UTF8)])
    with pytest.raises(UnreadableName, match="cannot be read"):
        subject_name(peer, der.replace(b"\x0c\x03a@b", b"\x13\x03a@b"))
