"""Records of internal topics as JSON, as Kafka's own converters write them: each field that a version has, by its schema's name."""

from __future__ import annotations

import base64
from typing import Any

from pykbroker.container.tools.quota_configs import as_java
from pykbroker.runtime.escaping import escaped_json
from pykbroker.wire.internal.layouts import LAYOUTS
from pykbroker.wire.message import WireStruct
from pykbroker.wire.primitives import uuid_to_str


def as_json(message: WireStruct, version: int) -> dict[str, Any]:
    """The fields of ``message`` in this version; tagged ones only where they differ from their default."""
    record = type(message).__name__
    return _struct(message, version, record, record)


def text(value: Any) -> str:
    """JSON without blanks, with numbers as Java prints them."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{text(name)}:{text(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(text, value))}]"
    if isinstance(value, float):
        return as_java(value)
    return escaped_json(value)


def _struct(message: WireStruct, version: int, record: str, name: str) -> dict[str, Any]:
    shown = {}
    for json_name, attribute, first, last, tagged, kind, struct, default in LAYOUTS[record][name]:
        value = getattr(message, attribute)
        if first <= version <= last and not (tagged and _is_default(value, struct, default)):
            shown[json_name] = _value(value, version, record, struct, kind)
    return shown


def _is_default(value: Any, struct: str | None, default: Any) -> bool:
    """The default of a field that holds one struct is a fresh struct, for which the layout has the struct's name; or none."""
    if struct is not None and isinstance(default, str):
        return value is not None and bool(value == type(value)())
    return bool(value == default)


def _value(value: Any, version: int, record: str, struct: str | None, kind: str) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_value(each, version, record, struct, kind) for each in value]
    if struct is not None:
        return _struct(value, version, record, struct)
    if kind == "uuid":
        return uuid_to_str(value)
    return base64.b64encode(value).decode() if kind == "bytes" else value
