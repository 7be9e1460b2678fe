"""Who a name of Kerberos is by rules that are drawn: here, and by Kafka's own class."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from compat_tests.conftest import LONG
from compat_tests.harness.java import compile_java, java_command
from pykbroker.security.kerberos.names import NameRuleError, NoUser, ShortNames

Ask = Callable[[dict[str, Any]], Any]

#: Few letters, so that names and patterns meet.
_part = st.text("aAb.\\$-", max_size=3)
_realms = st.sampled_from(["R", "S", "r"])
_names = (
    st.builds("{}@{}".format, _part, _realms)
    | st.builds("{}/{}@{}".format, _part, _part, _realms)
    | st.text("ab/@", max_size=5)
)
_forms = st.lists(st.sampled_from(["$0", "$1", "$2", "$", "$3", "$01", "a", "@", "/", "-"]), max_size=4).map("".join)
_patterns = st.lists(
    st.sampled_from(["a", "b", ".", ".*", "@", "R", "^", "$", "(a)", "(.)", "[", "a|b", "a*", "\\w", "?", "@.*"]),
    max_size=3,
).map("".join)
_replacements = st.lists(st.sampled_from(["", "x", "$0", "$1", "$2", "$12", "$", "\\", "\\$", "A"]), max_size=3).map(
    "".join
)
_changes = st.builds("s/{}/{}/{}".format, _patterns, _replacements, st.sampled_from(["", "g"]))
_rules = st.builds(
    "RULE:[{}:{}]{}{}{}".format,
    st.sampled_from(["1", "2", "1", "2", "0", "", "01"]),
    _forms,
    st.just("") | st.builds("({})".format, _patterns.filter(lambda text: ")" not in text)),
    st.just("") | _changes,
    st.sampled_from(["", "", "/L", "/U", "L", "/", "/X"]),
)
_scenes = st.fixed_dictionaries(
    {
        "realm": st.sampled_from(["R", ""]),
        "rules": st.lists(_rules | st.sampled_from(["DEFAULT", "DEFAULT", "default"]), max_size=3),
        "names": st.lists(_names, min_size=5, max_size=15),
    }
)


@pytest.fixture(scope="module")
def kafkas() -> Iterator[Ask]:
    """Asks Kafka's class."""
    classes = compile_java([Path(__file__).with_name("ShortNames.java")], "kafka")
    command = java_command("ShortNames", "kafka", classes=classes)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(scene: dict[str, Any]) -> Any:
            process.stdin.write(json.dumps(scene) + "\n")
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def ours(scene: dict[str, Any]) -> list[str | None] | None:
    try:
        names = ShortNames(scene["rules"], scene["realm"])
    except NameRuleError:
        return None
    return [_user(names, name) for name in scene["names"]]


def _user(names: ShortNames, name: str) -> str | None:
    try:
        return names.user(name)
    except NoUser:
        return None


@settings(
    max_examples=4000 if LONG else 300,
    derandomize=not LONG,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(_scenes)
@example({"realm": "R", "rules": ["RULE:[1:$1]s/a*/-/g"], "names": ["aba@R", "baab@R", "@R"]})
@example({"realm": "R", "rules": ["RULE:[2:$1-$2](a-.*)s/-.*//", "DEFAULT"], "names": ["a/b@S", "b/a@S", "b/a@R"]})
def test_same(kafkas: Ask, scene: dict[str, Any]) -> None:
    assert ours(scene) == kafkas(scene)
