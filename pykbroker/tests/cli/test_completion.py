"""What a shell completes: whatever the cluster or Kafka has a list of, for every command that there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import typer

from pykbroker.cli import completion
from pykbroker.cli.app import application
from pykbroker.cli.serve_options import parser
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.tests.kit.hostile import WORD, HostileBroker
from pykbroker.wire.apis import ApiKey

#: Names of parameters to what completes them.
WANTED = {
    "topic": (completion.topic_names,),
    "topics": (completion.topic_names,),
    "group": (completion.group_names,),
    "transactional_id": (completion.transactional_ids,),
    "ids": (completion.transactional_ids,),
    "user": (completion.user_names,),
    "users": (completion.user_names,),
    "broker": (completion.broker_ids,),
    "config": (completion.topic_settings,),
    "delete_config": (completion.topic_setting_names,),
    "setting": (completion.setting_names,),
    "operation": (completion.operation_names,),
}
#: Commands that ask no cluster: what of their parameters has the same name is something else.
APART = {("lake",), ("schemas",), ("brokers",), ("faults",)}


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from _commands(each, (*path, name))
    else:
        yield path, command


COMMANDS = dict(_commands(typer.main.get_command(application())))


def test_all_that_has_a_list_is_completed() -> None:
    missing = [
        f"{' '.join(path)}: {param.name}"
        for path, command in COMMANDS.items()
        for param in command.params
        if path[:1] not in APART and param.name in WANTED and not param._custom_shell_complete
    ]
    assert missing == []


def test_it_is_completed_from_the_right_list() -> None:
    found = [(name, info.autocompletion) for name, info in _declared() if info.autocompletion is not None]
    assert len(found) > 20
    for name, complete in found:
        assert complete in WANTED.get(name, (complete,)), name


def _declared() -> Iterator[tuple[str, Any]]:
    """The parameters that functions of commands declare, by their names."""
    app = application()
    groups = [app, *(each.typer_instance for each in app.registered_groups)]
    for group in groups:
        for command in group.registered_commands:
            hints = typer.utils.get_params_from_function(command.callback)
            for name, param in hints.items():
                if hasattr(param.default, "autocompletion"):
                    yield name, param.default


@pytest.mark.parametrize("name", ["serve", "check"])
def test_options_of_argparse(name: str) -> None:
    command = COMMANDS[name,]
    context = command.make_context(name, ["--http", "8080", "--set", "a=b"], resilient_parsing=True)
    words = {each.value for each in command.shell_complete(context, "--")}
    every = {word for word in parser()._option_string_actions if word.startswith("--")}
    assert every - words == {"--http"}, "said once, it is not said again; --set may be"
    assert [each.value for each in command.shell_complete(context, "--log-l")] == ["--log-level"]
    assert command.shell_complete(context, "") == []


def test_lists_that_need_no_cluster() -> None:
    assert completion.topic_settings("retention.") == ["retention.bytes=", "retention.ms="]
    assert completion.topic_setting_names("") == sorted(TOPIC_SETTINGS)
    assert completion.operation_names("describe") == ["describe", "describe-configs", "describe-tokens"]


@pytest.mark.parametrize("name", ["orders", "a-b_c.d", "CN=kafka,OU=x", "user@REALM", "app/1", "a:b", "1"])
def test_harmless_names_are_completed(name: str) -> None:
    assert completion._HARMLESS.fullmatch(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "-y",
            "=ls",
            "~root",
            "a b",
            "a\n",
            "a$b",
            "a`b",
            "a'b",
            'a"b',
            "a;b",
            "a|b",
            "a&b",
            "a(b",
            "a*",
            "a?",
            "a[b]",
        ),
        *(
            "a{b,c}",
            "a!b",
            "a#b",
            "a<b",
            "a\\b",
            "a%b",
            "a^b",
            "\x1b[2J",
            "\x9b2J",
            "a\u202eb",
            "a\u200bb",
            "\uff04(x)",
            "\ud800",
        ),
    ],
)
def test_names_that_a_shell_could_take_for_something_else_are_not(name: str) -> None:
    assert not completion._HARMLESS.fullmatch(name)


def test_nothing_that_a_hostile_broker_lists_is_completed() -> None:
    """Whatever completes from a cluster: a new one that does not go through the filter fails here."""
    with closing(HostileBroker()) as broker:
        asked = 0
        for path, command in COMMANDS.items():
            for param in command.params:
                if path[:1] in APART or not param._custom_shell_complete:
                    continue
                context = typer.Context(command)
                context.params = {"bootstrap": f"127.0.0.1:{broker.port}", "kind": "topic", "name": WORD}
                for item in param.shell_complete(context, ""):
                    assert completion._HARMLESS.fullmatch(item.value), f"{' '.join(path)} {param.name}"
                asked += 1
        assert asked > 30
        assert {ApiKey.METADATA, ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS, ApiKey.DESCRIBE_CONFIGS} <= broker.asked
