"""``/health``: the process and its event loop run. ``/ready``: brokers serve clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from aiohttp import web

from pykbroker import __version__

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster


async def health(_: web.Request) -> web.Response:
    """Return 200, since the event loop runs."""
    return web.json_response({"status": "alive", "version": __version__})


def ready(cluster: Callable[[], Cluster | None]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Return the handler of ``/ready``."""

    async def answer(_: web.Request) -> web.Response:
        why = not_ready(cluster())
        if why is not None:
            return web.json_response({"status": "not ready", "why": why}, status=503)
        return web.json_response({"status": "ready"})

    return answer


def not_ready(cluster: Cluster | None) -> str | None:
    """Return why clients should not be sent to the broker; None if it is ready."""
    if cluster is None:
        return "the process is stopping or being reset"
    serving = [broker for broker in cluster.brokers.values() if not broker.leaving]
    if not serving:
        return "every broker of this process is stopped: pykbroker brokers start ID"
    if cluster.logs.metadata_directory.offline:
        return f"the log directory {cluster.logs.metadata_directory.path}, which has the metadata, is offline after a disk error"
    if all(
        contents.directory.offline for store in cluster.stores() for contents in store.logs.directories.of_partitions
    ):
        return "every log directory is offline after a disk error"
    return None
