"""Authorization of requests: what each API requires, in Kafka's order; imported with an authorizer.

``table.py`` lists the rights as checks (``whole.py``, ``items.py``, ``special.py``), which ``step.py`` wraps around the handlers.
"""
