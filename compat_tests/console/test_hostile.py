"""What strangers wrote into records, names and headers is shown and does nothing; pages of others do nothing either.

That no script ran, nothing was asked elsewhere and the page's policy refused nothing is seen to by the fixture ``opened``.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer
from playwright.sync_api import expect

from pykbroker.steered.http_options import HttpOptions
from pykbroker.testing import Kafka
from pykbroker.tests.http.http_client import with_http

EVIL = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<svg onload=window.hacked=1><a href='javascript:window.hacked=1'>x</a></svg>",
    '"><iframe srcdoc="<script>parent.hacked=1</script>">',
    "{{constructor.constructor('window.hacked=1')()}}",
    "javascript:window.hacked=1",
    '{"__proto__": {"hacked": 1}, "constructor": {"prototype": {"hacked": 1}}}',
    "\u202e\u0000\u001b[2J",
)


def nothing_ran(page) -> bool:
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
    return page.evaluate(
        "window.hacked === undefined && ({}).hacked === undefined && !document.querySelector('iframe, object')"
    )


@pytest.fixture(scope="module")
def evil_topic(kafka) -> str:
    kafka.create_topic("evil")
    for text in EVIL:
        kafka.produce("evil", text, key=text, headers={text: text})
    return "evil"


def test_contents_of_records(opened, evil_topic):
    page = opened(f"topic?name={evil_topic}&order=oldest")
    for number, text in enumerate(EVIL):
        page.click(f".row >> nth={number}")
        for form in ("text", "json", "hex", "auto"):
            page.select_option("[aria-label='Value as']", form)
        page.select_option("[aria-label='Key as']", "text")
        expect(page.locator("pre[aria-label=Key]")).to_have_text(text, use_inner_text=False)
    assert nothing_ran(page)


def test_a_record_does_not_look_like_another(opened, kafka):
    kafka.create_topic("turned")
    turned = "\u202egpj.exe\u2066"
    kafka.produce("turned", turned, key=turned, headers={turned: turned})
    page = opened("topic?name=turned")
    for part in (".row .key", ".row .value"):
        expect(page.locator(part)).to_have_text("\\u202egpj.exe\\u2066")
    page.click(".row")
    expect(page.locator("table.keys tr")).to_have_text("\\u202egpj.exe\\u2066" * 2)


UNSEEN = "orders\u202e\u200b\ufeff\u0001"
SEEN = "orders\\u202e\\u200b\\ufeff\\u0001"


def test_names_do_not_look_like_others(opened, kafka):
    kafka.create_topic("looked-like")
    kafka.produce("looked-like", "x")
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": UNSEEN,
            "client.id": UNSEEN,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["looked-like"])
    assert consumer.poll(60) is not None
    page = opened("groups")
    page.fill("input[type=search]", "orders")
    page.click(f"td a:text-is({SEEN!r})")
    expect(page.locator("h1")).to_have_text(SEEN)
    assert page.title().startswith(SEEN)
    expect(page.locator("[aria-label=Members] td >> nth=0")).to_have_text(SEEN)
    consumer.close()
    page.click("button:text-is('Delete group')")
    page.fill("dialog input", SEEN)
    page.click("dialog button[type=submit]")
    expect(page.locator("h1")).to_have_text("Groups")
    assert kafka.group(UNSEEN).state == "Dead"


SUBJECTS = (*EVIL, UNSEEN, "../topics?name=x#y", "a%2Fb")


def test_names_and_texts_of_subjects(opened, evil_subjects):
    """As another registry may have written them."""
    page = opened("schemas", at=evil_subjects.http_address)
    links = page.locator("tbody a")
    expect(links).to_have_count(len(SUBJECTS) + 1)
    assert set(links.all_text_contents()) == {*map(with_escapes, SUBJECTS), "x" * 5000}
    for name in map(with_escapes, SUBJECTS):
        links.filter(has_text=re.compile(f"^{re.escape(name)}$")).click()
        expect(page.locator(".versions")).to_contain_text("Used by")
        assert page.locator("h1").text_content() == name
        assert nothing_ran(page)
        page.go_back()
        expect(links).to_have_count(len(SUBJECTS) + 1)


def with_escapes(name: str) -> str:
    """With escapes for what would mislead."""
    return "".join(f"\\u{ord(each):04x}" if each in "\u202e\u200b\ufeff\0\1\x1b" else each for each in name)


@pytest.fixture(scope="module")
def evil_subjects() -> Iterator[Kafka]:
    pytest.importorskip("avro")
    with Kafka(http=0, schema_registry=True) as found:
        found.create_topic("_schemas")
        for number, name in enumerate([*SUBJECTS, "x" * 5000], 1):
            key = {"keytype": "SCHEMA", "subject": name, "version": 1, "magic": 1}
            value = {"subject": name, "version": 1, "id": number, "schema": name, "schemaType": name}
            found.produce("_schemas", json.dumps(value), key=json.dumps(key))
        yield found


def test_json_that_would_fill_the_memory_once_it_is_indented(opened, kafka):
    kafka.create_topic("nested")
    deep, wide = "[" * 300_000 + "]" * 300_000, "[" * 150 + "1," * 150_000 + "1" + "]" * 150
    for text in (deep, wide):
        kafka.produce("nested", text)
    page = opened("topic?name=nested&order=oldest")
    for number, text in enumerate((deep, wide)):
        page.click(f".row >> nth={number}")
        page.click("button:text-is('Show in whole')")
        page.wait_for_selector("button:text-is('Show in whole')", state="hidden")
        assert page.locator("pre[aria-label=Value]").text_content() == text


def test_followed_records(opened, kafka):
    kafka.create_topic("evil-live")
    page = opened("topic?name=evil-live")
    page.click("button:text-is('Follow')")
    expect(page.locator(".status")).to_contain_text("waiting for records")
    for text in EVIL:
        kafka.produce("evil-live", text, key=text)
    expect(page.locator(".row")).to_have_count(len(EVIL))
    assert nothing_ran(page)


def test_names_of_groups_clients_and_transactions(opened, kafka):
    kafka.create_topic("evil-names")
    kafka.produce("evil-names", "x")
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "client.id": EVIL[1]}
    consumer = Consumer(
        {**settings, "group.id": EVIL[0], "group.instance.id": EVIL[2], "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["evil-names"])
    assert consumer.poll(60) is not None
    producer = Producer({**settings, "transactional.id": EVIL[1]})
    producer.init_transactions(60)
    page = opened("groups")
    page.click(f"td a:has-text({EVIL[0]!r})")
    expect(page.locator("h1")).to_have_text(EVIL[0])
    expect(page.locator("[aria-label=Members]")).to_contain_text(EVIL[1])
    expect(page.locator("[aria-label=Members]")).to_contain_text(EVIL[2])
    page.click("#nav a:text-is('Transactions')")
    expect(page.locator("td >> nth=0")).to_have_text(EVIL[1])
    assert nothing_ran(page)
    consumer.close()


def test_values_of_settings_and_rules_of_faults(opened, kafka):
    kafka.create_topic("evil-settings", configs={"leader.replication.throttled.replicas": "*"})
    fault = kafka.faults.add("Metadata", client=EVIL[0], delay="1ms")
    Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": EVIL[0]}).list_topics(timeout=60)
    page = opened("faults", complaints=("400",))
    expect(page.locator("[aria-label=Faults]")).to_contain_text("<script>")
    page.click("button:text-is('New fault')")
    page.fill("dialog input", EVIL[1])
    page.click("dialog button[type=submit]")
    expect(page.locator("dialog .wrong")).to_be_visible()
    assert nothing_ran(page)
    fault.remove()


def test_what_a_link_says(opened):
    """A link to the console may be anybody's; what it names is asked for, and nothing else."""
    page = opened(complaints=("404", "400"))
    for text in (EVIL[0], EVIL[1], EVIL[5], "../../api/v1/reset", "%00"):
        page.evaluate("hash => { location.hash = hash; }", f"#/topic?name={quote(text)}&partitions=x&tab={quote(text)}")
        expect(page.locator(".failed")).to_be_visible()
        page.evaluate("text => { location.hash = `#/../${text}`; }", text)
        expect(page.locator("h1")).to_have_text("Overview")
    assert nothing_ran(page)


