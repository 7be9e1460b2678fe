"""Which pages may change something, and which are those of others."""

from __future__ import annotations

import pytest

from pykbroker.http.origin import is_own


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://[::1]:8080", "[::1]:8080"),
        ("http://Kafka:8080", "kafka:8080"),
        ("http://kafka", "kafka"),
        ("http://kafka", "kafka:80"),
        # behind a proxy that ends TLS
        ("https://console.example", "console.example"),
        ("https://console.example", "console.example:443"),
        ("https://console.example:8443", "console.example:8443"),
    ],
)
def test_its_own(origin: str, host: str) -> None:
    assert is_own([origin], [host], [])
    assert is_own([origin], [host], ["same-origin"])


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("null", "kafka:8080"),
        ("", "kafka:8080"),
        ("kafka:8080", "kafka:8080"),
        ("https://evil.example", "kafka:8080"),
        ("http://kafka:8081", "kafka:8080"),  # another server of the same machine
        ("http://kafka", "kafka:8080"),
        ("http://kafka:8080", "kafka"),
        # port 80 and port 443 of one name may be different people's
        ("http://console.example", "console.example:443"),
        ("https://console.example", "console.example:80"),
        ("https://console.example:80", "console.example"),
        # names that begin or end alike
        ("http://kafka.evil.example:8080", "kafka:8080"),
        ("http://evil-kafka:8080", "kafka:8080"),
        ("http://kafka:80801", "kafka:8080"),
        # what no browser sends
        ("http://kafka:8080@evil.example", "kafka:8080"),
        ("http://evil.example@kafka:8080", "kafka:8080"),
        ("http://kafka:8080/evil", "kafka:8080"),
        ("http://kafka:8080?", "kafka:8080"),
        ("http://kafka:8080 ", "kafka:8080"),
        ("http://kafka:8080 http://evil.example", "kafka:8080"),
        ("http://kafka:8080,http://evil.example", "kafka:8080"),
        ("ftp://kafka:8080", "kafka:8080"),
        ("file://kafka:8080", "kafka:8080"),
        ("javascript://kafka:8080", "kafka:8080"),
        ("http://kafka:\u0668\u0660", "kafka:80"),
        ("http://", ""),
        ("http://:8080", ":8080"),
        ("http://kafka:8080", "kafka:8080, evil.example"),
        ("http://kafka:", "kafka"),
    ],
)
def test_those_of_others(origin: str, host: str) -> None:
    assert not is_own([origin], [host], [])


def test_a_program_says_nothing_of_pages() -> None:
    assert is_own([], ["kafka:8080"], [])


def test_of_two_pages_neither_is_believed() -> None:
    assert not is_own(["http://kafka:8080", "http://evil.example"], ["kafka:8080"], [])
    assert not is_own(["http://kafka:8080"], ["kafka:8080", "evil.example"], [])
    assert not is_own(["http://kafka:8080"], [], [])


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "", "same-origin, cross-site"])
def test_what_the_browser_says_of_the_page_counts_too(site: str) -> None:
    """http://console.example may be anybody's who is on the way; over TLS, its Origin and the Host are alike."""
    assert not is_own(["http://console.example"], ["console.example"], [site])
    assert not is_own(["http://console.example"], ["console.example"], ["same-origin", site])
    assert not is_own([], ["console.example"], [site])
