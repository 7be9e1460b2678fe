"""``pykbroker topics``: list, create, describe, alter and delete topics."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pykbroker.cli.completion import topic_names, topic_setting_names, topic_settings
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import (
    ConnectionOptions,
    Json,
    name_and_value,
)
from pykbroker.cli.output import Output, counted
from pykbroker.cli.replica_filter import COLUMNS as REPLICA_COLUMNS
from pykbroker.cli.replica_filter import as_row, replicas
from pykbroker.cli.topic_patterns import compile_pattern
from pykbroker.client.client import Client
from pykbroker.client.config_source import TOPIC, config_source, origin
from pykbroker.client.errors import ClientError, UsageError, raise_for, refusal
from pykbroker.client.offsets import EARLIEST, LATEST, TopicPartition, list_offsets
from pykbroker.client.replica_state import Replicas, read_replicas
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from pykbroker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from pykbroker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pykbroker.wire.primitives import uuid_to_str

app = typer.Typer(help="List, create, describe, alter and delete topics.", no_args_is_help=True)
app.command("replicas")(replicas)

_TOPIC = 2  # resource type of settings
_SET, _DELETE = 0, 1
_TOPICS_IN_DELETE_SINCE = 6
_BROKERS_DEFAULT = -1
_ALWAYS_SHOWN = {"leader", "replicas", "isr"}

Names = Annotated[list[str], typer.Argument(metavar="TOPIC", autocompletion=topic_names, help="One topic or several.")]


@app.command("list")
@with_option_values
def list_topics(
    patterns: Annotated[
        list[str] | None, typer.Argument(metavar="REGEX", help="Only topics whose whole name matches.")
    ] = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    internal: Annotated[bool, typer.Option("--internal", help="Also internal topics, as __consumer_offsets.")] = False,
) -> None:
    """List topics with their partitions and replicas."""
    out = Output(as_json=as_json)
    compiled = [compile_pattern(text) for text in patterns or []]
    with at.connect() as client:
        found = client.metadata(None).topics
    rows = [
        {
            "name": topic.name,
            "partitions": len(topic.partitions),
            "replicas": max((len(p.replica_nodes) for p in topic.partitions), default=0),
            "internal": topic.is_internal,
            "id": uuid_to_str(topic.topic_id),
        }
        for topic in sorted(found, key=lambda topic: topic.name or "")
        if (internal or not topic.is_internal)
        and (not compiled or any(pattern.fullmatch(topic.name or "") for pattern in compiled))
    ]
    if as_json:
        out.json(rows)
    elif rows:
        out.table({"name": "TOPIC", "partitions": "PARTITIONS", "replicas": "REPLICAS"}, rows)
    elif compiled:
        out.remark("No topic's whole name matches.")
    else:
        out.remark("There are no topics. `pykbroker topics create NAME` makes one.")


@app.command()
@with_option_values
def create(
    names: Names,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions", "-p", metavar="N", min=1, help="Number of partitions; the broker's default if not given."
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            "--replicas", "-r", metavar="N", min=1, help="Replication factor; the broker's default if not given."
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            "-c",
            metavar="NAME=VALUE",
            autocompletion=topic_settings,
            help="A setting, as retention.ms=60000.",
        ),
    ] = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Ignore topics that exist.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only have the broker validate the request.")] = False,
) -> None:
    """Create topics."""
    settings = [CreatableTopicConfig(name=name, value=value) for name, value in map(name_and_value, config or [])]
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=partitions or _BROKERS_DEFAULT,
                replication_factor=replicas or _BROKERS_DEFAULT,
                configs=settings,
            )
            for name in names
        ],
        timeout_ms=int(at.timeout * 1000),
        validate_only=dry_run,
    )
    fine = {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS} if if_not_exists else {ErrorCode.NONE}
    with at.connect() as client:
        answers = client.controller().call(request, CreateTopicsResponse).topics
        made = [answer.name for answer in answers if not answer.error_code]
        if made and not dry_run:
            client.wait_until(lambda: all(count > 0 for count in _partition_counts(client, made)))
    done = "would be created" if dry_run else "created"
    report(
        Output(as_json=as_json),
        [(a.name, a.error_code, a.error_message, "exists already" if a.error_code else done) for a in answers],
        fine,
    )


@app.command()
@with_option_values
def describe(
    names: Names,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    all_config: Annotated[bool, typer.Option("--all-config", help="Every setting, with its source.")] = False,
) -> None:
    """Show partitions, leaders, replicas, offsets and settings of topics."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        described = [_describe(client, name) for name in names]
    if as_json:
        out.json(described)
        return
    for topic in described:
        _print_description(out, topic, all_config=all_config)


