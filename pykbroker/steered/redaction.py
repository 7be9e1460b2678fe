"""Removes secrets from the requests and responses that the request log and recordings keep."""

from __future__ import annotations

import copy
from typing import Any, Final

from pykbroker.config.layers import setting_of
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.message import WireStruct

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


def without_secrets(message: Any) -> Any:
    """The message, or a copy without secrets if its API has any."""
    if message is None or message.API_KEY not in _CONFIGS + _OTHERS:
        return message
    return _hidden(message)


def _hidden(struct: WireStruct) -> Any:
    made: Any = copy.copy(struct)
    for name in struct.__slots__:
        value = getattr(struct, name)
        if name in _FIELDS:
            setattr(made, name, _HIDDEN.encode())
        elif isinstance(value, list) and value and isinstance(value[0], WireStruct):
            setattr(made, name, [_hidden(each) for each in value])
    if getattr(made, "resource_type", None) == BROKER_RESOURCE:
        for each in getattr(made, "configs", ()):
            setting = setting_of(each.name)
            if setting is None or setting.sensitive:
                each.value = _HIDDEN
    return made
