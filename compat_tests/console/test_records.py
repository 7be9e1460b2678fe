"""Records in the page: produced, found, followed, looked at, however many there are."""

from __future__ import annotations

import json
import re

import pytest
from confluent_kafka import Producer
from playwright.sync_api import expect

from pykbroker.wire.records import Compression, Record, encode_batch


@pytest.fixture(scope="module")
def large(kafka):
    """A topic with a hundred thousand records, of which one is looked for."""
    kafka.create_topic("large", 4)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 20, "batch.num.messages": 10_000})
    for number in range(100_000):
        producer.produce("large", f"value {number}", key=str(number), partition=number % 4)
        if not number % 10_000:
            producer.poll(0)
    assert producer.flush(60) == 0
    return "large"


def test_a_topic_is_made_a_record_produced_and_looked_at(opened, kafka):
    page = opened("topics")
    page.click("button:text-is('New topic')")
    page.fill("dialog label:has-text('Name') input", "by-hand")
    page.fill("dialog label:has-text('Partitions') input", "2")
    page.fill("dialog textarea", "cleanup.policy=compact")
    page.click("dialog button[type=submit]")
    expect(page.locator("h1")).to_have_text("by-hand")
    assert kafka.topics()["by-hand"] == 2
    page.click("button:text-is('Produce')")
    page.fill("dialog label:has-text('Key') input", "k1")
    page.fill("dialog label:has-text('Value') textarea", '{"n": 12345678901234567890, "n2": [1, {}]}')
    page.fill("dialog label:has-text('Headers') textarea", "trace=a=b")
    page.click("dialog button[type=submit]")
    (record,) = kafka.wait_for_records("by-hand", 1, timeout=60)
    assert (record.key, record.headers) == (b"k1", (("trace", b"a=b"),))
    page.click(".row")
    detail = page.locator(".detail")
    expect(detail.locator("pre[aria-label=Value]")).to_have_text(
        '{\n  "n": 12345678901234567890,\n  "n2": [\n    1,\n    {}\n  ]\n}'
    )
    expect(detail.locator("table")).to_contain_text("a=b")
    page.select_option("[aria-label='Key as']", "hex")
    expect(detail.locator("pre[aria-label=Key]")).to_contain_text("6b 31")
    page.click("button:text-is('Delete topic')")
    page.fill("dialog input", "another")
    page.click("dialog button[type=submit]")
    expect(page.locator("dialog .wrong")).to_contain_text("That is not by-hand.")
    page.fill("dialog input", "by-hand")
    page.click("dialog button[type=submit]")
    expect(page.locator("h1")).to_have_text("Topics")
    assert "by-hand" not in kafka.topics()


