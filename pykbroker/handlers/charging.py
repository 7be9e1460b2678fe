"""Whom the controller charges for the partitions that a request creates or deletes (KIP-599)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from pykbroker.controller.mutation_quotas import Charged, ChargedClient

if TYPE_CHECKING:
    from pykbroker.security.context import RequestContext


T = TypeVar("T")


def charged_client(ctx: RequestContext, *, strict_since: int) -> ChargedClient | None:
    """The client of a request, which may be answered THROTTLING_QUOTA_EXCEEDED from version ``strict_since`` on; None if it came
    over no connection that could be throttled.
    """
    if ctx.connection is None:
        return None
    return ChargedClient(ctx.user, ctx.client_id or "", ctx.api_version >= strict_since)


def joined(parts: Sequence[Charged[list[T]]]) -> Charged[list[T]]:
    """The results of a request that the controller was asked in parts; its client is throttled by what the strictest part says."""
    return Charged(
        [each for part in parts for each in part.result], max((part.throttle_time_ms for part in parts), default=0)
    )
