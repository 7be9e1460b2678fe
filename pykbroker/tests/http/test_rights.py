"""Each act over HTTP asks the authorizer: what is denied does nothing and shows nothing, and the rights of the table suffice."""

from __future__ import annotations

import http.client
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from pykbroker.access.table import CHECKS
from pykbroker.faults.fault import Fault
from pykbroker.http.api.table import ROUTES
from pykbroker.http.console import router
from pykbroker.http.principal import PRINCIPAL, denied
from pykbroker.http.rights import ANY, API, BY_KIND, CONSOLE, EACH, Right
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import ALTER, CLUSTER_ACTION, DESCRIBE, READ
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, LITERAL, TOPIC, TRANSACTIONAL_ID, WILDCARD
from pykbroker.tests.http.http_client import Asked, WithHttp, with_http
from pykbroker.wire.apis import ApiKey

_ACLS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
_SECRET = "swordfish"
_TOPIC, _GROUP, _ID = f"{_SECRET}-topic", f"{_SECRET}-group", f"{_SECRET}-id"
_BODIES: dict[str, Any] = {
    "addFault": {"api": "*", "drop": True},
    "beginChaos": {"text": "7 quiet_after=1ms"},
    "advanceClock": {"by": "1h"},
    "loadSeed": {"topics": {_TOPIC: [{"value": "x"}], "another": None}},
    "recordRequests": {"on": True},
    "setLevel": {"level": "TRACE"},
}
_ACL = {
    "type": "TOPIC",
    "name": "t",
    "pattern": "LITERAL",
    "principal": "User:mallory",
    "host": "*",
    "operation": "ALL",
    "permission": "ALLOW",
}
_SAID: dict[str, dict[str, Any]] = {
    "/topic": {"topic": _TOPIC},
    "/partitions": {"topic": _TOPIC},
    "/records": {"topic": _TOPIC},
    "/record": {"topic": _TOPIC, "partition": 0, "offset": 0},
    "/tail": {"topic": _TOPIC},
    "/group": {"group": _GROUP},
    "/client": {"instance": "i"},
    "/settings": {"of": "topic", "name": _TOPIC},
    "/schema": {"id": 1},
    "/subject": {"subject": "s"},
    "/version": {"subject": "s", "version": 1},
    "/topics/create": {"topic": "new", "partitions": 1},
    "/topics/delete": {"topic": _TOPIC},
    "/topics/partitions": {"topic": _TOPIC, "count": 9},
    "/topics/empty": {"topic": _TOPIC, "partition": 0, "offset": -1},
    "/records/produce": {"topic": _TOPIC, "value": "x"},
    "/groups/delete": {"group": _GROUP},
    "/groups/reset": {"group": _GROUP, "topic": _TOPIC, "to": "earliest"},
    "/transactions/abort": {"id": _ID},
    "/settings/alter": {"of": "topic", "name": _TOPIC, "setting": "retention.ms", "value": "1"},
    "/acls/add": _ACL,
    "/acls/remove": _ACL,
    "/quotas/alter": {"entity": [{"type": "user", "name": "u"}], "quota": "producer_byte_rate", "value": "1"},
}


def populate(http: WithHttp) -> None:
    kafka = http.kafka
    if kafka.node.brokers.describe(kafka.node.addresses())[1]["state"] == "stopped":
        kafka.broker(2).start()
    kafka.reset()
    kafka.create_topic(_TOPIC)
    kafka.produce(_TOPIC, _SECRET)
    servers = kafka.bootstrap_servers
    consumer = Consumer({"bootstrap.servers": servers, "group.id": _GROUP})
    consumer.commit(offsets=[TopicPartition(_TOPIC, 0, 1)], asynchronous=False)
    consumer.close()
    producer = Producer({"bootstrap.servers": servers, "transactional.id": _ID})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(_TOPIC, b"open")
    producer.flush(30)
    kafka._ask(lambda _: kafka.node.faults.add(Fault("*", client=_SECRET, drop=True)))
    kafka.snapshot(_SECRET)


@pytest.fixture(scope="module")
def running() -> Iterator[WithHttp]:
    with with_http(settings=_ACLS, brokers=2, clock="manual") as found:
        populate(found)
        yield found


def path_of(route: Any, http: WithHttp) -> str:
    (number,) = http.kafka._ask(lambda _: list(http.kafka.node.faults.book.rules)) or [1]
    name = "kafka.authorizer.logger" if route.name == "setLevel" else _SECRET
    filled: str = route.path.replace("{number}", str(number)).replace("{id}", "2").replace("{name}", name)
    return filled


def acted(http: WithHttp, name: str) -> Asked:
    """Send the act with this name in a table."""
    if name in API:
        (route,) = [each for each in ROUTES if each.name == name]
        return http.send(route.method, path_of(route, http), _BODIES.get(name))
    said = _SAID.get(name, {})
    return http.changed(name, **said) if name in router._CHANGES else http.ask(f"/console/api{name}?{urlencode(said)}")


