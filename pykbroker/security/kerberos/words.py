"""What Kerberos says, for people: its errors, which the package ``gssapi`` has as numbers, and its names."""

from __future__ import annotations

from gssapi import raw
from gssapi.raw.misc import GSSError


class KerberosError(Exception):
    """What a service or a client needs is not there. The text says what."""


def said(error: GSSError) -> str:
    """What the mechanism says, where it says something; else what GSS-API does."""
    words = error.get_all_statuses(error.min_code, False) if error.min_code else []
    return "; ".join(words or error.get_all_statuses(error.maj_code, True))


def text(name: raw.Name) -> str:
    return str(raw.display_name(name, False).name.decode("utf-8", "replace"))
