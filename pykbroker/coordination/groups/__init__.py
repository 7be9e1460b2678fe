"""Group membership and committed offsets, as pure state machines.

Group membership and committed offsets, as pure state machines: ``kinds.py`` is the interface of all kinds of groups,
``no_group.py`` implements it for a group that does not exist, ``replaying.py`` builds groups from records. ``assignors/``
are Kafka's server-side assignors, ``patterns.py`` matches topics in RE2's syntax.
"""