def state(http: WithHttp) -> dict[str, Any]:
    kafka = http.kafka

    def seen(cluster: Any) -> dict[str, Any]:
        image = cluster.metadata.image
        return {
            "topics": {name: (topic.id, len(topic.partitions)) for name, topic in image.topics.items()},
            "settings": {name: dict(image.topic_config(name)) for name in image.topics},
            "ends": [(str(each), each.log_start_offset, each.log_end_offset) for each in cluster.partitions()],
            "acls": sorted(map(str, image.acls)),
            "metadata": image.offset,
            "brokers": http.kafka.node.brokers.describe(http.kafka.node.addresses()),
            "faults": list(http.kafka.node.faults.book.rules),
            "snapshots": kafka._embedded.snapshots,
            "now": cluster.runtime.clock.now_ms(),
            "level": logging.getLogger("kafka.authorizer.logger").level,
        }

    return {**kafka._ask(seen), "requests": len(kafka.requests()) > 0}


ACTS = (*API, *CONSOLE)


def test_every_act_stands_in_the_table() -> None:
    assert set(API) == {route.name for route in ROUTES}
    assert set(CONSOLE) == {*router._LOOKS, *router._CHANGES}
    assert all(rights for rights in (*API.values(), *CONSOLE.values()))


_DESCRIBED, _READ = ((ApiKey.DESCRIBE_TOPIC_PARTITIONS, TOPIC),), ((ApiKey.FETCH, TOPIC),)
_OF_SETTINGS = (TOPIC, GROUP, CLUSTER)
#: The requests of Kafka's protocol that do the same as an act, and the types of the resources that it concerns.
REQUESTS: dict[str, tuple[tuple[ApiKey, int], ...]] = {
    "loadSeed": ((ApiKey.CREATE_TOPICS, TOPIC), (ApiKey.PRODUCE, TOPIC)),
    "dumpSeed": (*_READ, (ApiKey.DESCRIBE_CONFIGS, TOPIC)),
    "listLoggers": ((ApiKey.DESCRIBE_CONFIGS, CLUSTER),),
    "setLevel": ((ApiKey.INCREMENTAL_ALTER_CONFIGS, CLUSTER),),
    "/topics": _DESCRIBED,
    "/topic": _DESCRIBED,
    "/partitions": _DESCRIBED,
    "/records": _READ,
    "/record": _READ,
    "/tail": _READ,
    "/groups": ((ApiKey.LIST_GROUPS, GROUP),),
    "/group": ((ApiKey.DESCRIBE_GROUPS, GROUP),),
    "/transactions": ((ApiKey.LIST_TRANSACTIONS, TRANSACTIONAL_ID),),
    "/settings": tuple((ApiKey.DESCRIBE_CONFIGS, kind) for kind in _OF_SETTINGS),
    "/acls": ((ApiKey.DESCRIBE_ACLS, CLUSTER),),
    "/quotas": ((ApiKey.DESCRIBE_CLIENT_QUOTAS, CLUSTER),),
    "/topics/create": ((ApiKey.CREATE_TOPICS, TOPIC),),
    "/topics/delete": ((ApiKey.DELETE_TOPICS, TOPIC),),
    "/topics/partitions": ((ApiKey.CREATE_PARTITIONS, TOPIC),),
    "/topics/empty": ((ApiKey.DELETE_RECORDS, TOPIC),),
    "/records/produce": ((ApiKey.PRODUCE, TOPIC),),
    "/groups/delete": ((ApiKey.DELETE_GROUPS, GROUP),),
    "/groups/reset": ((ApiKey.OFFSET_COMMIT, GROUP), (ApiKey.OFFSET_COMMIT, TOPIC)),
    "/transactions/abort": ((ApiKey.INIT_PRODUCER_ID, TRANSACTIONAL_ID),),
    "/settings/alter": tuple((ApiKey.INCREMENTAL_ALTER_CONFIGS, kind) for kind in _OF_SETTINGS),
    "/acls/add": ((ApiKey.CREATE_ACLS, CLUSTER),),
    "/acls/remove": ((ApiKey.DELETE_ACLS, CLUSTER),),
    "/quotas/alter": ((ApiKey.ALTER_CLIENT_QUOTAS, CLUSTER),),
}
#: What those requests check of what no act does: topics named by their ids, and settings that an answer shows.
_NOT_DONE = ("each topic by its id, unless DELETE on the cluster", "each of `topics` that is created, from version 5")


@pytest.mark.parametrize("name", REQUESTS)
def test_an_act_requires_what_its_request_requires(name: str) -> None:
    required = {
        (operation, row.resource_type)
        for api, kind in REQUESTS[name]
        for check in CHECKS[api]
        for row in check.rows
        for operation in row.operations
        if row.resource_type == kind and row.which not in _NOT_DONE
    }
    asked = {
        (right.operation, kind)
        for right in API.get(name) or CONSOLE[name]
        for kind in (_OF_SETTINGS if right.resource_type == BY_KIND else (right.resource_type,))
    }
    assert asked == required


