"""CRC-32C, from the extension module of the package crc32c, without importing the package.

The package's ``__init__`` gets its version from importlib.metadata, which imports email, zipfile and more: a tenth of a
broker's start. If the extension module is not found, the whole package is imported.
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
        from crc32c import crc32c as from_package

        return from_package
    extension = module_from_spec(spec)
    spec.loader.exec_module(extension)
    return extension.crc32c  # type: ignore[no-any-return]  # the package has no types


#: ``crc32c(data)`` is the checksum of a buffer; ``crc32c(data, value)`` continues from the checksum of the preceding bytes.
crc32c = _from_extension()
