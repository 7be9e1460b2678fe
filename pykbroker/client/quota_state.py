"""DescribeClientQuotas and AlterClientQuotas (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.wire.messages import alter_client_quotas as altering
from pykbroker.wire.messages import describe_client_quotas as describing

#: Match types of filters.
EXACT: Final = 0
DEFAULT: Final = 1
ANY: Final = 2


def described_quotas(
    client: Client, components: list[describing.ComponentData], *, strict: bool = False
) -> list[describing.EntryData]:
    """Return the quotas of the matching entities; with ``strict`` of those only that have no other parts.

    Raises the KafkaError of the response.
    """
    request = describing.DescribeClientQuotasRequest(components=components, strict=strict)
    answer = client.any().call(request, describing.DescribeClientQuotasResponse)
    raise_for(answer.error_code, answer.error_message)
    return answer.entries or []


def alter_quotas(
    client: Client, entity: Mapping[str, str | None], changes: Sequence[altering.OpData], *, dry_run: bool = False
) -> list[altering.AlterClientQuotasResponseEntryData]:
    """Alter the quotas of an entity, given as names by type (None: the default of that type); returns the results."""
    parts = [altering.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    entry = altering.AlterClientQuotasRequestEntryData(entity=parts, ops=list(changes))
    request = altering.AlterClientQuotasRequest(entries=[entry], validate_only=dry_run)
    return client.controller().call(request, altering.AlterClientQuotasResponse).entries
