"""The errors and names of Kerberos as text."""

from __future__ import annotations

from gssapi import raw
from gssapi.raw.misc import GSSError


class KerberosError(Exception):
    """A key or a ticket is missing. The text says which."""


def said(error: GSSError) -> str:
    """The messages of the mechanism or, without any, of GSS-API."""
    words = error.get_all_statuses(error.min_code, False) if error.min_code else []
    return "; ".join(words or error.get_all_statuses(error.maj_code, True))


def text(name: raw.Name) -> str:
    return str(raw.display_name(name, False).name.decode("utf-8", "replace"))
