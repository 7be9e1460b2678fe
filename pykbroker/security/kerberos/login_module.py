"""Java's Krb5LoginModule and its options, which JAAS values of brokers and clients share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LOGIN_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule"
SERVICE: Final = "sasl.kerberos.service.name"


def is_true(options: Mapping[str, str], name: str) -> bool:
    """Whether an option is set to true."""
    return options.get(name, "false").lower() == "true"


def file_of(options: Mapping[str, str], name: str) -> str | None:
    """The file in an option, with or without MIT's prefix FILE:; None if it is not set."""
    path = options.get(name)
    return path if path is None or path[:5].upper() != "FILE:" else path[5:]
