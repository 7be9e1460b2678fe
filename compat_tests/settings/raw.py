"""Requests about settings over one socket, as plain values: what is asked and what is answered compare with ``==``."""

from __future__ import annotations

import socket
import struct

from pykbroker.wire.apis import response_class
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages import alter_configs as replacing
from pykbroker.wire.messages import incremental_alter_configs as altering
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


class Raw:
    """One connection to one broker."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._stream = self._socket.makefile("rb")
        self._requested = 0

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def ask(self, request: Message, version: int) -> Message:
        self._requested += 1
        frame = bytearray(4)
        encode_request_header(frame, RequestHeader(request.API_KEY, version, self._requested, "settings"))
        request.encode(frame, version)
        struct.pack_into(">i", frame, 0, len(frame) - 4)
        self._socket.sendall(frame)
        size = struct.unpack(">i", self._stream.read(4))[0]
        answer = self._stream.read(size)
        _, pos = decode_response_header(answer, 0, request.API_KEY, version)
        return response_class(request.API_KEY).decode(answer, pos, version)[0]

    def describe(self, kind: int, name: str, *keys: str, version: int = 4, synonyms: bool = True) -> object:
        """(code, message, {setting: (value, read only, source, sensitive, type, synonyms)})."""
        resource = DescribeConfigsResource(kind, name, list(keys) or None)
        (result,) = self.ask(DescribeConfigsRequest([resource], synonyms), version).results
        return (
            result.error_code,
            result.error_message,
            {
                config.name: (
                    config.value,
                    config.read_only,
                    config.config_source,
                    config.is_sensitive,
                    config.config_type,
                    [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms],
                )
                for config in result.configs
            },
        )

    def alter(self, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False) -> object:
        """IncrementalAlterConfigs of one resource: (code, message)."""
        resource = altering.AlterConfigsResource(kind, name, [altering.AlterableConfig(*change) for change in changes])
        (answer,) = self.ask(altering.IncrementalAlterConfigsRequest([resource], validate_only), 1).responses
        return answer.error_code, answer.error_message

    def replace(self, kind: int, name: str, settings: dict[str, str | None], *, validate_only: bool = False) -> object:
        """AlterConfigs of one resource: (code, message)."""
        changes = [replacing.AlterableConfig(*item) for item in settings.items()]
        resource = replacing.AlterConfigsResource(kind, name, changes)
        (answer,) = self.ask(replacing.AlterConfigsRequest([resource], validate_only), 2).responses
        return answer.error_code, answer.error_message

    def create(self, name: str, *settings: tuple[str, str | None], validate_only: bool = False) -> object:
        """CreateTopics of one topic: (code, message, {setting: (value, source)})."""
        configs = [CreatableTopicConfig(*setting) for setting in settings]
        topic = CreatableTopic(name, 1, 1, [], configs)
        (answer,) = self.ask(CreateTopicsRequest([topic], 10_000, validate_only), 7).topics
        described = {config.name: (config.value, config.config_source) for config in answer.configs or ()}
        return answer.error_code, answer.error_message, described

    def resources(self, *kinds: int, version: int = 1) -> object:
        """ListConfigResources: (code, the names by type, but for topics, of which there may be others)."""
        answer = self.ask(ListConfigResourcesRequest(list(kinds)), version)
        named = {(resource.resource_type, resource.resource_name) for resource in answer.config_resources}
        return answer.error_code, sorted(each for each in named if each[0] != TOPIC)
