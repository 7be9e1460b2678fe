"""Streams groups (KIP-1071): the coordinator assigns the tasks of a Kafka Streams application.

``heartbeats.py`` is the effect of a member's request, ``topology.py`` what the application consists of, ``configuring.py`` the partitions
of its topics, ``sticky.py`` the assignor, ``targets.py`` when it is asked, ``reconciling.py`` a member's step towards its target.
"""
