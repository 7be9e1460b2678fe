"""Records as they are appended: what comes, what is skipped, and that nobody is held up by who does not read."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlencode

import pytest
from confluent_kafka import Producer

from pykbroker.http.console import tail
from pykbroker.tests.http.http_client import WithHttp, with_http


class Followed:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.response = response

    def line(self) -> dict[str, Any]:
        raw = self.response.readline()
        assert raw, "it has ended"
        found: dict[str, Any] = json.loads(raw)
        return found

    def records(self, count: int) -> list[dict[str, Any]]:
        """The next so many records; lines without any come at least once in a second or two."""
        found: list[dict[str, Any]] = []
        while len(found) < count:
            found += self.line().get("records", [])
        return found


@contextmanager
def following(at: WithHttp, **asked: Any) -> Iterator[Followed]:
    connection = http.client.HTTPConnection(at.host, at.port, timeout=60)
    try:
        connection.request("GET", f"/console/api/tail?{urlencode(asked)}")
        response = connection.getresponse()
        assert response.status == 200, response.read()
        followed = Followed(response)
        assert "at" in followed.line()
        yield followed
    finally:
        connection.close()


def nobody_follows(http: WithHttp) -> None:
    """That the page of an earlier test is gone is found with the next line that is sent to it."""
    http.kafka.wait_until(lambda _: http.side._console is None or not http.side._console.tails, timeout=60)


def test_what_comes_is_handed_on(http: WithHttp) -> None:
    http.kafka.create_topic("live", 3)
    http.kafka.produce("live", "before")
    with following(http, topic="live") as followed:
        for number in range(5):
            http.kafka.produce("live", f"{number} <b>", key="k")
        assert [each["value"]["text"] for each in followed.records(5)] == [f"{number} <b>" for number in range(5)]


def test_only_what_is_looked_for(http: WithHttp) -> None:
    http.kafka.create_topic("live-some", 2)
    with following(http, topic="live-some", value="yes", partitions="1") as followed:
        for value in ("no", "yes 1", "yes 2"):
            http.kafka.produce("live-some", value, partition=1)
            http.kafka.produce("live-some", value, partition=0)
        found = followed.records(2)
        assert [(each["partition"], each["value"]["text"]) for each in found] == [(1, "yes 1"), (1, "yes 2")]


def test_of_too_much_the_newest_are_handed_on_and_the_rest_is_counted(http: WithHttp) -> None:
    http.kafka.create_topic("flood")
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers, "linger.ms": 5})
    with following(http, topic="flood") as followed:
        for number in range(20_000):
            producer.produce("flood", str(number))
            producer.poll(0)
        assert producer.flush(60) == 0
        seen, last = 0, -1
        while last < 19_999:
            line = followed.line()
            values = [int(each["value"]["text"]) for each in line["records"]]
            assert values == sorted(values)
            assert len(values) <= 200
            assert all(value > last for value in values)
            seen, last = seen + len(values), max([last, *values])
        assert seen + line["skipped"] == 20_000
        assert line["skipped"] > 0


def test_of_large_records_a_round_keeps_as_many_as_its_bound(http: WithHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few compressed kilobytes may hold megabytes each: the newest stay, and at least one."""
    monkeypatch.setattr(tail, "_BYTES", 2_500_000)
    held: list[int] = []
    let_go = tail.Tail._let_go

    def looked_at(self: tail.Tail, found: list[Any]) -> None:
        let_go(self, found)
        held.append(sum(len(each.record.value or b"") for each in found))

    monkeypatch.setattr(tail.Tail, "_let_go", looked_at)
    http.kafka.create_topic("heavy", 1)
    producer = Producer(
        {"bootstrap.servers": http.kafka.bootstrap_servers, "compression.type": "zstd", "linger.ms": 200}
    )
    with following(http, topic="heavy") as followed:
        for number in range(12):
            producer.produce("heavy", b"%d" % number + bytes(900_000))
        producer.flush()
        found, skipped = [], 0
        while len(found) + skipped < 12:
            line = followed.line()
            found += [each["offset"] for each in line["records"]]
            skipped = line["skipped"]
        assert found == sorted(found)
        assert found[-1] == 11
        assert skipped
    assert max(held) <= 2_500_000


def test_who_does_not_read_holds_nobody_up(http: WithHttp) -> None:
    """Its socket fills, and then nothing is read for it; producers go on, and so do the metrics."""
    http.kafka.create_topic("ignored")
    with socket.create_connection((http.host, http.port)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf.sendall(b"GET /console/api/tail?topic=ignored HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert deaf.recv(12) == b"HTTP/1.1 200"
        for number in range(3000):
            http.kafka.produce("ignored", f"{number} {'x' * 1500}")
        assert len(http.kafka.records("ignored")) == 3000
        assert http.ask("/metrics").status == 200


def test_a_topic_that_goes_ends_it(http: WithHttp) -> None:
    http.kafka.create_topic("goes")
    with following(http, topic="goes") as followed:
        http.kafka.delete_topic("goes")
        line = followed.line()
        while "ended" not in line:
            line = followed.line()
        assert "goes" in line["ended"]


def test_who_goes_away_makes_room(http: WithHttp) -> None:
    http.kafka.create_topic("many")
    nobody_follows(http)
    with ExitStack() as all_of_them:
        for _ in range(tail.MOST_TAILS):
            all_of_them.enter_context(following(http, topic="many"))
        assert http.refusal("/tail", topic="many")[0] == 429
    nobody_follows(http)
    with following(http, topic="many"):
        pass


def test_what_cannot_be_followed(http: WithHttp) -> None:
    http.kafka.create_topic("very-wide", 300)
    nobody_follows(http)
    status, title = http.refusal("/tail", topic="very-wide")
    assert (status, "say which" in title) == (400, True)
    assert http.refusal("/tail", topic="nobody")[0] == 404
    with following(http, topic="very-wide", partitions="250-299"):
        pass


def test_a_side_that_is_closed_ends_them() -> None:
    with with_http() as at:
        at.kafka.create_topic("t")
        with following(at, topic="t") as followed:
            at.kafka._embedded.begin(at.side.close()).result(60)
            followed.response.read()  # to its end


def last(followed: Followed) -> dict[str, Any]:
    """The line with which it ends."""
    line = followed.line()
    while "ended" not in line:
        line = followed.line()
    return line


def test_a_topic_made_again_is_another_one(http: WithHttp) -> None:
    http.kafka.create_topic("twice")
    for _ in range(3):
        http.kafka.produce("twice", "x")
    with following(http, topic="twice") as followed:
        http.kafka.delete_topic("twice")
        http.kafka.create_topic("twice")
        for _ in range(5):
            http.kafka.produce("twice", "of the other")
        assert last(followed) == {"ended": "topic twice was deleted", "passes": False}


def test_a_restored_snapshot_has_other_offsets() -> None:
    with with_http() as http:
        http.kafka.create_topic("restored")
        http.kafka.snapshot("empty")
        http.kafka.produce("restored", "gone")
        with following(http, topic="restored") as followed:
            http.kafka.restore("empty")
            http.kafka.produce("restored", "after")
            assert last(followed)["passes"]
