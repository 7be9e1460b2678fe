"""Replication of a partition as pure machines: events and times go in, decisions come out.

``leading`` is a leader's view of its followers, with the high watermark; ``isr`` the in-sync replicas with the change that is proposed to
the controller; ``altering`` the AlterPartition requests of a broker; ``following`` a follower's place in its leader's log. Partitions and
brokers carry out what they decide. No module here reads time, waits, or knows a log: offsets, epochs and milliseconds are arguments.

The rules are those of Kafka's ``Partition``, ``Replica``, ``AbstractFetcherThread`` and ``DefaultAlterPartitionManager``
(KIP-101, 279, 320, 497, 595, 841, 903, 966).
"""
