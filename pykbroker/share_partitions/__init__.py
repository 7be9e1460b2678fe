"""Share groups' view of a partition (KIP-932), as a pure state machine; not served yet.

Share groups' view of a partition (KIP-932), not served yet. ``share_partition.py`` is a pure state machine: which records
are in flight, in which state, and who has acquired them; ``acquiring.py`` is one acquisition, ``in_flight.py`` keeps records
that share a state together as runs.
"""
