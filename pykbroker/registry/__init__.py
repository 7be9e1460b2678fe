"""A schema registry that speaks the REST interface of Confluent's, with its state in the topic ``_schemas`` of the same brokers.

Off by default, and imported only when it is on (extra ``registry``). Source of paths, codes, records and rules: the public documentation and
description (version 8) of Confluent's Schema Registry. docs/schema-registry.md lists what is not served.
"""
