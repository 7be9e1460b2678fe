"""A log with messages of the formats 0 and 1: refused with words, and not changed by a byte, however the last stop was."""

from __future__ import annotations

from struct import pack
from zlib import crc32

import pytest

from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.old_formats import OldFormatError
from pykbroker.tests.storage.support import START_MS, Store, append, batch, contents
from pykbroker.wire.errors import ErrorCode

DIRECTORY = "/data/t-0"
FIRST = f"{DIRECTORY}/00000000000000000000.log"


def message(offset: int, magic: int, value: bytes) -> bytes:
    """One uncompressed message without a key."""
    timestamp = pack(">q", START_MS) if magic else b""
    covered = pack(">bb", magic, 0) + timestamp + pack(">ii", -1, len(value)) + value
    return pack(">qiI", offset, len(covered) + 4, crc32(covered)) + covered


def old_log(magic: int, size: int = 20) -> bytes:
    return b"".join(message(offset, magic, bytes(size)) for offset in range(5))


@pytest.fixture
def store() -> Store:
    store = Store()
    append(store.log(), batch([b"new"]))
    append(store.log(topic="other"), batch([b"x"]))
    store.stop()
    return store


def put(store: Store, data: bytes, path: str = FIRST) -> dict[str, bytes]:
    """Have these messages in the log; all files of the partition as they are then."""
    store.disk.write(path, data)
    return files(store)


def files(store: Store) -> dict[str, bytes]:
    return {name: store.disk.read(f"{DIRECTORY}/{name}") for name in store.disk.list(DIRECTORY)}


def check_refused(store: Store, manager: LogManager) -> None:
    for _ in range(2):
        with pytest.raises(OldFormatError, match="copy the topic to a new one") as refused:
            store.log()
        assert refused.value.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert not manager.metadata_directory.offline
    assert contents(store.log(topic="other")) == [(0, b"x")]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [0, 20, 1000])
def test_after_a_clean_stop_and_after_kills(store, magic, size):
    before = put(store, old_log(magic, size))
    assert store.start().clean
    check_refused(store, store.manager)
    assert not store.start().clean
    check_refused(store, store.manager)
    store.stop()
    assert not store.start().clean  # nobody recovered it, so nothing vouches for it
    check_refused(store, store.manager)
    assert files(store) == before


@pytest.mark.parametrize("clean", [True, False])
def test_new_batches_behind_old_messages(store, clean):
    before = put(store, old_log(1) + bytes(batch([b"new"])))
    store.start()
    if not clean:
        store.start()
    check_refused(store, store.manager)
    assert files(store) == before


def test_old_messages_behind_new_batches(store):
    """As where the format was set back for a while: they are met by whoever reads there. After a kill, that is recovery."""
    data = store.disk.read(FIRST) + message(1, 1, b"set back")
    put(store, data)
    store.start()
    store.start()
    check_refused(store, store.manager)
    assert store.disk.read(FIRST) == data


@pytest.mark.parametrize(
    "tail",
    [bytes(500), message(1, 0, b"x")[:-1], message(1, 1, b"x")[:-1] + b"y", b"\0" * 16 + b"\1" + bytes(50)],
    ids=["zeros", "torn", "damaged", "garbage"],
)
def test_what_only_looks_old_is_damage(store, tail):
    put(store, store.disk.read(FIRST) + tail)
    store.start()
    store.start()
    log = store.log(LogConfig())
    assert contents(log) == [(0, b"new")]
    assert log.active.size == store.disk.size(FIRST)
