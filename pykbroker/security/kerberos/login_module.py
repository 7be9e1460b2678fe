"""What JAAS values and settings of GSSAPI have in common for brokers and clients: Java's login module, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LOGIN_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule"
SERVICE: Final = "sasl.kerberos.service.name"


def is_true(options: Mapping[str, str], name: str) -> bool:
    """Whether an option is set to true."""
    return options.get(name, "false").lower() == "true"


def file_of(options: Mapping[str, str], name: str) -> str | None:
    """The file that an option names, with MIT's FILE: before it or without; None where it names none."""
    path = options.get(name)
    return path if path is None or path[:5].upper() != "FILE:" else path[5:]
