"""A broker that goes away beneath an open page, or is another one afterwards: the page says so, once, and goes on by itself."""

from __future__ import annotations

import socket

import pytest
from playwright.sync_api import expect

from pykbroker.testing import Kafka

#: What the browser itself says of a broker that is away.
_AWAY = (
    "ERR_CONNECTION_REFUSED",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
    "503",
    "404",
)


#: Whether a click on the first three links reaches them.
_UNCOVERED = """() => [...document.querySelectorAll("#nav a")].slice(0, 3).map((link) => {
  link.scrollIntoView();
  const { left, top, width, height } = link.getBoundingClientRect();
  return document.elementFromPoint(left + width / 2, top + height / 2) === link;
})"""


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def test_a_view_goes_on_when_the_broker_is_back(opened, port, tmp_path):
    with Kafka(http=port, data_dir=tmp_path) as kafka:
        kafka.create_topic("before")
        page = opened("topics", at=kafka.http_address, complaints=_AWAY)
        expect(page.locator("tbody")).to_contain_text("before")
    expect(page.locator(".away")).to_have_text("The broker does not answer. This page goes on by itself when it does.")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(_UNCOVERED) == [True, True, True]
    page.set_viewport_size({"width": 1280, "height": 800})
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(page.locator("h1")).to_have_text("This could not be shown")
    assert page.locator(".toast").count() == 0
    with Kafka(http=port, data_dir=tmp_path):
        expect(page.locator("h1")).to_have_text("Groups")
        expect(page.locator(".away")).to_have_text("")
        page.keyboard.press("g")
        page.keyboard.press("t")
        expect(page.locator("tbody")).to_contain_text("before")


def test_following_goes_on_when_the_broker_is_back(opened, port, tmp_path):
    with Kafka(http=port, data_dir=tmp_path) as kafka:
        kafka.create_topic("followed")
        page = opened("topic?name=followed", at=kafka.http_address, complaints=_AWAY)
        page.click("button:text-is('Follow')")
        expect(page.locator(".status")).to_contain_text("waiting for records")
    expect(page.locator(".status")).to_contain_text("interrupted")
    with Kafka(http=port, data_dir=tmp_path) as kafka:
        expect(page.locator(".status")).to_contain_text("waiting for records")
        kafka.produce("followed", "after")
        expect(page.locator(".row .value")).to_have_text("after")


def test_following_goes_on_after_a_restored_snapshot(opened):
    with Kafka(http=0) as kafka:
        kafka.create_topic("followed")
        kafka.snapshot("early")
        page = opened("topic?name=followed", at=kafka.http_address, complaints=_AWAY)
        page.click("button:text-is('Follow')")
        expect(page.locator(".status")).to_contain_text("waiting for records")
        kafka.restore("early")
        expect(page.locator(".status")).to_contain_text("interrupted")
        expect(page.locator(".status")).to_contain_text("waiting for records")
        kafka.produce("followed", "after")
        expect(page.locator(".row .value")).to_have_text("after")


def test_a_topic_deleted_and_made_again_ends_what_follows_it(opened, kafka):
    kafka.create_topic("made-again")
    page = opened("topic?name=made-again", complaints=_AWAY)
    page.click("button:text-is('Follow')")
    expect(page.locator(".status")).to_contain_text("waiting for records")
    kafka.delete_topic("made-again")
    kafka.create_topic("made-again")
    kafka.produce("made-again", "of the new one")
    expect(page.locator(".toast.bad")).to_contain_text("Following has ended")
