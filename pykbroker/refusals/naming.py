"""Names in elements of requests and answers: topics, partitions, groups, at any level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykbroker.refusals import shapes
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.message import WireStruct

#: Roles and values of one thing that a request is about, and of all around it.
Names = dict[str, Any]
Wanted = Callable[[Names], bool]

_GROUP_KEY = 0
_TOPIC_RESOURCE, _GROUP_RESOURCE = 2, 32


def own_names(struct: Any, around: Names) -> Names:
    """What an element says of itself, added to what stands around it."""
    names = {**around, **{role: getattr(struct, name) for role, name in shapes.identity(type(struct)).items()}}
    if names.get("resource_type") == _TOPIC_RESOURCE:
        names["topic"] = names.get("resource_name")
    elif names.get("resource_type") == _GROUP_RESOURCE:
        names["group"] = names.get("resource_name")
    return names


def item_names(field: shapes.Field, item: Any, around: Names) -> Names:
    """The same of an item of a list, an element or a plain value."""
    if isinstance(item, WireStruct):
        return own_names(item, around)
    assert field.role is not None
    named = {**around, field.role: item}
    if field.role == "key" and around.get("key_type") == _GROUP_KEY:
        named["group"] = item
    return named


def around(request: Any) -> Names:
    """What a request as a whole is about."""
    names = own_names(request, {})
    if request.API_KEY == ApiKey.FIND_COORDINATOR:
        names["key_type"] = request.key_type
        if request.key_type == _GROUP_KEY and request.key:
            names["group"] = request.key
    return names
