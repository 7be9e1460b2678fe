"""Our decisions against those of Kafka's own StandardAuthorizer, for access lists and questions that are drawn."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat_tests.harness.java import compile_java, java_command
from pykbroker.security.acl import ALLOW, DENY, Acl, AclFilter
from pykbroker.security.authorizer import Authorizer
from pykbroker.security.context import RequestContext
from pykbroker.security.operations import ALTER_CONFIGS, READ, TWO_PHASE_COMMIT
from pykbroker.security.resources import ANY, GROUP, LITERAL, MATCH, PREFIXED, TOPIC

Scene = dict[str, Any]
Ask = Callable[[Scene], list[Any]]

#: Few letters, so that names meet prefixes, and what Java counts as two characters. Nothing that sorts before ``*``: of such
#: names Kafka's search for ``*`` may never end, or fail.
_names = st.text("ab*-\N{GRINNING FACE}", min_size=1, max_size=4)
#: Kafka fails of a user who is called ``*``.
_users = ["User:a", "User:b", "Group:a", "User:a:b", "User:"]
_principals = st.sampled_from(["User:*", *_users])
_hosts = ["127.0.0.1", "10.0.0.1", "0:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:a:1"]
_types = st.sampled_from([TOPIC, TOPIC, GROUP])
_operations = st.integers(READ, ALTER_CONFIGS)
_acls = st.tuples(
    _types,
    _names,
    st.sampled_from([LITERAL, PREFIXED]),
    _principals,
    st.sampled_from(["*", *_hosts]),
    st.integers(2, TWO_PHASE_COMMIT) | _operations,
    st.sampled_from([DENY, ALLOW, ALLOW]),
)
#: Lists about every resource are not about those whose names begin with ``*`` in Kafka, which is no rule but an oversight.
_asked_names = _names.filter(lambda name: name == "*" or not name.startswith("*"))
_asked = st.tuples(st.sampled_from(_users), st.sampled_from(_hosts), _operations, _types, _asked_names | st.none())
_filters = st.tuples(
    _types | st.just(ANY),
    _names | st.none(),
    st.sampled_from([ANY, MATCH, LITERAL, PREFIXED]),
    _principals | st.none(),
    st.sampled_from([None, "*", *_hosts]),
    st.just(ANY) | _operations,
    st.sampled_from([ANY, DENY, ALLOW]),
)
#: Many questions of each set of lists: a question is cheap, and so Kafka is asked thousands.
_scenes = st.fixed_dictionaries(
    {
        "super": st.sampled_from(["", "User:b", "User:b; User:a:b ;", "Group:a"]),
        "default": st.booleans(),
        "acls": st.lists(_acls, max_size=12, unique=True),
        "asked": st.lists(_asked, min_size=10, max_size=30),
        "filters": st.lists(_filters, max_size=5),
    }
)


@pytest.fixture(scope="module")
def kafkas() -> Iterator[Ask]:
    """Asks Kafka's class what it decides."""
    classes = compile_java([Path(__file__).with_name("Decisions.java")], "kafka")
    command = java_command("Decisions", "kafka", classes=classes)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(scene: Scene) -> list[Any]:
            process.stdin.write(json.dumps(scene) + "\n")
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def ours(scene: Scene) -> list[Any]:
    users = [user.strip() for user in scene["super"].split(";") if user.strip()]
    authorizer = Authorizer(users, otherwise=scene["default"], now=lambda: 0.0)
    acls = [Acl(*acl) for acl in scene["acls"]]
    for acl in acls:
        authorizer.rules.add(acl)
    decided: list[Any] = []
    for principal, host, operation, resource_type, name in scene["asked"]:
        asker = RequestContext(0, 0, 0, "", host, "PLAINTEXT", principal)
        if name is None:
            decided.append(authorizer.may_to_any(asker, operation, resource_type))
        else:
            decided.append(authorizer.may(asker, operation, resource_type, name, tells=False))
    return decided + [sum(map(AclFilter(*each).matches, acls)) for each in scene["filters"]]


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_scenes)
def test_the_same_lists_decide_the_same(kafkas: Ask, scene: Scene) -> None:
    assert ours(scene) == kafkas(scene)
