"""Group membership and committed offsets, as pure state machines.

Group membership and committed offsets, as pure state machines: ``kind.py`` is what the coordinator asks of all kinds of
groups, ``kinds.py`` has a row for each, ``no_group.py`` is the kind of a group that does not exist, ``replaying.py`` builds
groups from records. Requests are steps: the offsets' in ``shard.py``, a protocol's in the ``requests.py`` of its folder.
``assignors/`` are Kafka's server-side assignors, ``patterns.py`` matches topics in RE2's syntax.
"""
