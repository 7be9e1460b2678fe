"""A service of Kerberos, on the package ``gssapi`` (an extra, over MIT's libraries): it takes tickets that clients have for it.

A ticket is opened with the service's key alone, out of its key table; nobody is asked, so the loop waits for nothing. That takes a
tenth of a millisecond, in which the replay cache, a file that the library keeps for all services of a user, is written as well.
"""

from __future__ import annotations

from gssapi import raw
from gssapi.raw.misc import GSSError

from pykbroker.security.kerberos.words import KerberosError, said, text
from pykbroker.security.sasl.mechanism import Refused


class Acceptor:
    """The service ``principal``. ``key_table`` is a file; without one it is that of krb5.conf. Raises KerberosError."""

    def __init__(self, principal: str, key_table: str | None) -> None:
        store = {} if key_table is None else {b"keytab": b"FILE:" + key_table.encode()}
        try:
            name = raw.import_name(principal.encode(), raw.NameType.kerberos_principal)
            acquired = raw.acquire_cred_from(store, name, mechs=[raw.MechType.kerberos], usage="accept")
        except GSSError as error:
            raise KerberosError(f"the key of {principal} is not to be had: {said(error)}") from error
        self._credentials = acquired.creds

    def begin(self) -> AcceptorContext:
        """For one client."""
        return AcceptorContext(self._credentials)


class AcceptorContext:
    """See ``security/sasl/gssapi.py``."""

    def __init__(self, credentials: raw.Creds) -> None:
        self._credentials = credentials
        self._context: raw.SecurityContext | None = None
        self.initiator: str | None = None

    def accept(self, token: bytes) -> bytes | None:
        try:
            taken = raw.accept_sec_context(token, self._credentials, self._context)
            self._context = taken.context
            if not taken.more_steps:
                self.initiator = text(taken.initiator_name)
            return None if taken.token is None else bytes(taken.token)
        except GSSError as error:
            raise Refused(f"its ticket is not taken: {said(error)}") from error

    def wrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.wrap(self._context, message, confidential=False).message)
        except GSSError as error:
            raise Refused(f"its context is of no use: {said(error)}") from error

    def unwrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.unwrap(self._context, message).message)
        except GSSError as error:
            raise Refused(f"what it says at last is not of this exchange: {said(error)}") from error


def default_realm() -> str:
    """That of krb5.conf; empty where it has none."""
    try:
        name = raw.import_name(b"user", raw.NameType.kerberos_principal)
        return text(raw.canonicalize_name(name, raw.MechType.kerberos)).rpartition("@")[2]
    except GSSError:
        return ""
