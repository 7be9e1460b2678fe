"""Authorization of requests: what each API requires, in Kafka's order; imported with an authorizer.

Authorization of requests: ``table.py`` lists what each API requires, in Kafka's order, as checks (``whole.py``,
``items.py``, ``special.py``), which ``step.py`` wraps around the handlers. Imported with an authorizer.
"""