def _describe(client: Client, name: str) -> dict[str, Any]:
    try:
        topic = client.topic(name)
        everywhere = [TopicPartition(name, p.partition_index) for p in topic.partitions]
        start = list_offsets(client, dict.fromkeys(everywhere, EARLIEST))
        end = list_offsets(client, dict.fromkeys(everywhere, LATEST))
        state = read_replicas(client, [name])[name]
        settings = _settings(client, name)
    except KafkaError as error:
        raise ClientError(refusal(f"Topic {name}", error)) from error
    return {
        "name": name,
        "id": uuid_to_str(topic.topic_id),
        "internal": topic.is_internal,
        "partitions": _partitions(name, state, start, end),
        "config": settings,
    }


def _partitions(
    name: str, state: dict[int, Replicas], start: dict[TopicPartition, int], end: dict[TopicPartition, int]
) -> list[dict[str, Any]]:
    return [
        {"partition": number}
        | as_row(replicas)
        | {"start": start.get(TopicPartition(name, number)), "end": end.get(TopicPartition(name, number))}
        for number, replicas in sorted(state.items())
    ]


def _settings(client: Client, name: str) -> list[dict[str, Any]]:
    resource = DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=None)
    (answer,) = client.any().call(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse).results
    raise_for(answer.error_code, answer.error_message)
    return [
        {
            "name": item.name,
            "value": item.value,
            "set_on_topic": item.config_source == TOPIC,
            "source": config_source(item.config_source).name,
        }
        for item in sorted(answer.configs, key=lambda item: item.name)
    ]


def _print_description(out: Output, topic: dict[str, Any], *, all_config: bool) -> None:
    columns = {"partition": "PARTITION"}
    columns |= {  # eligible and offline replicas are shown only if there are any
        key: heading
        for key, heading in REPLICA_COLUMNS.items()
        if key in _ALWAYS_SHOWN or any(part[key] for part in topic["partitions"])
    }
    columns |= {"start": "START", "end": "END"}
    records = sum(part["end"] - part["start"] for part in topic["partitions"])
    title = (
        f"{topic['name']}  {counted(len(topic['partitions']), 'partition')}, {counted(records, 'offset')} in use, "
        f"id {topic['id']}"
    )
    out.table(columns, topic["partitions"], title=title)
    shown = [item for item in topic["config"] if all_config or item["set_on_topic"]]
    if shown:
        columns = {"name": "SETTING", "value": "VALUE"} | ({"from": "FROM"} if all_config else {})
        out.table(columns, [item | {"from": origin(item["source"])} for item in shown])
    out.line("")


@app.command()
@with_option_values
def alter(
    names: Names,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", metavar="N", min=1, help="The new number of partitions; it can only grow."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="NAME=VALUE", autocompletion=topic_settings, help="Set a setting."),
    ] = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option(
            "--delete-config",
            "-d",
            metavar="NAME",
            autocompletion=topic_setting_names,
            help="Reset a setting to the broker's default.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only have the broker validate the request.")] = False,
) -> None:
    """Change settings, or add partitions."""
    changes = [AlterableConfig(name=n, config_operation=_SET, value=v) for n, v in map(name_and_value, config or [])]
    changes += [AlterableConfig(name=n, config_operation=_DELETE, value=None) for n in delete_config or []]
    if not changes and partitions is None:
        raise UsageError("Nothing to change: give --config, --delete-config or --partitions.")
    results: list[tuple[str, int, str | None, str]] = []
    prefix = "would have" if dry_run else "has"
    with at.connect() as client:
        if changes:
            altered = _alter_settings(client, names, changes, dry_run=dry_run)
            results += [(a.resource_name, a.error_code, a.error_message, f"{prefix} new settings") for a in altered]
        if partitions is not None:
            grown = _add_partitions(client, names, partitions, dry_run=dry_run)
            done = f"{prefix} {counted(partitions, 'partition')}"
            results += [(a.name, a.error_code, a.error_message, done) for a in grown]
    report(Output(as_json=as_json), results, {ErrorCode.NONE})


