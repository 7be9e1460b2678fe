"""Builds a client's GSSAPI mechanism from its settings: principal, key table or ticket cache, and service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pykbroker.extras import install_hint
from pykbroker.security.client.gssapi import GssapiLogin
from pykbroker.security.client.login import LoginFailed, Mechanism
from pykbroker.security.kerberos.login_module import SERVICE, file_of, is_true

if TYPE_CHECKING:
    from pykbroker.security.kerberos.initiator import KerberosIdentity


def with_ticket(settings: Mapping[str, str], options: Mapping[str, str]) -> Mechanism:
    """The mechanism for the options of Krb5LoginModule. Raises ValueError."""
    service = settings.get(SERVICE) or options.get("serviceName")
    if not service:
        raise ValueError(f"{SERVICE} is not set: it is the part before the / in the brokers' principals, usually kafka")
    try:
        from pykbroker.security.kerberos.errors import KerberosError
        from pykbroker.security.kerberos.initiator import Initiator
    except ImportError as error:
        raise ValueError(
            f"GSSAPI needs the package gssapi, which is not installed ({error}): {install_hint('kerberos')}"
        ) from error
    holder = _holder(options)
    initiator = Initiator(holder, service)

    def begin(host: str) -> GssapiLogin:
        try:
            return GssapiLogin(initiator.begin(host))
        except KerberosError as error:
            raise LoginFailed(str(error)) from error

    return Mechanism("GSSAPI", holder.principal or "the principal of the ticket cache", begin)


def _holder(options: Mapping[str, str]) -> KerberosIdentity:
    from pykbroker.security.kerberos.initiator import KerberosIdentity

    principal = options.get("principal")
    if is_true(options, "useKeyTab"):
        if principal is None:
            raise ValueError('the login module has useKeyTab=true, but no principal="..." to look up in the key table')
        return KerberosIdentity(principal, key_table=file_of(options, "keyTab"))
    if is_true(options, "useTicketCache"):
        return KerberosIdentity(principal, ticket_cache=file_of(options, "ticketCache"), has_key=False)
    raise ValueError(
        'the login module needs useKeyTab=true with keyTab="..." and principal="...", or useTicketCache=true: '
        "there is no prompt for a password"
    )
