"""Seeds that are sent: each form as from a file, what is wrong with its line and column, and nothing that costs too much."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from pykbroker.http.api import seeds
from pykbroker.seeding.dumping import dump_seed
from pykbroker.seeding.writing import text
from pykbroker.testing import Kafka
from pykbroker.tests.http.http_client import Asked, WithHttp, with_http
from pykbroker.tests.steered.test_steering import ask

YAML, LINES, CSV, JSON = "application/yaml", "application/jsonl", "text/csv", "application/json"


@pytest.fixture(scope="module")
def running() -> Iterator[WithHttp]:
    with with_http() as made:
        yield made


@pytest.fixture
def http(running: WithHttp) -> WithHttp:
    running.kafka.reset()
    return running


def sow(http: WithHttp, kind: str, body: str | bytes, query: str = "") -> Asked:
    raw = body.encode() if isinstance(body, str) else body
    return http.ask(f"/api/v1/seeds{query}", method="POST", body=raw, headers={"Content-Type": kind})


FORMS = {
    YAML: "topics:\n  orders:\n    partitions: 2\n    records: [{key: a, value: 007}, {key: a, value: null}]\n",
    "application/x-yaml": "topics: {orders: {partitions: 2, records: [{key: a, value: 007}, {key: a, value: null}]}}",
    JSON: '{"topics": {"orders": {"partitions": 2, "records": [{"key": "a", "value": "007"}, {"key": "a", "value": null}]}}}',
    LINES: '{"partitions": 2}\n{"key": "a", "value": "007"}\n{"key": "a", "value": null}\n',
    "application/x-ndjson": '{"topic": "orders", "partitions": 2}\n{"key": "a", "value": "007"}\n{"key": "a", "value": null}',
}


@pytest.mark.parametrize("kind", FORMS)
def test_every_form_says_the_same(http: WithHttp, kind: str) -> None:
    answer = sow(http, kind, FORMS[kind], "?topic=orders")
    assert (answer.status, answer.json) == (200, {"topics": 1, "records": 2}), answer.text
    assert http.kafka.topics() == {"orders": 2}
    assert [(each.key, each.value) for each in http.kafka.records("orders")] == [(b"a", b"007"), (b"a", None)]


def test_rows_go_to_topics_that_are_there(http: WithHttp) -> None:
    http.kafka.create_topic("orders", 3)
    rows = "topic,partition,key,value\n,2,a,x\nothers,,b,\\N\n"
    assert sow(http, CSV, rows, "?topic=orders").json == {"topics": 1, "records": 2}
    assert [each.partition for each in http.kafka.records("orders")] == [2]
    assert [each.value for each in http.kafka.records("others")] == [None]


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (
            YAML,
            "topics:\n  orders:\n    - {vlaue: x}\n",
            'body:3:8: there is no field "vlaue" of a record; did you mean "value"?',
        ),
        (YAML, "topics: [\n", "body:2:1: not YAML"),
        (YAML, "topics: {o: [!!python/name:os.system x]}", "body:1:14: the tag"),
        (JSON, '{"topics": {"orders": [\n{"key": 1}\n]}}', "body:2:1: "),
        (JSON, '{"topics": ', "body:1:12: not JSON"),
        (JSON, "[" * 100_000, "body:1:1: not JSON (nested too deeply)"),
        (LINES, '{"topic": "t", "value": "v"}\n{"topic": "t", "value": ]}', "body:2:25: not JSON"),
        (LINES, '{"value": "v"}', 'body:1:1: there is no topic; write "topic": "orders"'),
        (CSV, "topic,value\nt,x\nt\n", "body:3: the row has 1 cells, and there are 2 columns"),
        (CSV, "topic,value,partition\nt,x,minus\n", "body:2, column partition: "),
        (CSV, b"value\n\xff", "body: byte 6 is not UTF-8"),
        (JSON, "", "body:1:1: the file is empty"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_place(http: WithHttp, kind: str, body: str | bytes, said: str) -> None:
    answer = sow(http, kind, body)
    assert (answer.status, answer.json["title"][: len(said)]) == (400, said)
    assert http.kafka.topics() == {}


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ({"there": {"partitions": 2}}, "body:1:22: topic there is there with 1 partitions, not 2"),
        ({"there": [{"value": "x", "partition": 1}]}, "body:1:23: topic there has no partition 1; it has 1"),
        ({"a/b": None, "fine": None}, "body:1:20: topic a/b cannot be created"),
    ],
)
def test_what_the_cluster_refuses(http: WithHttp, seed: object, said: str) -> None:
    http.kafka.create_topic("there")
    answer = sow(http, JSON, json.dumps({"topics": seed}))
    assert (answer.status, answer.json["title"][: len(said)]) == (409, said)
    assert http.kafka.topics() == {"there": 1}


def test_aliases_that_mean_more_than_memory_holds(http: WithHttp) -> None:
    """Ten lines that would be a billion values."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)), "topics: *a9"]
    answer = sow(http, YAML, "\n".join(lines))
    assert (answer.status, "aliases repeat more than" in answer.json["title"]) == (400, True)


