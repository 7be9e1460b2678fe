"""The share coordinator's ``__share_group_state``; not served yet.

The share coordinator, which keeps the states of share partitions in ``__share_group_state``, not served yet: ``shard.py``
decides about snapshots and updates, ``state.py`` puts batches of states over each other.
"""
