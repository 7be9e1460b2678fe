"""What the tests of worlds share: a life that must go well, and a server that answers what it gets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pykbroker.worlds.life import LifeOutcome, Test, live

PORT = 7000


def lived(test: Test, seed: int = 1) -> LifeOutcome:
    """A life in which the test passes, with nothing that is not calm."""
    outcome = live(test, seed, {})
    if outcome.error is not None:
        raise outcome.error
    return outcome


async def echo() -> None:
    """A server that sends back what it gets."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(answer, port=PORT)
    await server.serve_forever()


def asking(told: Callable[[object], object], host: str = "echo") -> Callable[..., object]:
    """A client that asks every second and tells each answer, or the error with which it ended."""

    async def client() -> None:
        try:
            reader, writer = await asyncio.open_connection(host, PORT)
            while True:
                writer.write(b"ping")
                told(await reader.readexactly(4))
                await asyncio.sleep(1)
        except (OSError, EOFError) as error:
            told(error)

    return client
