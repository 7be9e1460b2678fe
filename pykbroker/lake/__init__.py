"""Topics to a lake of tables and back, on Spark: against any Kafka, over PySpark alone (the extra ``spark``).

What imports PySpark at its head runs where Spark does; ``ledger``, ``book``, ``description``, ``needs`` and ``trouble`` do
not, so that a command can say what is missing, and how far an archive is, before anything is started.
"""
