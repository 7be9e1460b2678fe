"""Whom the controller charges for the partitions that a request creates or deletes (KIP-599)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.mutation_quotas import ChargedClient

if TYPE_CHECKING:
    from pykbroker.security.context import RequestContext


def charged_client(ctx: RequestContext, *, strict_since: int) -> ChargedClient | None:
    """The client of a request, which may be answered THROTTLING_QUOTA_EXCEEDED from version ``strict_since`` on; None if it came
    over no connection that could be throttled.
    """
    if ctx.connection is None:
        return None
    return ChargedClient(ctx.user, ctx.client_id or "", ctx.api_version >= strict_since)
