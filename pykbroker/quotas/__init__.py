"""Quotas (KIP-13, KIP-124, KIP-546, KIP-599): measures what clients use, and how long to throttle those above a limit.

Client quotas: ``limits.py`` (which quota applies to whom) and ``connections.py`` (number and rate of connections) are pure, and
measure by ``runtime/rates.py`` (Kafka's windows and token bucket); ``usage.py`` keeps the usage of all clients,
``request_time.py`` measures requests outside their handlers; ``step.py`` fills the place THROTTLE while there are quotas
(``throttling.py``). Imported with the first quota.
"""
