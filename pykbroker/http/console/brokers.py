"""An overview of the cluster, and its brokers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from pykbroker import __version__
from pykbroker.metadata.image import NO_LEADER

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console

_AT_ONCE: Final = 100


async def overview(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return counts of brokers, topics, groups and the like."""
    cluster = console.brokers.cluster()
    image = cluster.metadata.image
    offline = under = size = count = 0
    turn = console.turn()
    for number, each in enumerate(list(cluster.partitions())):
        count += 1
        offline += each.leader == NO_LEADER
        under += len(each.isr) < len(each.replicas)
        log = each.opened_log
        size += 0 if log is None else log.size_bytes
        if not number % _AT_ONCE:
            await turn.share()
    return {
        "version": __version__,
        "cluster": image.cluster_id,
        "brokers": len(image.active_brokers()),
        "brokers_in_all": len(image.brokers),
        "topics": sum(1 for topic in image.topics.values() if not topic.internal),
        "partitions": count,
        "offline": offline,
        "under_replicated": under,
        "bytes": size,
        "authorizer": cluster.authorizer is not None,
        "now": cluster.runtime.clock.now_ms(),
    }


async def listed(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return the brokers of the process, with their leaderships, replicas and log directories."""
    cluster = console.brokers.cluster()
    leads: Counter[int] = Counter()
    holds: Counter[int] = Counter()
    turn = console.turn()
    for number, each in enumerate(list(cluster.partitions())):
        leads[each.leader] += 1
        holds.update(each.replicas)
        if not number % _AT_ONCE:
            await turn.share()
    server = console.node.server
    rows = []
    for node_id, image in sorted(cluster.metadata.image.brokers.items()):
        runs = node_id in cluster.brokers
        rows.append(
            {
                "id": node_id,
                "running": runs,
                "rack": image.rack,
                "listeners": [f"{each.listener}://{each.host}:{each.port}" for each in image.endpoints.values()],
                "leads": leads[node_id],
                "holds": holds[node_id],
                "connections": len(server.sockets(node_id).connections) if runs else 0,
            }
        )
    directories = [
        {"path": str(contents.directory.path), "offline": contents.directory.offline}
        for store in cluster.stores()
        for contents in store.logs.directories.of_partitions
    ]
    return {"brokers": rows, "directories": directories}
