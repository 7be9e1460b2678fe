"""``kafka-configs``: describe and alter settings of topics, brokers, groups and the like, and users' SCRAM passwords."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.config_source import config_source
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import raise_for
from pykbroker.container.tools import quota_configs
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one, settings
from pykbroker.container.tools.scram_users import credential
from pykbroker.security.sasl.scram import MECHANISMS
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
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

_TYPES: Final = {"topics": 2, "brokers": 4, "broker-loggers": 8, "client-metrics": 16, "groups": 32}
_SHORT: Final = {
    "topic": "topics",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "user": "users",
    "client": "clients",
    "ip": "ips",
    "group": "groups",
}
_SET, _DELETE = 0, 1
#: Settings between commas; values in brackets may contain commas.
_ENTRY: Final = re.compile(r"([^=,]+)=(\[[^\]]*\]|[^,]*)(?:,|$)")


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    _name_entity(options)
    action = exactly_one(options, ("describe", "alter"))
    with connect(options) as client:
        if options.entity_type in quota_configs.KINDS:
            _alter_entity(client, options) if action == "alter" else quota_configs.describe(
                client, options.kinds, options.names
            )
        elif action == "alter":
            _alter(client, options)
        else:
            _describe(client, options)


def _options() -> Options:
    made = Options("kafka-configs", "Describe and alter settings.")
    made.connecting()
    made.add_argument("--zookeeper", help=argparse.SUPPRESS)
    made.flags("describe", "alter", "all", "force")
    made.add_argument("--entity-type", metavar="TYPE", action="append", dest="kinds", default=[],
                      help=f"{', '.join((*_TYPES, *quota_configs.KINDS))}; users and clients may stand together")  # fmt: skip
    made.add_argument("--entity-name", metavar="NAME", action="append", dest="names", default=[])
    made.add_argument("--entity-default", action="append_const", const="", dest="names")
    for short in _SHORT:
        made.add_argument(f"--{short}", metavar="NAME", dest=f"short_{short}")
    for short in ("broker", "user", "client", "ip"):
        made.add_argument(f"--{short}-defaults", dest=f"short_{short}", action="store_const", const="")
    made.add_argument("--add-config", metavar="NAME=VALUE,NAME=[A,B],...")
    made.add_argument("--add-config-file", metavar="FILE")
    made.add_argument("--delete-config", metavar="NAME,...")
    return made


def _name_entity(options: argparse.Namespace) -> None:
    """Expand ``--topic NAME`` to ``--entity-type topics --entity-name NAME``. Raises ToolError."""
    for short, kind in _SHORT.items():
        name = getattr(options, f"short_{short}")
        if name is not None:
            options.kinds.append(kind)
            options.names.append(name)
    options.entity_type = options.kinds[0] if options.kinds else None
    options.entity_name, options.entity_default = (options.names or [None])[0], options.names[:1] == [""]
    if options.zookeeper and not options.bootstrap_server:
        raise ToolError("--zookeeper is not served: name brokers, --bootstrap-server HOST:PORT.")
    known = (*_TYPES, *quota_configs.KINDS)
    if unknown := [kind for kind in options.kinds or [None] if kind not in known]:
        raise ToolError(f"--entity-type is one of {', '.join(known)}, not {unknown[0]}.")
    if len(options.kinds) > 1 and sorted(options.kinds) != ["clients", "users"]:
        raise ToolError("Only one entity type, or users and clients, may be named.")


def entries(text: str | None) -> dict[str, str]:
    """Parse ``a=1,b=[2,3]`` into names and values. Raises ToolError."""
    found, at = {}, 0
    while text is not None and at < len(text):
        entry = _ENTRY.match(text, at)
        if entry is None:
            raise ToolError(f"{text!r} is not like NAME=VALUE,NAME=[A,B].")
        found[entry[1].strip()] = (
            entry[2].removeprefix("[").removesuffix("]").strip() if entry[2][:1] == "[" else entry[2].strip()
        )
        at = entry.end()
    return found


def _where(client: Client, options: argparse.Namespace) -> BrokerConnection:
    """Return the broker to ask: a broker describes only its own settings."""
    name = options.entity_name
    if options.entity_type in ("brokers", "broker-loggers") and name:
        return client.named_node(int(name)) if name.isdecimal() else _no_id(name)
    return client.controller()


def _no_id(name: str) -> BrokerConnection:
    raise ToolError(f"The entity name for brokers must be a valid integer broker id, found: {name}")


def _title(options: argparse.Namespace, *, plural: bool = False) -> str:
    kind = options.entity_type.removesuffix("s")
    return f"default {kind}s in the cluster" if not options.entity_name else f"{kind} {options.entity_name}"


def _alter(client: Client, options: argparse.Namespace) -> None:
    added = entries(options.add_config)
    if options.add_config_file:
        added |= settings(options.add_config_file)
    removed = [name.strip() for name in (options.delete_config or "").split(",") if name.strip()]
    if not added and not removed:
        raise ToolError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    changes = [AlterableConfig(name=name, config_operation=_SET, value=value) for name, value in added.items()]
    changes += [AlterableConfig(name=name, config_operation=_DELETE, value=None) for name in removed]
    resource = AlterConfigsResource(
        resource_type=_TYPES[options.entity_type], resource_name=options.entity_name or "", configs=changes
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    for answer in _where(client, options).call(request, IncrementalAlterConfigsResponse).responses:
        raise_for(answer.error_code, answer.error_message)
    print_lines(
        f"Completed updating {'default ' if not options.entity_name else ''}config for {_title_of_change(options)}."
    )


def _title_of_change(options: argparse.Namespace) -> str:
    kind = options.entity_type.removesuffix("s")
    return f"{kind} {options.entity_name}" if options.entity_name else f"{kind}s in the cluster"


def _describe(client: Client, options: argparse.Namespace) -> None:
    for name in _named(client, options):
        options.entity_name = name
        resource = DescribeConfigsResource(
            resource_type=_TYPES[options.entity_type], resource_name=name, configuration_keys=None
        )
        request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
        (answer,) = _where(client, options).call(request, DescribeConfigsResponse).results
        raise_for(answer.error_code, answer.error_message)
        shown = [item for item in answer.configs if options.all or _is_dynamic(item, options)]
        kind = "All" if options.all else "Dynamic"
        print_lines(
            f"{kind} configs for {_title(options)} are:"
            if name
            else f"Default configs for {_title(options).removeprefix('default ')} are:"
        )
        for item in sorted(shown, key=lambda item: item.name):
            print_lines(
                f"  {item.name}={_value(item)} sensitive={str(item.is_sensitive).lower()} synonyms={{{_synonyms(item)}}}"
            )


def _named(client: Client, options: argparse.Namespace) -> Iterator[str]:
    """Return the named entity, or all of its type if these can be listed."""
    if options.entity_name or options.entity_default:
        yield options.entity_name or ""
    elif options.entity_type == "topics":
        yield from sorted(topic.name or "" for topic in client.metadata(None).topics)
    elif options.entity_type in ("brokers", "broker-loggers"):
        yield from map(str, client.node_ids())
    else:
        raise ToolError("--entity-name NAME is missing.")


def _is_dynamic(item: DescribeConfigsResourceResult, options: argparse.Namespace) -> bool:
    """Whether a setting was set dynamically, for the entity itself or as the default of its type."""
    dynamic = {"topics": {1}, "brokers": {2, 3}, "broker-loggers": {6}, "client-metrics": {7}, "groups": {8}}
    return item.config_source in dynamic[options.entity_type]


def _value(item: DescribeConfigsResourceResult) -> str:
    return "null" if item.value is None else item.value


def _synonyms(item: DescribeConfigsResourceResult) -> str:
    return ", ".join(
        f"{config_source(each.source).name}:{each.name}={'null' if each.value is None else each.value}"
        for each in item.synonyms
    )


def _alter_entity(client: Client, options: argparse.Namespace) -> None:
    """Alter quotas, or a user's SCRAM credentials. Raises ToolError."""
    added = entries(options.add_config)
    if options.add_config_file:
        added |= settings(options.add_config_file)
    removed = [name.strip() for name in (options.delete_config or "").split(",") if name.strip()]
    names = {*added, *removed}
    if not names:
        raise ToolError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    passwords = names & set(MECHANISMS.values()) if options.kinds == ["users"] else set()
    if passwords and passwords != names:
        raise ToolError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )
    if passwords:
        _alter_user(client, options.entity_name, added, removed)
    else:
        quota_configs.alter(client, options.kinds, options.names, added, removed)
    print_lines(
        f"Completed updating {'' if options.entity_name else 'default '}config for {_title_of_change(options)}."
    )


def _alter_user(client: Client, user: str | None, added: dict[str, str], removed: list[str]) -> None:
    if not user:
        raise ToolError("--entity-name NAME is missing.")
    request = AlterUserScramCredentialsRequest()
    for name, value in added.items():
        made = credential(f"{name}=[{value}]")
        request.upsertions.append(
            ScramCredentialUpsertion(user, made.mechanism, made.iterations, made.salt, made.salted_password)
        )
    numbers = {name: number for number, name in MECHANISMS.items()}
    request.deletions = [ScramCredentialDeletion(user, numbers[name]) for name in removed]
    for answer in client.controller().call(request, AlterUserScramCredentialsResponse).results:
        raise_for(answer.error_code, answer.error_message)
