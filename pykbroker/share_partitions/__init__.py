"""Share groups' view of the partitions that a broker leads (KIP-932); imported with the first ShareFetch.

``share_partition.py`` is a pure state machine: which records are in flight, in which state, and who has acquired them;
``acquiring.py`` is one acquisition, ``in_flight.py`` keeps records that share a state together as runs. ``leading.py`` reads
the log for it, persists its changes at the share coordinator and keeps the time of locks; ``manager.py`` has those of a
broker, ``sessions.py`` the share sessions of its clients. ``dead_letters/`` writes what a group gives up to its dead-letter topic.
"""
