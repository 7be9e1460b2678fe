"""The authorized operations in responses (KIP-430); without an authorizer, all operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.security.operations import DESCRIBE, SUPPORTED, operation_bits
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME

if TYPE_CHECKING:
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext

_EVERY = {resource_type: operation_bits(*operations) for resource_type, operations in SUPPORTED.items()}


def authorized_operations(
    authorizer: Authorizer | None, requester: RequestContext, resource_type: int, name: str
) -> int:
    """The operations that the client may do to a topic, a group or the cluster, as bits."""
    if authorizer is None:
        return _EVERY[resource_type]
    may = authorizer.may
    return operation_bits(
        *(
            operation
            for operation in SUPPORTED[resource_type]
            if may(requester, operation, resource_type, name, tells=False)
        )
    )


def cluster_operations(authorizer: Authorizer | None, requester: RequestContext) -> int:
    """The operations that the client may do to the cluster, as bits; none without DESCRIBE."""
    if authorizer is not None and not authorizer.may(requester, DESCRIBE, CLUSTER, CLUSTER_NAME):
        return 0
    return authorized_operations(authorizer, requester, CLUSTER, CLUSTER_NAME)
