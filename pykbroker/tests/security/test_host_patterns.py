"""Hosts of access lists. Answers and words were read from Kafka 4.4.0's own class (CidrUtils)."""

from __future__ import annotations

import pytest

from pykbroker.security.host_patterns import HostPatternError, check_range, matches


@pytest.mark.parametrize(
    "host",
    [
        "1.2.3.0/24",
        "1.2.3.4/0",
        "01.2.3.4/8",
        "::1/128",
        "::/0",
        "fe80::1%eth0/64",
        "[::1]/64",
        "::1.2.3.4/8",
        "::1/+64",
    ],
)
def test_ranges(host: str) -> None:
    assert check_range(host) is None


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("1.2.3/24", "Could not parse [1.2.3/24]"),
        ("1.2.3.4/33", "Value [33] not in range [0,32]"),
        ("256.1.1.1/33", "Value [256] not in range [0,255]"),
        ("1.2.3.4/255.255.255.0", "Could not parse [1.2.3.4/255.255.255.0]"),
        ("a/b", "Could not parse [a/b]"),
        ("::1/129", "Could not parse [::1/129] - prefix length must be between 0 and 128"),
        ("::1/-1", "Could not parse [::1/-1] - prefix length must be between 0 and 128"),
        ("::1/64/3", "Could not parse [::1/64/3] - invalid prefix length"),
        ("::1/" + "9" * 5000, f"Could not parse [::1/{'9' * 5000}] - invalid prefix length"),
        ("::ffff:1.2.3.4/96", "Could not parse [::ffff:1.2.3.4] - not an IPv6 address"),
        ("localhost:1/2", "Could not parse [localhost:1]"),
        ("::1%/64", "Could not parse [::1%]"),
    ],
)
def test_what_is_no_range(host: str, said: str) -> None:
    with pytest.raises(HostPatternError) as refused:
        check_range(host)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("pattern", "host", "does"),
    [
        ("*", "1.2.3.4", True),
        ("1.2.3.4", "1.2.3.4", True),
        ("1.2.3.4", "1.2.3.5", False),
        ("1.2.3.0/24", "1.2.3.255", True),
        ("1.2.3.0/24", "1.2.4.0", False),
        ("1.2.3.4/31", "1.2.3.5", True),
        ("1.2.3.4/0", "255.255.255.255", True),
        ("1.2.3.4/0", "0.0.0.0", False),
        ("1.2.3.4/8", "::1", False),
        ("::/0", "1.2.3.4", False),
        ("::/0", "0:0:0:0:0:0:0:0", True),
        ("fe80::1/64", "fe80:0:0:0:0:0:0:9%2", True),
        ("fe80::1/64", "fe81::9", False),
        ("::/0", "", False),
        ("x/y", "1.2.3.4", False),
        ("x/y", "x/y", True),
    ],
)
def test_who_is_meant(pattern: str, host: str, does: bool) -> None:
    assert matches(pattern, host) is does
