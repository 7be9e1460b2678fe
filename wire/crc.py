"""CRC-32C, from the extension module of the package crc32c alone.

The package's own ``__init__`` asks importlib.metadata for its version, and with that imports email, zipfile and more: a
tenth of a broker's start. Where the extension is not found as it should be, the package is imported as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec


def _from_extension() -> Callable[..., int]:
    package = find_spec("crc32c")
    places = None if package is None else package.submodule_search_locations
    spec = None if places is None else PathFinder.find_spec("crc32c._crc32c", list(places))
    if spec is None or spec.loader is None:
        from crc32c import crc32c as from_package  # noqa: PLC0415 - see above

        return from_package
    extension = module_from_spec(spec)
    spec.loader.exec_module(extension)
    return extension.crc32c  # type: ignore[no-any-return]  # the package has no types


#: ``crc32c(data)``: the checksum of any buffer; ``crc32c(data, value)`` goes on from that of what came before it.
crc32c = _from_extension()