def _alter_settings(
    client: Client, names: list[str], changes: list[AlterableConfig], *, dry_run: bool
) -> list[AlterConfigsResourceResponse]:
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=_TOPIC, resource_name=name, configs=changes) for name in names],
        validate_only=dry_run,
    )
    return client.controller().call(request, IncrementalAlterConfigsResponse).responses


def _add_partitions(
    client: Client, names: list[str], partitions: int, *, dry_run: bool
) -> list[CreatePartitionsTopicResult]:
    growth = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=partitions, assignments=None) for name in names],
        timeout_ms=int(client.timeout_s * 1000),
        validate_only=dry_run,
    )
    results = client.controller().call(growth, CreatePartitionsResponse).results
    larger = [answer.name for answer in results if not answer.error_code]
    if not dry_run:
        client.wait_until(lambda: all(count >= partitions for count in _partition_counts(client, larger)))
    return results


@app.command()
@with_option_values
def delete(
    names: Names,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Ignore topics that do not exist.")] = False,
) -> None:
    """Delete topics and all their records."""
    out = Output(as_json=as_json)
    confirm(out, f"Delete {', '.join(names)} with all records?", yes=yes)
    with at.connect() as client:
        controller = client.controller()
        request = DeleteTopicsRequest(timeout_ms=int(at.timeout * 1000))
        if controller.version(request.API_KEY) >= _TOPICS_IN_DELETE_SINCE:
            request.topics = [DeleteTopicState(name=name) for name in names]
        else:
            request.topic_names = names
        answers = controller.call(request, DeleteTopicsResponse).responses
        gone = [answer.name or "" for answer in answers if not answer.error_code]
        client.wait_until(lambda: not any(_partition_counts(client, gone)))
    fine = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} if if_exists else {ErrorCode.NONE}
    results = [
        (a.name or "", a.error_code, a.error_message, "does not exist" if a.error_code else "deleted") for a in answers
    ]
    report(out, results, fine)


def _partition_counts(client: Client, names: list[str]) -> list[int]:
    """Return the number of partitions with a leader of each topic; 0 for unknown topics."""
    if not names:
        return []
    return [sum(part.leader_id >= 0 for part in topic.partitions) for topic in client.metadata(names).topics]


def confirm(out: Output, question: str, *, yes: bool) -> None:
    """Ask before deleting; without a terminal, require --yes. Raises UsageError."""
    if yes:
        return
    if not out.is_terminal:
        raise UsageError("This cannot be undone; add --yes to do it without being asked.")
    typer.confirm(question, abort=True, err=True)


def report(
    out: Output, results: list[tuple[str, int, str | None, str]], fine: set[ErrorCode], *, what: str = "Topic"
) -> None:
    """Print the result of each (name, error code, error message, outcome). Raises ClientError if one failed."""
    refused = []
    rows = []
    for name, code, message, outcome in sorted(results):
        error = KafkaError(error_code(code), message or None)
        good = error.code in fine
        rows.append(
            {"name": name, "error": None if good else error.code.name, "message": None if good else error.message}
        )
        if not good:
            refused.append(refusal(f"{what} {name}".strip(), error))
        elif not out.as_json:
            out.line(f"{name} {outcome}")
    if out.as_json:
        out.json(rows)
    if refused:
        raise ClientError("\n".join(refused))
