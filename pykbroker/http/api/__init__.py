"""``/api/v1``: the API for tests in any language.

``table.py`` is the list of routes, from which the OpenAPI description (``description.py``) is generated; ``router.py``
finds a request's route. The routes use the same objects as the Python API (``steered/steering.py``). Imported with the first
request.
"""
