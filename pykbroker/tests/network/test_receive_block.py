"""What is received stays whole, wherever it lies, and memory is given back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.network.receive_block import BLOCK, KEPT_BLOCK, ReceiveBlock, shared_block


class Client:
    """Frames of known bytes; every frame begins with its size, in four bytes."""

    def __init__(self, shared: memoryview, number: int) -> None:
        self.block = ReceiveBlock(shared)
        self.number = number
        self.pending = b""
        self.wanted: list[bytes] = []
        self.parsed: list[bytes] = []

    def send(self, size: int) -> None:
        pattern = bytes(range(self.number, self.number + 251))
        body = (pattern * (size // len(pattern) + 1))[:size]
        self.wanted.append(body)
        self.pending += size.to_bytes(4) + body

    def receive(self, most: int) -> None:
        """As a connection does: bytes in, every whole frame out."""
        block = self.block
        room = block.view[block.end :]
        assert room, "there must always be room"
        data, self.pending = self.pending[: min(most, len(room))], self.pending[min(most, len(room)) :]
        room[: len(data)] = data
        block.end += len(data)
        start = block.start
        while block.end - start >= 4:
            size = 4 + int.from_bytes(block.view[start : start + 4])
            if start + size > block.end:
                block.keep(start, size)
                return
            self.parsed.append(bytes(block.view[start + 4 : start + size]))
            start += size
        if start == block.end:
            block.emptied()
        else:
            block.keep(start, 4)


sizes = st.one_of(st.integers(0, 300), st.sampled_from([BLOCK - 4, BLOCK, KEPT_BLOCK - 4, KEPT_BLOCK + 1]))
amounts = st.one_of(st.integers(1, 100), st.just(BLOCK), st.just(10 * BLOCK))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.one_of(st.tuples(st.just("send"), sizes), amounts)), max_size=30))
def test_frames_of_clients_that_share_a_block_arrive_whole(steps) -> None:
    shared = shared_block()
    clients = [Client(shared, number) for number in range(3)]
    for number, step in steps:
        if isinstance(step, tuple):
            clients[number].send(step[1])
        elif clients[number].pending:
            clients[number].receive(step)
        for client in clients:
            client.block.let_go()
    for client in clients:
        while client.pending:
            client.receive(BLOCK)
        assert client.parsed == client.wanted
        client.block.let_go()
        assert client.block.view is shared


def test_a_block_of_its_own_is_kept_unless_it_is_large() -> None:
    client = Client(shared_block(), 1)
    for size, kept in ((100, BLOCK), (BLOCK * 4, BLOCK * 8), (KEPT_BLOCK, BLOCK)):
        client.send(size)
        client.receive(50)
        while client.pending:
            client.receive(KEPT_BLOCK)
        assert len(client.block.view) == kept
    client.block.drop()
    assert len(client.block.view) == BLOCK