def test_what_is_too_large_is_not_read(http: WithHttp) -> None:
    assert sow(http, LINES, b" " * (16 * 1024 * 1024 + 1)).status == 413


@pytest.mark.parametrize("form", ["json", "jsonl", "yaml", "csv"])
def test_what_is_taken_out_is_the_same_when_it_is_put_in_again(http: WithHttp, form: str) -> None:
    http.kafka.seed(
        {"topics": {"a": {"partitions": 2, "records": [{"key": "k", "value": "v"}] * 3}, "b": [{"value": "<"}]}}
    )
    taken = http.send("GET", f"/seeds?form={form}")
    assert taken.status == 200
    before = http.kafka._ask(dump_seed)
    assert taken.text == text(before, f".{form}")
    http.kafka.reset()
    if form == "csv":  # it has records alone
        http.kafka.create_topic("a", 2)
    answer = sow(http, taken.headers["Content-Type"].partition(";")[0], taken.body)
    assert answer.json["records"] == 4
    assert text(http.kafka._ask(dump_seed), ".json") == text(before, ".json")


def test_some_topics_in_the_order_in_which_they_are_named(http: WithHttp) -> None:
    http.kafka.seed({"topics": {name: [{"value": name}] for name in ("a", "b", "c")}})
    lines = [json.loads(line) for line in http.send("GET", "/seeds?topics=c,a").text.splitlines()]
    assert [line["topic"] for line in lines] == ["c", "a", "c", "a"]


def test_no_more_is_taken_out_than_can_be_put_in(http: WithHttp, monkeypatch) -> None:
    http.kafka.seed({"topics": {"t": [{"value": "x" * 60}] * 500}})
    monkeypatch.setattr(seeds, "_MOST_BYTES", 500 * (100 + 60))
    assert http.send("GET", "/seeds").status == 200
    http.kafka.produce("t", b"x")
    answer = http.send("GET", "/seeds")
    assert (answer.status, "more than 80000 bytes" in answer.json["title"]) == (409, True)


def test_a_reset_in_the_middle_ends_it(http: WithHttp, monkeypatch) -> None:
    """What is done some in a turn is dropped with the life that it belongs to; who waits for it is told."""
    began = threading.Event()

    def never(*_: object) -> object:
        from pykbroker.runtime.waits import Deferred

        began.set()
        return Deferred()

    monkeypatch.setattr(seeds, "load_seed", never)
    answers: list[Asked] = []
    sending = threading.Thread(target=lambda: answers.append(sow(http, LINES, "")))
    sending.start()
    assert began.wait(60)
    http.kafka.reset()
    sending.join(60)
    assert [answer.status for answer in answers] == [503]
    monkeypatch.undo()
    assert sow(http, LINES, '{"topic": "t", "value": "v"}').status == 200


def test_a_topic_that_goes_while_it_is_read(http: WithHttp) -> None:
    http.kafka.seed({"topics": {"t": [{"value": "x"}] * 1000}})

    async def deleted_on_the_way() -> BaseException | None:
        from pykbroker.process.life import awaited
        from pykbroker.seeding.dumping import dump_in_slices

        cluster = http.kafka.node.cluster
        cluster.runtime.slices.weight_of_a_turn = 10
        harvested = dump_in_slices(cluster, [], 1 << 20)
        await asyncio.sleep(0)
        assert not harvested.done
        cluster.runtime.slices.weight_of_a_turn = 0
        await awaited(cluster.controller.delete_topics([cluster.metadata.image.topics["t"].id]))
        cluster.runtime.slices.weight_of_a_turn = 500
        try:
            await awaited(harvested)
        except LookupError as error:
            return error
        return None

    assert "was deleted" in str(http.kafka._run(deleted_on_the_way()))


def test_a_broker_in_a_process_of_its_own() -> None:
    with Kafka(http=0, process=True) as kafka:
        seed = {"topics": {"orders": [{"key": "k", "value": "v", "timestamp": 5, "partition": 0}]}}
        assert ask(kafka.http_address, "POST", "/seeds", seed) == (200, {"topics": 1, "records": 1})
        status, taken = ask(kafka.http_address, "GET", "/seeds?form=json")
        record = {"partition": 0, "timestamp": 5, "key": "k", "value": "v", "headers": []}
        assert (status, taken["topics"]["orders"]) == (200, {"partitions": 1, "records": [record]})
        status, answer = ask(kafka.http_address, "POST", "/seeds", {"topics": 1})
        assert (status, answer["title"][:10]) == (400, "body:1:12:")
