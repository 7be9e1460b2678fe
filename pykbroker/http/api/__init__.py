"""``/api/v1``: the interface for tests in any language, over HTTP.

``table.py`` is the one list of what can be asked; the OpenAPI description (``description.py``) is made of it. ``door.py``
takes a request to its row. All is done by the objects that the Python interface drives (``steering.py``). Imported with
the first request.
"""
