"""Settings of brokers and topics, with documentation and alterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.config.layers import Source
from pykbroker.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.wire.messages.describe_configs import DescribeConfigsResourceResult

_RESOURCES: Final = {"topic": TOPIC_RESOURCE, "broker": BROKER_RESOURCE, "group": GROUP_RESOURCE}
#: Source by its number in responses.
_TYPES: Final = ("", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")
_SET, _DELETE = 0, 1
_NAME: Final = 32 * 1024


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return all settings of a resource: ``of`` is topic, broker or group, ``name`` its name."""
    kind, name = _resource(call)
    asked = DescribeConfigsRequest(
        [DescribeConfigsResource(kind, name, None)], include_synonyms=True, include_documentation=True
    )
    (result,) = (await console.brokers.ask(asked, 4, _broker_of(kind, name))).results
    raise_for(result.error_code, result.error_message)
    return {"settings": [_as_json(each) for each in sorted(result.configs, key=lambda each: each.name)]}


def _resource(call: ConsoleCall) -> tuple[int, str]:
    kind = _RESOURCES.get(call.text("of", most=10))
    if kind is None:
        raise VerbRefused(400, f"'of' is one of: {', '.join(_RESOURCES)}")
    return kind, call.text("name", most=_NAME)


def _broker_of(kind: int, name: str) -> int | None:
    """Return the broker to ask: a broker describes only its own settings. Raises VerbRefused."""
    if kind != BROKER_RESOURCE:
        return None
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        raise VerbRefused(400, "a broker is named by its id")
    return int(name)


def _as_json(each: DescribeConfigsResourceResult) -> dict[str, Any]:
    source = Source(each.config_source)
    return {
        "name": each.name,
        "value": each.value,
        "source": source.name,
        "type": _TYPES[each.config_type] if each.config_type < len(_TYPES) else "",
        "read_only": each.read_only,
        "secret": each.is_sensitive,
        "documentation": each.documentation,
        "synonyms": [[other.name, other.value, Source(other.source).name] for other in each.synonyms],
    }


async def alter(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Set a setting or, with ``value`` null, reset it."""
    kind, name = _resource(call)
    value = call.maybe_text("value")
    change = AlterableConfig(call.text("setting", most=249), _DELETE if value is None else _SET, value)
    asked = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, [change])])
    (result,) = (await console.brokers.ask(asked, 1, _broker_of(kind, name))).responses
    raise_for(result.error_code, result.error_message)
    return {}