def test_what_kafka_lacks_is_changed_by_who_may_change_the_cluster() -> None:
    acts = [(route.name, API[route.name]) for route in ROUTES if route.method != "GET"]
    own = dict((*acts, *((name, CONSOLE[name]) for name in router._CHANGES)))
    for name, rights in own.items():
        if name not in REQUESTS:
            assert rights in ((Right(ALTER),), (Right(CLUSTER_ACTION),)), name


def test_an_act_without_rights_is_not_done(running: WithHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykbroker.http.api.router.API", {})
    monkeypatch.setattr("pykbroker.http.console.router.CONSOLE", {})
    for name in ("/api/v1/faults", "/console/api/topics"):
        answer = running.ask(name)
        assert (answer.status, _SECRET in answer.text) == (500, False)


@pytest.mark.parametrize("name", ACTS)
def test_what_is_denied_does_nothing_and_shows_nothing(running: WithHttp, name: str) -> None:
    before = state(running)
    answer = acted(running, name)
    said, shown = json.dumps([_SAID.get(name), _BODIES.get(name)]), answer.text
    for named in (_TOPIC, _GROUP, _ID):
        shown = shown.replace(named, "") if named in said else shown
    assert _SECRET not in shown
    rights = API.get(name) or CONSOLE[name]
    lists = all(right.name == EACH for right in rights) and name != "loadSeed"
    assert answer.status == (200 if lists else 403), answer.text
    if not lists:
        assert f"{PRINCIPAL}, who asks over HTTP, may not" in answer.json["title"]
        assert "pykbroker acls add --principal User:console" in answer.json["title"]
    assert state(running) == before


@pytest.mark.parametrize("name", [name for name in _SAID if _TOPIC in _SAID[name].values()])
def test_nobody_hears_whether_a_topic_is_there(running: WithHttp, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = acted(running, name)
    monkeypatch.setitem(_SAID, name, {key: "none" if value == _TOPIC else value for key, value in _SAID[name].items()})
    missing = acted(running, name)
    assert (there.status, there.text) == (missing.status, missing.text.replace("topic none", f"topic {_TOPIC}"))


def allowed(right: Right, name: str) -> Acl:
    said = _SAID.get(name, {})
    kind = TOPIC if right.resource_type == BY_KIND else right.resource_type
    resource = CLUSTER_NAME if kind == CLUSTER else WILDCARD if right.name in (EACH, ANY) else said[right.name]
    return Acl(kind, resource, LITERAL, PRINCIPAL, "127.0.0.1", right.operation, ALLOW)


@pytest.mark.deep(but=8)
@pytest.mark.parametrize("name", ACTS)
def test_the_rights_of_the_table_suffice(running: WithHttp, name: str) -> None:
    populate(running)
    rights = API.get(name) or CONSOLE[name]
    running.kafka._ask_later(lambda cluster: cluster.controller.create_acls([allowed(right, name) for right in rights]))
    if name == "startBroker":
        running.kafka.broker(2).stop()
    if name == "/tail":
        status, text = head_of_tail(running), ""
    else:
        answer = acted(running, name)
        status, text = answer.status, answer.text
    missing = ("/schema", "/subject", "/version", "/client")
    assert status == (404 if name in missing else 200), text  # there is no registry, no such client
    logging.getLogger("kafka.authorizer.logger").setLevel(logging.NOTSET)


def head_of_tail(running: WithHttp) -> int:
    connection = http.client.HTTPConnection(running.host, running.port, timeout=30)
    connection.request("GET", f"/console/api/tail?{urlencode(_SAID['/tail'])}")
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_address_of_who_asks_counts(running: WithHttp) -> None:
    populate(running)
    elsewhere = Acl(CLUSTER, CLUSTER_NAME, LITERAL, PRINCIPAL, "127.9.9.9", DESCRIBE, ALLOW)
    running.kafka._ask_later(lambda cluster: cluster.controller.create_acls([elsewhere]))
    assert running.send("GET", "/faults").status == 403


def test_a_denial_is_logged_as_any_other(running: WithHttp, caplog: pytest.LogCaptureFixture) -> None:
    populate(running)
    with caplog.at_level(logging.INFO, "kafka.authorizer.logger"):
        running.send("POST", "/reset")
    assert f"Principal = {PRINCIPAL} is Denied operation = ALTER from host = 127.0.0.1" in caplog.text
    assert "for request = HTTP with" in caplog.text


def test_the_command_quotes_what_strangers_wrote() -> None:
    assert denied(READ, GROUP, "a$(id)").endswith("--group 'a$(id)' --operation read")
    assert denied(READ, TOPIC, "t").endswith(
        "allow it by: pykbroker acls add --principal User:console --topic t --operation read"
    )
    assert denied(ALTER, CLUSTER, CLUSTER_NAME).endswith("--cluster --operation alter")
    for hostile in ("a\x1b[2J", "a\nb", "\u202e", "x" * 1000, ""):
        assert "this group; allow it by: " in denied(READ, GROUP, hostile)
