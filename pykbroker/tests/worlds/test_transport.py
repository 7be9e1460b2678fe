from __future__ import annotations

import asyncio

from pykbroker.tests.worlds.support import PORT, lived
from pykbroker.worlds.world import World


def test_much_is_sent_in_order_and_a_sender_waits_for_a_slow_reader() -> None:
    async def test(world: World) -> None:
        seen: list[float] = []
        whole = bytes(range(256)) * 8192

        async def server() -> None:
            async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await asyncio.sleep(5)
                assert await reader.readexactly(len(whole)) == whole
                seen.append(world.now)
                writer.close()

            await (await asyncio.start_server(take, port=PORT, limit=1000)).serve_forever()

        async def client() -> None:
            _, writer = await asyncio.open_connection("server", PORT)
            for at in range(0, len(whole), 65536):
                writer.write(whole[at : at + 65536])
                await writer.drain()
            seen.append(world.now)

        world.host(server)
        world.host(client)
        await world.sleep(20)
        assert len(seen) == 2
        assert min(seen) > 5

    lived(test)


def test_the_end_of_a_connection_is_told() -> None:
    async def test(world: World) -> None:
        async def server() -> None:
            async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(b"bye")
                writer.close()

            await (await asyncio.start_server(answer, port=PORT)).serve_forever()

        world.host(server)
        await world.sleep(1)
        reader, writer = await asyncio.open_connection("server", PORT)
        assert await reader.read() == b"bye"
        assert not writer.is_closing()  # as a socket's that is half open
        writer.close()
        await writer.wait_closed()

    lived(test)
