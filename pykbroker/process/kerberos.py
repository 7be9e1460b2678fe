"""GSSAPI by its settings: the broker's service principal, and the mapping of clients' principals to users."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from pykbroker.config.listener_security import MechanismSettings
from pykbroker.config.setting import ConfigError
from pykbroker.extras import install_hint
from pykbroker.security.file_permissions import warn_if_exposed
from pykbroker.security.kerberos.login_module import SERVICE, file_of, is_true
from pykbroker.security.kerberos.names import NameRuleError, ShortNames
from pykbroker.security.sasl.gssapi import GssapiExchange
from pykbroker.security.sasl.mechanism import Mechanism

_RULES: Final = "sasl.kerberos.principal.to.local.rules"
_MISSING: Final = (
    "GSSAPI needs the package gssapi, which is not installed ({}). It is compiled against the libraries of MIT's Kerberos (on Debian: "
    f"apt-get install gcc python3-dev libkrb5-dev); then {install_hint('kerberos')}"
)


def with_tickets(settings: MechanismSettings) -> Mechanism:
    """The factory of exchanges for these settings. Raises ConfigError."""
    options = settings.module.options
    _check_service_name(options, settings.value(SERVICE))
    principal = _principal(options)
    try:
        from pykbroker.security.kerberos.acceptor import Acceptor, default_realm
        from pykbroker.security.kerberos.errors import KerberosError
    except ImportError as error:
        raise ConfigError(_MISSING.format(error)) from error
    if (key_table := file_of(options, "keyTab")) is not None:
        warn_if_exposed(key_table, "keys of Kerberos")
    try:
        acceptor = Acceptor(principal, key_table)
        names = ShortNames(settings.value(_RULES), default_realm())
    except (KerberosError, NameRuleError) as error:
        raise ConfigError(f"GSSAPI: {error}") from error
    return partial(GssapiExchange, acceptor.begin, names.user)


def _check_service_name(options: Mapping[str, str], setting: str | None) -> None:
    """Check the service name, for which clients request tickets: as in Kafka, exactly one of two places has it."""
    own = options.get("serviceName")
    if own is None and setting is None:
        raise ConfigError(
            f"GSSAPI needs {SERVICE}: what stands before the / in the principals of brokers, kafka for one"
        )
    if own is not None and setting is not None and own != setting:
        raise ConfigError(f"{SERVICE} is {setting}, and serviceName of the login module is {own}: write one of them")


def _principal(options: Mapping[str, str]) -> str:
    """The principal of the key table. Options are refused that Java's login module would handle differently, or not support for
    a broker.
    """
    for option, why in (
        ("useKeyTab", "a broker has its key from a key table, no password and no ticket cache"),
        ("storeKey", "without it Java's login module keeps no key for a broker"),
    ):
        if not is_true(options, option):
            raise ConfigError(f'the login module of GSSAPI needs {option}="true": {why}')
    principal = options.get("principal", "*")
    if principal == "*":
        raise ConfigError(
            'the login module of GSSAPI needs principal="kafka/<host>@<REALM>", by which clients know the broker'
        )
    return principal
