"""Archives topics to a lake of tables and replays them, on Spark. It works with any Kafka and needs only PySpark (the extra ``spark``).

``ledger``, ``ledger_files``, ``description``, ``requirements`` and ``errors`` do not import PySpark. So a command can report missing parts and the
archive's progress without it.
"""
