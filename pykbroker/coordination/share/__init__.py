"""The share coordinator, which keeps the states of share partitions in ``__share_group_state``.

``shard.py`` decides about snapshots and updates, ``state.py`` puts batches of states over each other. Leaders and group
coordinators reach it by the ``ShareStatePort`` (``port.py``).
"""
