"""The logs of a broker that crashed alone are recovered in a thread before it starts again, while the others of its process serve."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.brokers.log_configs import LogConfigs
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.storage.directories.manager import LogToRecover

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.log.log import Log


def recover_in_thread(
    logs: LogManager, metadata: MetadataSource, config: BrokerConfig, node_id: int, runtime: Runtime
) -> Deferred[None]:
    """The wait until the broker's logs are recovered and open; nobody else may use them. What cannot be recovered is left for who opens it.
    Raises KafkaError KAFKA_STORAGE_ERROR or OSError if the log directories cannot be read.
    """
    logs.try_again()
    known, configs = _replicas(metadata.image, node_id), LogConfigs(config, metadata)
    logs.directories.put_strays_aside(dict(known))
    wanted = [
        LogToRecover(
            key,
            known[key],
            configs.of(key[0]),
            has_other_replicas=len(metadata.image.topics[key[0]].partitions[key[1]].replicas) > 1,
        )
        for key in logs.unopened(known)
        if logs.needs_recovery(key)
    ]
    recovered = attempt(runtime.offload, logs.plan_recovery(wanted))
    return recovered.map(partial(_adopt, logs, metadata, node_id))


def _adopt(logs: LogManager, metadata: MetadataSource, node_id: int, recovered: list[Log]) -> None:
    """What was deleted or reassigned meanwhile is closed, and put aside when the broker starts."""
    known = _replicas(metadata.image, node_id)
    for log in recovered:
        logs.adopt(log, wanted=known.get((log.topic, log.partition)) == log.topic_id)


def _replicas(image: MetadataImage, node_id: int) -> dict[tuple[str, int], bytes]:
    """The topic ids of a broker's partitions."""
    return {
        (topic.name, partition.index): topic.id
        for topic in image.topics.values()
        for partition in topic.in_order()
        if node_id in partition.replicas
    }