# Pages of others ------------------------------------------------------------------------------------------------------

_ATTACK = """
<!doctype html><title>evil</title><iframe id=frame src="http://BROKER/console/"></iframe>
<iframe name=sink></iframe>
<form id=form method=post enctype=text/plain target=sink action="http://BROKER/console/api/topics/create">
<input name='{"topic": "stolen", "partitions": 1, "x": "' value='"}'></form>
<script>
const body = JSON.stringify({ topic: "stolen", partitions: 1 });
const url = "http://BROKER/console/api/topics/create";
document.getElementById("form").submit();
const tries = [
  fetch(url, { method: "POST", mode: "no-cors", body, headers: { "Content-Type": "text/plain" } }),
  fetch(url, { method: "POST", body, headers: { "Content-Type": "application/json" } }),
  fetch("http://BROKER/console/api/topics").then(each => each.text()).then(text => { throw new Error(`read ${text}`); }),
  import("http://BROKER/console/ask.js").then(() => { throw new Error("imported"); }),
];
Promise.allSettled(tries).then(all => { window.result = all.map(each => String(each.reason ?? "sent")); });
</script>
"""


@contextmanager
def page_of_others(broker: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = _ATTACK.replace("BROKER", broker).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def test_a_page_of_others_reads_and_changes_nothing(browser, kafka):
    with page_of_others(kafka.http_address) as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.wait_for_function("window.result !== undefined")
        sent, as_json, read, imported = page.evaluate("window.result")
        assert sent == "sent"  # it is, and refused
        assert "Failed to fetch" in as_json
        assert "Failed to fetch" in read
        assert "Failed to fetch" in imported
        frame = page.query_selector("#frame").content_frame()
        assert frame.query_selector("#nav") is None
        context.close()
    assert "stolen" not in kafka.topics()


def test_the_token_is_asked_for_and_kept_for_the_tab(opened):
    with with_http(HttpOptions("127.0.0.1", 0, token="0123456789abcdef")) as http:
        http.kafka.create_topic("guarded")
        at = f"127.0.0.1:{http.port}"
        page = opened_with_token(opened, at, "wrong", "0123456789abcdef")
        expect(page.locator("h1")).to_have_text("Topics")
        expect(page.locator("td >> nth=0")).to_have_text("guarded")
        page.reload()
        expect(page.locator("td >> nth=0")).to_have_text("guarded")
        assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0


def opened_with_token(opened, at: str, *tokens: str):
    page = opened("topics", at=at, complaints=("401", "ERR_CONNECTION_REFUSED", "ERR_EMPTY_RESPONSE"), waits=False)
    for token in tokens:
        expect(page.locator("dialog")).to_contain_text("Token required")
        expect(page.locator("dialog .wrong")).to_have_text(_REFUSED if token != tokens[0] else "")
        page.fill("dialog input", token)
        page.click("dialog button[type=submit]")
    return page


_REFUSED = "The broker refused that token. An image makes another one at each start."
