"""A client of Kerberos, on the package ``gssapi``: a key table or a ticket cache says who it is, and the KDC gives tickets for services.

The library asks the KDC, and waits for it.
"""

from __future__ import annotations

from typing import NamedTuple

from gssapi import raw
from gssapi.raw.misc import GSSError

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.kerberos.words import KerberosError, said


class Holder(NamedTuple):
    """Who signs in: by a key table, or by a ticket cache; by the usual one of either where its file is None."""

    principal: str | None
    key_table: str | None = None
    ticket_cache: str | None = None
    has_key: bool = True

    def store(self) -> dict[bytes, bytes]:
        """Where the library looks. Tickets that a key gets are kept in memory."""
        if not self.has_key:
            return {} if self.ticket_cache is None else {b"ccache": f"FILE:{self.ticket_cache}".encode()}
        store = {b"ccache": f"MEMORY:{self.principal}".encode()}
        return store if self.key_table is None else {**store, b"client_keytab": f"FILE:{self.key_table}".encode()}


class Initiator:
    """Of tickets for ``service``, what stands before the / in the principals of brokers."""

    def __init__(self, holder: Holder, service: str) -> None:
        self._holder = holder
        self._service = service

    def begin(self, host: str) -> InitiatorContext:
        """For the broker of this host. Raises KerberosError."""
        holder = self._holder
        try:
            name = None
            if holder.principal is not None:
                name = raw.import_name(holder.principal.encode(), raw.NameType.kerberos_principal)
            acquired = raw.acquire_cred_from(holder.store(), name, mechs=[raw.MechType.kerberos], usage="initiate")
            target = raw.import_name(f"{self._service}@{host}".encode(), raw.NameType.hostbased_service)
        except GSSError as error:
            raise KerberosError(f"no ticket is to be had: {said(error)}") from error
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
            raise LoginFailed(f"Kerberos says: {said(error)}") from error
        self._context = taken.context
        self.established = not taken.more_steps
        return None if taken.token is None else bytes(taken.token)

    def wrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.wrap(self._context, message, confidential=False).message)
        except GSSError as error:
            raise LoginFailed(f"Kerberos says: {said(error)}") from error

    def unwrap(self, message: bytes) -> bytes:
        try:
            return bytes(raw.unwrap(self._context, message).message)
        except GSSError as error:
            raise LoginFailed(f"what the broker says is not of this exchange: {said(error)}") from error
