"""A cluster in memory, and its settings as clients describe and alter them."""

from __future__ import annotations

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.messages import alter_configs as replacing
from pykbroker.wire.messages import incremental_alter_configs as altering
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

SET, DELETE, APPEND, SUBTRACT = range(4)


class ConfigCluster(MemoryCluster):
    """With a topic ``t`` of one partition. A change of a setting is ``(name, operation, value)``."""

    def __init__(self, brokers: int = 1, *, asked: int = 1, **settings: str) -> None:
        super().__init__(brokers, **settings)
        self._asked = asked
        self.topic(partitions=1)

    def asked_broker(self) -> int:
        return self._asked

    def describe(self, resource_type, name, *keys, version=4, **options):
        """The one result for a resource, with synonyms."""
        resource = DescribeConfigsResource(resource_type, name, list(keys) or None)
        request = DescribeConfigsRequest([resource], options.pop("include_synonyms", True), **options)
        return self.ask(request, version).results[0]

    def entry(self, resource_type, name, key):
        """One setting as (value, source, [(synonym, value, source), ...])."""
        (config,) = self.describe(resource_type, name, key).configs
        return config.value, config.config_source, [(s.name, s.value, s.source) for s in config.synonyms]

    def alter(self, *resources, version=1, validate_only=False):
        """IncrementalAlterConfigs of (type, name, changes) resources; each answer is (code, message)."""
        request = altering.IncrementalAlterConfigsRequest(
            [
                altering.AlterConfigsResource(kind, name, [altering.AlterableConfig(*change) for change in changes])
                for kind, name, changes in resources
            ],
            validate_only,
        )
        answer = self.ask(request, version)
        assert [(r.resource_type, r.resource_name) for r in answer.responses] == [r[:2] for r in resources]
        return [(response.error_code, response.error_message) for response in answer.responses]

    def replace(self, *resources, version=2, validate_only=False):
        """AlterConfigs of (type, name, {name: value}) resources; each answer is (code, message)."""
        request = replacing.AlterConfigsRequest(
            [
                replacing.AlterConfigsResource(
                    kind, name, [replacing.AlterableConfig(*item) for item in settings.items()]
                )
                for kind, name, settings in resources
            ],
            validate_only,
        )
        answer = self.ask(request, version)
        return [(response.error_code, response.error_message) for response in answer.responses]
