"""Where the value of a setting comes from, in words for people (DescribeConfigsResponse's ConfigSource)."""

from __future__ import annotations

_NAMES = {
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "static",
    5: "default",
    6: "logger",
    7: "client metrics",
    8: "group",
}


def source_name(source: int) -> str:
    """``topic``, ``broker`` (set on this one), ``all brokers``, ``static`` (its file), ``default``, ..."""
    return _NAMES.get(source, "unknown")
