"""Removes secrets from the requests and responses that the request log and recordings keep."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from pykbroker.config.layers import setting_of
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.message import WireStruct

if TYPE_CHECKING:
    from pykbroker.runtime.slices import Steps

_CONFIGS: Final = (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
#: APIs with fields that are secrets.
_OTHERS: Final = (
    ApiKey.SASL_AUTHENTICATE,  # reaches the dispatcher on listeners without SASL
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
)
_FIELDS: Final = ("salted_password", "hmac", "auth_bytes")
_HIDDEN: Final = "(hidden)"
#: The weight of a struct that is copied.
_WEIGHT: Final = 0.8


def without_secrets(message: Any) -> Generator[float, None, Any]:
    """The message, or a copy without secrets if its API has any; in slices."""
    if message is None or message.API_KEY not in _CONFIGS + _OTHERS:
        return message
    return (yield from copied(message, _hide))


def copied(struct: WireStruct, change: Callable[[Any], Steps]) -> Generator[float, None, Any]:
    """A copy of a message, and of all structs in it, each of which ``change`` changes."""
    made = copy.copy(struct)
    for name in struct.__slots__:
        value = getattr(struct, name)
        if isinstance(value, list) and value and isinstance(value[0], WireStruct):
            parts = []
            for each in value:
                part = yield from copied(each, change)
                parts.append(part)
            setattr(made, name, parts)
    yield from change(made)
    yield _WEIGHT
    return made


def _hide(struct: Any) -> Steps:
    for name in struct.__slots__:
        if name in _FIELDS:
            setattr(struct, name, _HIDDEN.encode())
    if getattr(struct, "resource_type", None) == BROKER_RESOURCE:
        for each in getattr(struct, "configs", ()):
            setting = setting_of(each.name)
            if setting is None or setting.sensitive:
                each.value = _HIDDEN
            yield _WEIGHT
