"""Who the console is to the brokers, and what it is spared."""

from __future__ import annotations

from confluent_kafka import Producer

from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.tests.http.http_client import WithHttp, with_http

_ACLS = {"authorizer.class.name": STANDARD_AUTHORIZER}


def refused(http: WithHttp, path: str, **body: object) -> str:
    answer = http.changed(path, **body)
    assert answer.status == 403
    title: str = answer.json["title"]
    return title


def test_where_access_is_controlled_it_may_what_it_is_allowed() -> None:
    with with_http(settings=_ACLS) as http:
        http.kafka.create_topic("secret")
        http.kafka.produce("secret", "x")
        assert http.look("/topics")["total"] == 0
        for path in ("/topic", "/partitions", "/records", "/tail"):
            assert http.refusal(path, topic="secret")[0] == 403
        assert http.refusal("/record", topic="secret", partition=0, offset=0)[0] == 403
        assert http.refusal("/settings", of="broker", name="1")[0] == 403
        assert "may not create the topic t;" in refused(http, "/topics/create", topic="t", partitions=1)
        assert "may not delete the topic secret;" in refused(http, "/topics/delete", topic="secret")
        assert "may not write the topic secret;" in refused(http, "/records/produce", topic="secret", value="x")
        assert "may not delete the group g;" in refused(http, "/groups/delete", group="g")
        assert "secret" in http.kafka.topics()


def test_named_among_the_super_users_it_may_do_everything() -> None:
    with with_http(settings={**_ACLS, "super.users": "User:console"}) as http:
        http.change("/topics/create", topic="t", partitions=1)
        http.change("/records/produce", topic="t", value="x")
        assert http.look("/records", topic="t")["records"][0]["value"]["text"] == "x"
        assert http.look("/settings", of="broker", name="1")["settings"]


def test_faults_are_about_clients() -> None:
    with with_http() as http:
        http.kafka.create_topic("t")
        fault = http.kafka.faults.add("*", delay="1ms")
        http.change("/records/produce", topic="t", value="x")
        assert len(http.look("/records", topic="t")["records"]) == 1
        assert fault.matched == 0
        Producer({"bootstrap.servers": http.kafka.bootstrap_servers}).list_topics(timeout=60)
        assert fault.matched > 0
