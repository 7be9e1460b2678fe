"""Dead letters (KIP-1191): what a share group gives up is written to its dead-letter topic, once for each record.

``giving_up.py`` is the life of it in a share partition, ``writing.py`` writes letters, ``topic.py`` finds or creates the topic, ``places.py``
is a partition of it at its leader, and ``letters.py`` is their form. Source of the rules: Apache Kafka 4.4.0's SharePartition and ShareGroupDLQStateManager.
"""
