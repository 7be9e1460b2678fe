"""A Kerberos service that accepts clients' tickets, on the package ``gssapi`` (an extra, over MIT's libraries).

A ticket is decrypted with the service's key from its key table, without asking the KDC, so the loop does not wait. It takes a
tenth of a millisecond, including the library's write to its replay cache, a file shared by all services of the user.
"""

from __future__ import annotations

from gssapi import raw
from gssapi.raw.misc import GSSError

from pykbroker.security.kerberos.errors import KerberosError, said, text
from pykbroker.security.sasl.mechanism import CredentialsRefused


class Acceptor:
    """The service ``principal``. ``key_table`` is a file, by default that of krb5.conf. Raises KerberosError."""

    def __init__(self, principal: str, key_table: str | None) -> None:
        store = {} if key_table is None else {b"keytab": b"FILE:" + key_table.encode()}
        try:
            name = raw.import_name(principal.encode(), raw.NameType.kerberos_principal)
            acquired = raw.acquire_cred_from(store, name, mechs=[raw.MechType.kerberos], usage="accept")
        except GSSError as error:
            raise KerberosError(f"the key of {principal} is not available: {said(error)}") from error
        self._credentials = acquired.creds

    def begin(self) -> AcceptorContext:
        """The security context for one client."""
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
            raise CredentialsRefused(f"its ticket is not accepted: {said(error)}") from error

    def wrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.wrap(self._context, message, confidential=False).message)
        except GSSError as error:
            raise CredentialsRefused(f"its security context cannot sign a message: {said(error)}") from error

    def unwrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.unwrap(self._context, message).message)
        except GSSError as error:
            raise CredentialsRefused(f"its last message does not belong to this exchange: {said(error)}") from error


def default_realm() -> str:
    """The default realm of krb5.conf; empty if it has none."""
    try:
        name = raw.import_name(b"user", raw.NameType.kerberos_principal)
        return text(raw.canonicalize_name(name, raw.MechType.kerberos)).rpartition("@")[2]
    except GSSError:
        return ""
