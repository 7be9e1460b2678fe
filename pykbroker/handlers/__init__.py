"""One file per API key, and ``table.py``, the table of served APIs.

One file per API key, opening with its card: versions, behaviour, what is left out. ``fetching/`` has the steps of Fetch.
``table.py`` has ``SUPPORTED``, the table of served APIs; ``contract.py`` is the interface of a handler and what it may
raise.
"""
