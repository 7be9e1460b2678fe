"""The brokers of a process, and what they share.

``broker.py`` is a broker, which owns its node: its store (``store.py``) with the partitions in it (``partition_table.py``),
its coordinators, fetch sessions and view of the metadata. ``Broker.partition`` finds what is here, ``Broker.absent`` says of
the rest whether it exists. ``cluster.py`` is the view of those who look at all brokers of the process. ``lifecycle.py``
registers, stops and starts brokers; ``producer_ids.py`` keeps a block of producer ids, ``auto_creation.py`` creates topics
on first use, ``changes.py`` logs changes of the metadata, ``log_configs.py`` has the settings of logs.
"""
