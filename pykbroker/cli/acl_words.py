"""What the options of ``pykbroker acls`` mean: resources, principals, operations, and what each role needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from pykbroker.client.errors import UsageError
from pykbroker.security import operations, resources
from pykbroker.security.acl import EVERYBODY, AclFilter
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import ANY, WILDCARD

Named = list[tuple[int, str]]
"""Types and names of resources."""

#: Operations that a role needs, by type of the resource.
_PRODUCER = {
    resources.TOPIC: (operations.WRITE, operations.DESCRIBE, operations.CREATE),
    resources.TRANSACTIONAL_ID: (operations.WRITE, operations.DESCRIBE),
}
_CONSUMER = {
    resources.TOPIC: (operations.READ, operations.DESCRIBE),
    resources.GROUP: (operations.READ,),
}


def named(
    topics: list[str] | None,
    groups: list[str] | None,
    transactional_ids: list[str] | None,
    token_owners: list[str] | None,
    *,
    cluster: bool,
) -> Named:
    """Return the resources that the options name, each with its type."""
    kinds = {
        resources.TOPIC: topics,
        resources.GROUP: groups,
        resources.TRANSACTIONAL_ID: transactional_ids,
        resources.USER: token_owners and [principal(owner) for owner in token_owners],
        resources.CLUSTER: [resources.CLUSTER_NAME] if cluster else None,
    }
    return [(kind, name) for kind, names in kinds.items() for name in names or ()]


def filters(
    named: Named, pattern: int, principals: list[str] | None, wanted: list[str] | None, *, permission: int
) -> Iterator[AclFilter]:
    """Return a filter for every combination of resource, principal and operation; what is not given matches any."""
    whom = [principal(each) for each in principals] if principals else [None]
    what = [_operation(each) for each in wanted] if wanted else [ANY]
    of: list[tuple[int, str | None]] = [*named] or [(ANY, None)]
    for (kind, name), who, operation in product(of, whom, what):
        yield AclFilter(kind, name, ANY if name is None else pattern, who, None, operation, permission)


def operations_for(kind: int, named: list[str] | None, *, producer: bool, consumer: bool) -> Iterable[int]:
    """Return the operations to allow or deny on a resource of a type, each once.

    Raises UsageError for an unknown operation.
    """
    wanted = [_operation(name) for name in named or ()]
    wanted += _PRODUCER.get(kind, ()) if producer else ()
    wanted += _CONSUMER.get(kind, ()) if consumer else ()
    return dict.fromkeys(wanted)


def _operation(text: str) -> int:
    name = text.upper().replace("-", "_")
    if name not in OPERATION_NAMES[operations.ALL :]:
        known = ", ".join(each.lower().replace("_", "-") for each in OPERATION_NAMES[operations.ALL :])
        raise UsageError(f"{text!r} is not an operation; the operations are: {known}.")
    return OPERATION_NAMES.index(name)


def principal(text: str) -> str:
    """Return the principal as Kafka writes it: ``alice`` is short for ``User:alice``."""
    if text == WILDCARD:
        return EVERYBODY
    return text if ":" in text else f"User:{text}"
