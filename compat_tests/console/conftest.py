"""One broker and one browser for all; each test has a page of its own, of which nothing may be complained about."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pykbroker.testing import Kafka

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
#: Milliseconds for what is awaited: a machine may be busy.
PATIENCE_MS = 60_000


@pytest.fixture(scope="package")
def kafka() -> Iterator[Kafka]:
    with Kafka(brokers=2, http=0) as kafka:
        yield kafka


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (on Debian: apt-get install chromium)")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, kafka: Kafka) -> Iterator[Callable[..., Page]]:
    """Opens a view in a new profile. At the end nothing may have gone wrong in it: no error, no refused script, no dialog of a
    script, and no request to anybody but the broker. ``complaints`` are what a test expects.
    """
    contexts: list[Any] = []
    wrong: list[str] = []
    expected: list[str] = []

    def open_view(
        view: str = "overview",
        *,
        at: str | None = None,
        complaints: tuple[str, ...] = (),
        waits: bool = True,
        **how: Any,
    ) -> Page:
        home = f"http://{at or kafka.http_address}/"
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | how))
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        expected.extend(complaints)
        page = context.new_page()
        page.on("console", lambda each: wrong.append(each.text) if each.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda each: None if each.url.startswith(home) else wrong.append(f"asked {each.url}"))
        page.goto(f"{home}console/#/{view}")
        if waits:
            page.wait_for_selector("main h1")
        return page

    yield open_view
    for context in contexts:
        context.close()
    assert [each for each in wrong if not any(word in each for word in expected)] == []
