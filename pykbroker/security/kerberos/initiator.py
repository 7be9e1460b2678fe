"""A Kerberos client, on the package ``gssapi``: uses a key table or a ticket cache, and gets tickets for services from the KDC.

The library's calls block until the KDC answers.
"""

from __future__ import annotations

from typing import NamedTuple

from gssapi import raw
from gssapi.raw.misc import GSSError

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.kerberos.errors import KerberosError, said


class KerberosIdentity(NamedTuple):
    """The client's principal, with a key table (``has_key``) or a ticket cache: the default one if its file is None."""

    principal: str | None
    key_table: str | None = None
    ticket_cache: str | None = None
    has_key: bool = True

    def store(self) -> dict[bytes, bytes]:
        """The credential store for the library. Tickets that are obtained with a key are kept in memory."""
        if not self.has_key:
            return {} if self.ticket_cache is None else {b"ccache": f"FILE:{self.ticket_cache}".encode()}
        store = {b"ccache": f"MEMORY:{self.principal}".encode()}
        return store if self.key_table is None else {**store, b"client_keytab": f"FILE:{self.key_table}".encode()}


class Initiator:
    """Gets tickets for ``service``, the part before the / in the brokers' principals."""

    def __init__(self, holder: KerberosIdentity, service: str) -> None:
        self._holder = holder
        self._service = service

    def begin(self, host: str) -> InitiatorContext:
        """The security context for the broker on this host. Raises KerberosError."""
        holder = self._holder
        try:
            name = None
            if holder.principal is not None:
                name = raw.import_name(holder.principal.encode(), raw.NameType.kerberos_principal)
            acquired = raw.acquire_cred_from(holder.store(), name, mechs=[raw.MechType.kerberos], usage="initiate")
            target = raw.import_name(f"{self._service}@{host}".encode(), raw.NameType.hostbased_service)
        except GSSError as error:
            raise KerberosError(f"no ticket is available: {said(error)}") from error
        return InitiatorContext(acquired.creds, target)


class InitiatorContext:
    """See ``security/client/gssapi.py``."""

    def __init__(self, credentials: raw.Creds, target: raw.Name) -> None:
        self._credentials = credentials
        self._target = target
        self._context: raw.SecurityContext | None = None
        self.established = False

    def step(self, token: bytes | None) -> bytes | None:
        flags = raw.RequirementFlag.mutual_authentication | raw.RequirementFlag.integrity
        try:
            taken = raw.init_sec_context(
                self._target, self._credentials, self._context, raw.MechType.kerberos, flags, input_token=token
            )
        except GSSError as error:
            raise LoginFailed(f"Kerberos refuses: {said(error)}") from error
        self._context = taken.context
        self.established = not taken.more_steps
        return None if taken.token is None else bytes(taken.token)

    def wrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.wrap(self._context, message, confidential=False).message)
        except GSSError as error:
            raise LoginFailed(f"the security context cannot sign a message: {said(error)}") from error

    def unwrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.unwrap(self._context, message).message)
        except GSSError as error:
            raise LoginFailed(f"the broker's message does not belong to this exchange: {said(error)}") from error
