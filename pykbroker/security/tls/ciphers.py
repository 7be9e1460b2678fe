"""Translates cipher suites from Java's names, which are the standard's, to OpenSSL's."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from typing import Final

from pykbroker.security.tls.settings import TlsError

#: The suites of TLS 1.3. Python cannot choose among them.
OF_TLS_1_3: Final = frozenset({"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"})
_STANDARD: Final = re.compile(r"TLS_(?:(?P<exchange>\w+)_)?WITH_(?P<cipher>\w+)_(?P<hash>SHA(?:256|384)?)")


def of_tls_1_2(names: Iterable[str]) -> list[str]:
    """OpenSSL's names of the suites of TLS 1.2 among ``names``. Raises TlsError for one that this OpenSSL lacks."""
    return [_checked(name) for name in names if name not in OF_TLS_1_3]


def _checked(name: str) -> str:
    found = openssl_name(name)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(found)
    except ssl.SSLError as error:
        raise TlsError(f"the cipher suite {name} in ssl.cipher.suites is not supported") from error
    return found


def openssl_name(name: str) -> str:
    """OpenSSL's name of a suite with one of Java's names; other names are returned unchanged."""
    found = _STANDARD.fullmatch(name)
    if found is None:
        return name
    cipher = re.sub(r"(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", found["cipher"]).replace("_CBC", "")
    digest = "" if cipher.startswith("CHACHA20") else found["hash"]
    exchange = "" if found["exchange"] == "RSA" else found["exchange"]
    return "-".join(part.replace("_", "-") for part in (exchange, cipher, digest) if part)
