"""The paths of the registry: what a request asks for, and its answer in JSON. It knows no server; ``pykbroker/http/schema_registry.py`` is one."""
