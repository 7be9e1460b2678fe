"""Which quotas there are, and how they are altered (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pykbroker.cli.client import Client, raise_for
from pykbroker.wire.messages import alter_client_quotas as altering
from pykbroker.wire.messages import describe_client_quotas as describing

#: How a filter matches the name of an entity.
EXACT: Final = 0
DEFAULT: Final = 1
ANY: Final = 2


def described_quotas(
    client: Client, components: list[describing.ComponentData], *, strict: bool = False
) -> list[describing.EntryData]:
    """The quotas of the entities that match; with ``strict`` of those alone that have no other parts. Raises the answer's
    KafkaError.
    """
    request = describing.DescribeClientQuotasRequest(components=components, strict=strict)
    answer = client.any().call(request, describing.DescribeClientQuotasResponse)
    raise_for(answer.error_code, answer.error_message)
    return answer.entries or []


def alter_quotas(
    client: Client, entity: Mapping[str, str | None], changes: Sequence[altering.OpData], *, dry_run: bool = False
) -> list[altering.AlterClientQuotasResponseEntryData]:
    """Ask for changes to the quotas of an entity, names by type (None: the default of that type); returns what is said of it."""
    parts = [altering.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    entry = altering.AlterClientQuotasRequestEntryData(entity=parts, ops=list(changes))
    request = altering.AlterClientQuotasRequest(entries=[entry], validate_only=dry_run)
    return client.controller().call(request, altering.AlterClientQuotasResponse).entries
