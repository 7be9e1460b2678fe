"""An environment from before the registry lacks its packages; scripts/test brings them."""

from __future__ import annotations

from importlib.util import find_spec

_NEEDED = {
    "test_avro.py": "avro",
    "test_json_diff.py": "jsonschema",
    "test_protobuf_diff.py": "grpc_tools",
    "test_avro_text.py": "avro",
    "test_json_schema.py": "jsonschema",
    "test_protobuf.py": "grpc_tools",
}
collect_ignore = [name for name, package in _NEEDED.items() if find_spec(package) is None]
