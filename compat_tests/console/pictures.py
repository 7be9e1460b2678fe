"""Takes the pictures of docs/console.md: ``python -m compat_tests.console.pictures``. Real flights of New York, a producer, a
consumer that is a little slow, and Chromium; it needs the extra ``demo``, for the flights and for making the files small.
"""

from __future__ import annotations

import io
import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from playwright.sync_api import Page, sync_playwright

from compat_tests.console.conftest import CHROMIUM, FLAGS
from pykbroker.testing import Kafka
from scripts.demo_job.data import rows

DOCS = Path(__file__).parents[2] / "docs"
_FIELDS = ("carrier", "flight", "tailnum", "origin", "dest", "dep_delay", "arr_delay", "distance", "time_hour")
_NUMBERS = ("flight", "dep_delay", "arr_delay", "distance")
_PER_TURN, _PAUSE_S = 60, 0.05
#: Seconds of which the overview shows what went through.
_SHOWN_S = 60


def flights() -> Iterator[dict[str, Any]]:
    """The flights of 2013 (of the extra demo) that landed, in a random order."""
    landed = [row for row in rows("flights") if None not in row.values()]
    random.Random(1).shuffle(landed)
    for row in landed:
        yield {name: int(row[name] or 0) if name in _NUMBERS else row[name] for name in _FIELDS}


def produce(address: str, over: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5})
    for number, flight in enumerate(flights()):
        if over.is_set():
            break
        headers = {"source": "bts", "trace": f"{number:08x}"}
        producer.produce("flights", json.dumps(flight), key=str(flight["tailnum"]), headers=headers)
        if not number % _PER_TURN:
            producer.poll(0)
            time.sleep(_PAUSE_S)
    producer.flush(60)


def consume(address: str, over: threading.Event) -> None:
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "delays", "client.id": "delays-1", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["flights"])
    while not over.is_set():
        consumer.consume(100, 0.2)
    consumer.close()


def keep(page: Page, name: str) -> None:
    """As a file of few colours, which the page has anyway."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)


def take(kafka: Kafka) -> None:
    home = f"http://{kafka.http_address}/console/#"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1200, "height": 740})
        page.goto(f"{home}/overview")
        page.wait_for_timeout(_SHOWN_S * 1000)
        keep(page, "console-overview.png")
        page.goto(f"{home}/topic?name=flights&text=JFK")
        page.click(".row >> nth=3")
        page.wait_for_selector(".detail pre")
        keep(page, "console-records.png")
        phone = browser.new_page(viewport={"width": 390, "height": 740}, color_scheme="dark")
        phone.goto(f"{home}/group?name=delays")
        phone.wait_for_selector("path.line")
        phone.wait_for_timeout(_SHOWN_S * 500)
        keep(phone, "console-phone.png")
        browser.close()


def main() -> None:
    over = threading.Event()
    with Kafka(brokers=3, http=0) as kafka:
        kafka.create_topic("flights", 6, replication_factor=3)
        for name, partitions in (("weather", 3), ("delays.by-carrier", 6), ("alerts", 1)):
            kafka.create_topic(name, partitions, replication_factor=3)
        others = [threading.Thread(target=each, args=(kafka.bootstrap_servers, over)) for each in (produce, consume)]
        for each in others:
            each.start()
        try:
            take(kafka)
        finally:
            over.set()
            for each in others:
                each.join()


if __name__ == "__main__":
    main()
