"""Quotas of users, client ids, addresses, and users with client ids, as ``kafka-configs`` describes and alters them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.client.quota_state import ANY, DEFAULT, EXACT, alter_quotas, described_quotas
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import ToolError
from pykbroker.security.sasl.scram import MECHANISMS
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.alter_client_quotas import OpData
from pykbroker.wire.messages.describe_client_quotas import ComponentData, EntryData
from pykbroker.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

#: Entity types of the command, to those of the protocol; an empty name is the default entity.
KINDS: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
_TITLES: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7


def describe(client: Client, kinds: Sequence[str], names: Sequence[str]) -> None:
    """Print the quotas and, for users alone, their SCRAM credentials. Raises ToolError."""
    for entry in _quotas(client, kinds, names):
        values = ", ".join(f"{value.key}={as_java(value.value)}" for value in entry.values)
        print_lines(f"Quota configs for {_title(entry)} are {values}")
    if list(kinds) == ["users"] and "" not in names:
        _describe_credentials(client, names)


def _quotas(client: Client, kinds: Sequence[str], names: Sequence[str]) -> list[EntryData]:
    if len(names) > len(kinds):
        raise ToolError("More entity names specified than entity types")
    components = [
        ComponentData(
            entity_type=KINDS[kind],
            match_type=ANY if name is None else EXACT if name else DEFAULT,
            match=name or None,
        )
        for kind, name in zip_longest(kinds, names)
    ]
    return described_quotas(client, components, strict=True)


def _title(entry: EntryData) -> str:
    there = {part.entity_type: part.entity_name for part in entry.entity}
    return ", ".join(
        f"the default {title}" if there[kind] is None else f"{title} '{there[kind]}'"
        for kind, title in _TITLES.items()
        if kind in there
    )


def _describe_credentials(client: Client, names: Sequence[str]) -> None:
    users = [UserName(name=name) for name in names] or None
    request = DescribeUserScramCredentialsRequest(users=users)
    answer = client.controller().call(request, DescribeUserScramCredentialsResponse)
    raise_for(answer.error_code, answer.error_message)
    for user in answer.results:
        if user.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        raise_for(user.error_code, user.error_message)
        known = ", ".join(
            f"{MECHANISMS[each.mechanism]}=iterations={each.iterations}" for each in user.credential_infos
        )
        print_lines(f"SCRAM credential configs for user-principal '{user.user}' are {known}")


def alter(
    client: Client, kinds: Sequence[str], names: Sequence[str], added: Mapping[str, str], removed: Sequence[str]
) -> None:
    """Alter quotas. Raises ToolError, and the KafkaError of the response."""
    if len(names) != len(kinds):
        raise ToolError("--entity-name or --entity-default must be specified with each --entity-type for --alter")
    there = {value.key for entry in _quotas(client, kinds, names) for value in entry.values}
    if missing := [name for name in removed if name not in there]:
        raise ToolError(f"Invalid config(s): {','.join(missing)}")
    changes = [OpData(key=name, value=_number(name, text), remove=False) for name, text in added.items()]
    changes += [OpData(key=name, value=0.0, remove=True) for name in removed]
    entity = {KINDS[kind]: name or None for kind, name in zip(kinds, names, strict=True)}
    for answer in alter_quotas(client, entity, changes):
        if answer.error_code:
            raise KafkaError(error_code(answer.error_code), answer.error_message or None)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ToolError(f"Cannot parse quota configuration value for {name}: {text}") from None


def as_java(value: float) -> str:
    """Return a number as Java prints a double."""
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    digits, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{digits if '.' in digits else f'{digits}.0'}E{int(exponent)}"
