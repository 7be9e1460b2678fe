"""What each setting means, in a sentence. Loaded only for those who ask (DescribeConfigs with documentation)."""

from __future__ import annotations


def documentation(resource_type: int, name: str) -> str | None:
    """The sentence on a setting of a resource of this type; None where there is none."""
    del resource_type, name
    return None
