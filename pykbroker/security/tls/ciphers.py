"""Translates cipher suites from Java's names, which are the standard's, to OpenSSL's."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from typing import Any, Final

from pykbroker.security.tls.settings import TlsError

#: The suites of TLS 1.3, and the bits of their keys.
OF_TLS_1_3: Final = {
    "TLS_AES_256_GCM_SHA384": 256,
    "TLS_CHACHA20_POLY1305_SHA256": 256,
    "TLS_AES_128_GCM_SHA256": 128,
}
_STANDARD: Final = re.compile(r"TLS_(?:(?P<exchange>\w+)_)?WITH_(?P<cipher>\w+)_(?P<hash>SHA(?:256|384)?)")


def of_tls_1_2(names: Iterable[str]) -> list[str]:
    """OpenSSL's names of the suites of TLS 1.2 among ``names``. Raises TlsError for one that this OpenSSL lacks."""
    return [_checked(name) for name in names if name not in OF_TLS_1_3]


def choose_of_tls_1_3(context: ssl.SSLContext, names: Iterable[str]) -> None:
    """Offer these suites of TLS 1.3.

    Python chooses among them from 3.15 on. Before, all are offered, and a handshake that ends with a suite of fewer bits than the
    weakest of ``names`` has fails: no connection is weaker than asked for.
    """
    chosen = [name for name in names if name in OF_TLS_1_3]
    choose = getattr(context, "set_ciphersuites", None)
    if choose is not None:
        choose(":".join(chosen))
        return
    fewest = min(OF_TLS_1_3[name] for name in chosen)
    if any(bits < fewest for bits in OF_TLS_1_3.values()):
        context.sslobject_class = _at_least(fewest, ssl.SSLObject)
        context.sslsocket_class = _at_least(fewest, ssl.SSLSocket)


def also_offered(context: ssl.SSLContext, names: Iterable[str]) -> list[str]:
    """The suites of TLS 1.3 that a context offers although only others are among ``names``."""
    if context.maximum_version != ssl.TLSVersion.TLSv1_3 or not set(names):
        return []
    return sorted({suite["name"] for suite in context.get_ciphers() if suite["protocol"] == "TLSv1.3"} - set(names))


def _at_least(bits: int, kind: type[Any]) -> type[Any]:
    """A class of TLS connections whose handshake fails where it agrees on a suite of TLS 1.3 with fewer bits."""

    class Checked(kind):  # type: ignore[misc]
        def do_handshake(self, *arguments: Any) -> None:
            super().do_handshake(*arguments)
            suite = self.cipher()
            if suite is not None and OF_TLS_1_3.get(suite[0], bits) < bits:
                error = ssl.SSLError(ssl.SSL_ERROR_SSL, f"{suite[0]} is weaker than what ssl.cipher.suites asks for")
                error.reason = "WEAKER_CIPHER_THAN_CHOSEN"  # OpenSSL's errors have one
                raise error

    return Checked


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
