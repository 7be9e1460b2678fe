"""The error codes in an answer, by the structure of its class (``refusals/shapes.py``)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from pykbroker.metadata.encoded_once import EncodedOnce
from pykbroker.refusals.shapes import error_sites
from pykbroker.wire.message import Message

#: So many parts of one answer are looked at: one about ten thousand partitions must not cost as much again.
_MOST_PARTS: Final = 1000


def count_errors(response: Any, errors: Counter[int]) -> None:
    """Count the error codes of an answer, 0 for parts that tell none."""
    if isinstance(response, EncodedOnce):  # kept for all who ask alike, which only one without errors is
        errors[0] += 1
        return
    if not isinstance(response, Message):
        return
    found = False
    for site in error_sites(type(response)):
        elements: list[Any] = [response]
        for name in site.path:
            elements = [part for each in elements for part in (getattr(each, name) or ())[:_MOST_PARTS]][:_MOST_PARTS]
        for each in elements:
            errors[getattr(each, site.field)] += 1
            found = True
    if not found:
        errors[0] += 1
