"""A client of any Kafka cluster over blocking sockets: connections, members of groups, and views of the cluster's state.

Used by the commands, by Kafka's commands in the image, by tests and by recorded sessions. The broker does not know it.

``connection.py`` is one connection (``authentication.py`` its TLS and SASL, ``frames.py`` its bytes), ``client.py`` finds leaders
and coordinators and retries, ``fetcher.py``, ``producer.py`` and ``membership.py`` read, write and join groups, ``offsets.py``,
``group_state.py``, ``transaction_state.py`` and others read and change the cluster's state, ``internal_records.py`` decodes
records of internal topics, ``registry_client.py`` asks a schema registry, ``errors.py`` is what it raises.
"""
