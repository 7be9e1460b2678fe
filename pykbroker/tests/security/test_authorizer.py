"""Who may do what: super users, hosts as Java writes them, what is remembered, and what of it is logged."""

from __future__ import annotations

import gc
import logging
import tracemalloc
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pykbroker.metadata.delta import MetadataDelta
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import Authorizer, as_java_writes
from pykbroker.security.context import RequestContext
from pykbroker.security.operations import DESCRIBE, READ, WRITE
from pykbroker.security.resources import GROUP, LITERAL, TOPIC
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord

LOG = "kafka.authorizer.logger"
LISTED = Acl(TOPIC, "t", LITERAL, "User:alice", "*", READ, ALLOW)


def asker(principal: str = "User:alice", host: str = "127.0.0.1", api: int = ApiKey.FETCH) -> RequestContext:
    return RequestContext(api, 12, 1, "client", host, "PLAINTEXT", principal)


def authorizer(*super_users: str, now: Any = lambda: 0.0, **settings: bool) -> Authorizer:
    return Authorizer(super_users, now=now, **settings)


def record(acl: Acl = LISTED) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(b"i" * 16, *acl)


def changed(asked: Authorizer, *changes: tuple[AccessControlEntryRecord, bool]) -> None:
    asked.follow(cast("Any", None), MetadataDelta(acls=list(changes)))


def test_a_super_user_may_do_everything() -> None:
    asked = authorizer("User:admin")
    assert asked.may(asker("User:admin"), WRITE, TOPIC, "t")
    assert asked.may_to_any(asker("User:admin"), WRITE, TOPIC)
    assert not asked.may(asker(), WRITE, TOPIC, "t")


def test_a_decision_holds_until_a_list_comes_or_goes() -> None:
    asked = authorizer()
    assert not asked.may(asker(), READ, TOPIC, "t")
    assert not asked.may_to_any(asker(), READ, TOPIC)
    changed(asked, (record(), True))
    assert asked.may(asker(), READ, TOPIC, "t")
    assert asked.may_to_any(asker(), READ, TOPIC)
    changed(asked, (record(), False))
    assert not asked.may(asker(), READ, TOPIC, "t")
    assert not asked.may_to_any(asker(), READ, TOPIC)


def test_what_the_metadata_holds_is_loaded() -> None:
    asked = authorizer()
    asked.load(cast("Any", SimpleNamespace(acls={b"i" * 16: record()})))
    assert asked.may(asker(), READ, TOPIC, "t")


def test_everybody_where_there_is_no_list() -> None:
    asked = authorizer(otherwise=True)
    assert asked.may(asker(), WRITE, TOPIC, "t")
    changed(asked, (record(), True))
    assert not asked.may(asker(), WRITE, TOPIC, "t")
    assert asked.may(asker(), WRITE, TOPIC, "u")


def test_hosts_are_compared_as_java_writes_them() -> None:
    asked = authorizer()
    changed(asked, (record(LISTED._replace(host="0:0:0:0:0:0:0:1")), True))
    assert asked.may(asker(host="::1"), READ, TOPIC, "t")
    assert as_java_writes("10.0.0.1") == "10.0.0.1"
    assert as_java_writes("::ffff:10.0.0.1") == "10.0.0.1"
    assert as_java_writes("fe80::a%eth0") == "fe80:0:0:0:0:0:0:a%eth0"


def test_a_refusal_is_logged_in_kafkas_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG)
    asked = authorizer()
    asked.may(asker(), READ, TOPIC, "t")
    (line,) = caplog.messages
    assert line == (
        "Principal = User:alice is Denied operation = READ from host = 127.0.0.1 on resource = Topic:LITERAL:t "
        "for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny"
    )


def test_what_is_only_looked_up_is_no_refusal(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG)
    assert not authorizer().may(asker(), DESCRIBE, TOPIC, "t", tells=False)
    assert caplog.messages == []


def test_what_is_allowed_is_logged_for_who_wants_to_know(caplog: pytest.LogCaptureFixture) -> None:
    asked = authorizer("User:admin")
    changed(asked, (record(), True))
    asked.may(asker(), READ, TOPIC, "t")
    caplog.set_level(logging.DEBUG, LOG)
    asked.may(asker(), READ, TOPIC, "t")
    asked.may(asker("User:admin"), READ, TOPIC, "t")
    rules = [message.rpartition("based on rule ")[2] for message in caplog.messages]
    assert rules[0].startswith("MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=t,")
    assert rules[1] == "SuperUser"


def test_the_same_refusal_is_told_once_a_minute_with_how_many_there_were(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG)
    time = [0.0]
    asked = authorizer(now=lambda: time[0])
    for _ in range(50):
        asked.may(asker(), READ, TOPIC, "t")
    asked.may(asker(api=ApiKey.LIST_OFFSETS), READ, TOPIC, "t")  # of another kind of request
    assert len(caplog.messages) == 2
    time[0] = 61.0
    asked.may(asker(), READ, TOPIC, "t")
    assert caplog.messages[-1].endswith("DefaultDeny (49 more times since it was last logged)")


def test_a_flood_of_different_refusals_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG)
    time = [0.0]
    asked = authorizer(now=lambda: time[0])
    for number in range(500):
        asked.may(asker(), READ, TOPIC, f"t{number}")
    assert len(caplog.messages) == 100
    time[0] = 1.5
    asked.may(asker(), READ, TOPIC, "t")
    assert caplog.messages[100] == "400 more denied requests were not logged: too many in one second"
    assert "Topic:LITERAL:t " in caplog.messages[101]


def test_what_was_allowed_need_not_be_asked_again_until_a_list_comes_or_goes() -> None:
    asked = authorizer()
    changed(asked, (record(), True))
    question = ("User:alice", "127.0.0.1", READ, TOPIC, "t")
    by_id = (*question[:4], b"t" * 16)
    asked.grant_by_id(asker(), READ, TOPIC, b"t" * 16, "t")
    assert asked.granted == set()  # nobody has asked for the topic by its name
    assert asked.may(asker(), READ, TOPIC, "t")
    asked.grant_by_id(asker(), READ, TOPIC, b"t" * 16, "t")
    assert not asked.may(asker(), WRITE, TOPIC, "t")
    assert asked.granted == {question, by_id}
    changed(asked, (record(LISTED._replace(operation=WRITE)), True))
    assert asked.granted == set()


def test_what_is_logged_is_asked_each_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, LOG)
    asked = authorizer("User:alice")
    assert asked.may(asker(), READ, TOPIC, "t")
    assert asked.granted == set()


def test_names_of_any_length_are_decided_about_and_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever may ask, asks about what he likes."""
    caplog.set_level(logging.INFO, LOG)
    asked = authorizer("User:admin")
    gc.collect()
    tracemalloc.start()
    for number in range(500):
        name = f"{number:030000}"
        assert not asked.may(asker(), READ, GROUP, name)
        assert asked.may(asker("User:admin"), READ, GROUP, name)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2_000_000
    assert "Group:LITERAL:000" in caplog.text
    assert "... (30000 characters) for request" in caplog.text
    assert max(map(len, caplog.messages)) < 1000
