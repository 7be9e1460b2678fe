"""A schema registry that speaks the REST interface of Confluent's, with its state in the topic ``_schemas`` of the same brokers.

Off by default, and imported only when it is on (extra ``registry``). Source of paths, codes, records and rules: the public documentation and
description (version 8) of Confluent's Schema Registry. docs/schema-registry.md lists what is not served.

A schema registry, imported only if it is on (``http/schema_registry.py`` is its port). ``topic.py`` appends to and reads
``_schemas`` while no other registry leads (``others.py``), ``records.py`` is its format, ``state.py`` (pure) what the records say and ``deciding.py`` (pure) what a
request adds; ``registry.py`` does both, and parses in threads (``parsing.py``). ``formats/`` has Avro, JSON Schema and
Protobuf, which ``compatibility.py`` compares by mode, and ``rest/`` the paths, in one table. It uses protoc by
``lake/values/protoc.py``.
"""