def test_what_was_said_of_the_search_before_is_not_said_of_the_next(opened, kafka):
    kafka.create_topic("searched-twice")
    kafka.produce("searched-twice", "only")
    page = opened("topic?name=searched-twice")
    expect(page.locator(".status")).to_have_text("1 record · that is all")
    expect(page.locator(".facts >> nth=0")).to_contain_text("1 offset ·")
    held = []
    page.route("**/console/api/records?*", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks what it is given
    page.click("button:text-is('Search')")
    expect(page.locator(".status")).to_have_text("Searching …")
    held[0].continue_()
    expect(page.locator(".status")).to_have_text("1 record · that is all")


def test_a_batch_that_holds_too_much_is_said(opened, kafka):
    kafka.create_topic("holds-too-much")
    bomb = encode_batch([Record(value=bytes(50_000_000), timestamp=5)], compression=Compression.ZSTD)
    partition = kafka._ask(lambda cluster: cluster.partition("holds-too-much", 0))
    kafka._ask(lambda _: partition.append_produce(memoryview(bytearray(bomb))))
    page = opened("topic?name=holds-too-much")
    expect(page.locator(".row .value")).to_contain_text("offsets 0 to 0 are one batch that is not shown")
    page.click(".row")
    expect(page.locator(".detail")).to_contain_text("holds more than 16777216 bytes")


def test_one_among_a_hundred_thousand_is_found(opened, large):
    page = opened(f"topic?name={large}")
    expect(page.locator(".row").first).to_be_visible()
    page.fill("input[type=search]", "value 4321")
    page.select_option("[aria-label=Order]", "oldest")
    page.click("button:text-is('Search')")
    expect(page.locator(".status")).to_contain_text("that is all")
    expect(page.locator(".status")).to_contain_text("11 records")
    expect(page.locator(".status")).to_contain_text("100,000 looked at")
    expect(page.locator(".row .value").first).to_have_text("value 4321")


def test_of_a_long_list_only_what_is_in_sight_is_drawn(opened, large):
    page = opened(f"topic?name={large}")
    for pages in range(2, 8):
        page.click("button:text-is('More')")
        expect(page.locator(".status")).to_contain_text(f"{pages}00 records")
    assert page.locator(".row").count() < 60
    page.focus(".list")
    page.keyboard.press("End")
    expect(page.locator(".row[aria-selected=true]")).to_have_attribute("aria-posinset", "700")
    assert page.locator(".row").count() < 60


def test_a_hundred_thousand_rows_are_scrolled(opened, large):
    """The list by itself, with more rows than anybody would click together."""
    page = opened(f"topic?name={large}")
    drawn = page.evaluate(
        """async () => {
             const { List } = await import("/console/list.js");
             const list = new List({ label: "many", row: each => String(each), open: () => {} });
             document.querySelector("main").replaceChildren(list.element);
             list.set(Array.from({ length: 100000 }, (_, at) => at));
             list.draw();
             const seen = [];
             for (const part of [0, 0.5, 1]) {
               list.element.scrollTop = part * list.element.scrollHeight;
               list.draw();
               const rows = [...list.element.querySelectorAll(".row")];
               seen.push([rows.length < 60, rows.some(each => Number(each.textContent) === Math.round(part * 99999))]);
             }
             return seen;
           }"""
    )
    assert drawn == [[True, True]] * 3


def test_what_is_appended_is_followed(opened, kafka):
    kafka.create_topic("followed")
    kafka.produce("followed", "before")
    page = opened("topic?name=followed")
    page.click("button:text-is('Follow')")
    expect(page.locator(".status")).to_contain_text("waiting for records")
    expect(page.locator(".row")).to_have_count(0)
    for number in range(3):
        kafka.produce("followed", f"live {number}")
    expect(page.locator(".row .value")).to_have_text(["live 2", "live 1", "live 0"])
    page.click("button:text-is('Stop')")
    expect(page.locator(".status")).to_contain_text("Followed: the newest 3 records")
    page.click("button:text-is('Search')")
    expect(page.locator(".row")).to_have_count(4)


def test_ten_thousand_partitions_are_paged(opened, kafka):
    kafka.create_topic("wide", 6000)  # of more at once Kafka's controller would make too large a batch
    page = opened("topics")
    page.evaluate(
        """async () => (await import("/console/ask.js")).change("/topics/partitions", { topic: "wide", count: 10000 })"""
    )
    page.fill("input[type=search]", "wide")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("10,000")
    page.click("td a:text-is('wide')")
    expect(page.locator("[aria-label^='Partitions, as']")).to_have_value("0-127")
    expect(page.locator(".status")).to_contain_text("0 records · that is all · partitions 0-127 of 10,000 only")
    expect(page.locator(".list")).to_contain_text("There are no records in partitions 0-127.")
    page.click(".tabs >> text=Partitions")
    expect(page.locator(".pager")).to_contain_text(re.compile("1.50 of 10,000"))
    page.keyboard.press("]")
    expect(page.locator(".pager")).to_contain_text(re.compile("51.100 of 10,000"))
    expect(page.locator("tbody tr")).to_have_count(50)
    page.click("tbody a >> nth=3")
    expect(page.locator("[aria-label^='Partitions, as']")).to_have_value("53")
    expect(page.locator(".status")).to_contain_text("0 records · that is all")
    kafka.delete_topic("wide")


def test_a_long_value_is_shown_in_whole_when_asked(opened, kafka):
    kafka.create_topic("long")
    text = json.dumps({"text": "x" * 5000})
    kafka.produce("long", text)
    page = opened("topic?name=long")
    page.click(".row")
    value = page.locator("pre[aria-label=Value]")
    expect(value).to_have_text(text[:2048])
    page.click("button:text-is('Show in whole')")
    expect(value).to_have_text(json.dumps(json.loads(text), indent=2))


def test_internal_topics_by_their_own_records(opened, kafka):
    kafka.create_topic("committed-to")
    kafka.produce("committed-to", "x")
    page = opened("topics")
    page.evaluate(
        """async () => (await import("/console/ask.js"))
             .change("/groups/reset", { group: "of-the-page", topic: "committed-to", to: "latest" })"""
    )
    page.goto(page.url.partition("#")[0] + "#/topic?name=__consumer_offsets&text=of-the-page")
    expect(page.locator(".row")).to_contain_text(["OffsetCommit"])
    page.click(".row")
    expect(page.locator(".detail")).to_contain_text('"group": "of-the-page"')
