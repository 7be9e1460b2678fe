"""The brokers of a process, and what they share.

``cluster.py`` is the state that the brokers of a process share, ``broker.py`` one of them. ``lifecycle.py`` registers, stops
and starts brokers; ``partition_table.py`` keeps the partitions in line with the metadata; ``producer_ids.py`` keeps a block
of producer ids, ``auto_creation.py`` creates topics on first use, ``changes.py`` logs changes of the metadata.
"""
