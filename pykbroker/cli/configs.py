"""``pykbroker configs``: settings of brokers, loggers, groups and topics (for topics also ``pykbroker topics``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import assigned_settings, resource_names, setting_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json, name_and_value
from pykbroker.cli.output import Output
from pykbroker.cli.topics import report
from pykbroker.client.client import Client
from pykbroker.client.config_source import config_source, origin
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import ClientError, UsageError, raise_for, refusal
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

app = typer.Typer(help="Show and change settings of brokers, loggers, groups and topics.", no_args_is_help=True)


class ConfigResourceKind(StrEnum):
    """A type of resource that has settings."""

    BROKER = "broker"
    LOGGER = "broker-logger"
    TOPIC = "topic"
    GROUP = "group"
    METRICS = "client-metrics"


_TYPES = {
    ConfigResourceKind.TOPIC: 2,
    ConfigResourceKind.BROKER: 4,
    ConfigResourceKind.LOGGER: 8,
    ConfigResourceKind.METRICS: 16,
    ConfigResourceKind.GROUP: 32,
}
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_DEFAULT = "DEFAULT_CONFIG"

What = Annotated[ConfigResourceKind, typer.Argument(metavar="KIND", help="The type of resource.")]
Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        autocompletion=resource_names,
        help="Its name: a broker's id, a topic, ... For brokers, no name means the default of all.",
    ),
]


@app.command()
@with_option_values
def describe(
    kind: What,
    name: Name = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting", "-s", metavar="NAME", autocompletion=setting_names, help="Only this setting; may be repeated."
        ),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", "-a", help="Defaults too.")] = False,
) -> None:
    """Show settings and the source of each value; without --all, only those that were set."""
    out = Output(as_json=as_json)
    resource = DescribeConfigsResource(
        resource_type=_TYPES[kind], resource_name=_required(kind, name), configuration_keys=setting or None
    )
    with at.connect() as client:
        connection = _where(client, kind, name)
        (answer,) = connection.call(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse).results
    if answer.error_code:
        _refuse(kind, name, answer.error_code, answer.error_message)
    if missing := sorted(set(setting or []) - {item.name for item in answer.configs}):
        raise ClientError(f"{_title(kind, name)} has no setting {', '.join(missing)}.")
    rows = [_row(item) for item in sorted(answer.configs, key=lambda item: item.name)]
    everything = show_all or bool(setting) or kind is ConfigResourceKind.LOGGER
    if as_json:
        out.json(rows)
        return
    shown = [
        row
        | {"from": origin(row["source"])}
        | ({"value": "(hidden)"} if row["sensitive"] and row["source"] != _DEFAULT else {})
        for row in rows
        if everything or row["source"] != _DEFAULT
    ]
    if shown:
        columns = {"name": "SETTING", "value": "VALUE", "from": "FROM"}
        out.table(columns, shown, title=_title(kind, name))
    else:
        out.remark(f"{_title(kind, name)}: nothing is set. --all shows the defaults.")


def _row(item: DescribeConfigsResourceResult) -> dict[str, Any]:
    return {
        "name": item.name,
        "value": item.value,
        "source": config_source(item.config_source).name,
        "read_only": item.read_only,
        "sensitive": item.is_sensitive,
    }


@dataclass(frozen=True)
class ChangeOptions:
    """What becomes of settings."""

    set_to: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", autocompletion=assigned_settings, help="Set a setting."),
    ] = None
    delete: Annotated[
        list[str] | None,
        typer.Option("--delete", metavar="NAME", autocompletion=setting_names, help="Reset a setting to its default."),
    ] = None
    append: Annotated[
        list[str] | None,
        typer.Option(
            "--append", metavar="NAME=VALUE", autocompletion=assigned_settings, help="Add to a setting that is a list."
        ),
    ] = None
    subtract: Annotated[
        list[str] | None,
        typer.Option(
            "--subtract",
            metavar="NAME=VALUE",
            autocompletion=assigned_settings,
            help="Remove from a setting that is a list.",
        ),
    ] = None

    def changes(self) -> list[AlterableConfig]:
        """Return the changes, as requests have them."""
        changes = [AlterableConfig(name=name, config_operation=_DELETE, value=None) for name in self.delete or []]
        for operation, given in ((_SET, self.set_to), (_APPEND, self.append), (_SUBTRACT, self.subtract)):
            changes += [
                AlterableConfig(name=setting, config_operation=operation, value=value)
                for setting, value in map(name_and_value, given or [])
            ]
        return changes


@app.command()
@with_option_values
def alter(
    kind: What,
    name: Name = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    changed: ChangeOptions,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only have the broker validate the request.")] = False,
) -> None:
    """Change settings while the cluster runs."""
    changes = changed.changes()
    if not changes:
        raise UsageError("Nothing to change: give --set, --delete, --append or --subtract.")
    resource = AlterConfigsResource(resource_type=_TYPES[kind], resource_name=_required(kind, name), configs=changes)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=dry_run)
    with at.connect() as client:
        connection = _where(client, kind, name, change=True)
        answers = connection.call(request, IncrementalAlterConfigsResponse).responses
    done = f"{'would have' if dry_run else 'has'} new settings"
    report(
        Output(as_json=as_json),
        [(_title(kind, name), a.error_code, a.error_message, done) for a in answers],
        {ErrorCode.NONE},
        what="",
    )


def _where(client: Client, kind: ConfigResourceKind, name: str | None, *, change: bool = False) -> BrokerConnection:
    """Return the broker to ask: that of the settings; for other resources any, or the controller to alter them."""
    if kind in (ConfigResourceKind.BROKER, ConfigResourceKind.LOGGER) and name:
        if not name.isdecimal():
            raise UsageError(f"{name!r} is not a broker's id; `pykbroker cluster describe` shows them.")
        return client.named_node(int(name))
    return client.controller() if change else client.any()


def _required(kind: ConfigResourceKind, name: str | None) -> str:
    if not name and kind is not ConfigResourceKind.BROKER:
        raise UsageError(f"Say which one: pykbroker configs ... {kind} NAME.")
    return name or ""


def _title(kind: ConfigResourceKind, name: str | None) -> str:
    return f"{kind} {name}" if name else "the default of all brokers"


def _refuse(kind: ConfigResourceKind, name: str | None, code: int, message: str | None) -> None:
    try:
        raise_for(code, message)
    except KafkaError as error:
        raise ClientError(refusal(_title(kind, name), error)) from error
