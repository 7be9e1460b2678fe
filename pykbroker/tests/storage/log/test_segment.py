"""A segment that a thread repairs is in nobody else's way."""

from __future__ import annotations

import threading

from pykbroker.tests.storage.support import Store, append, batch


def test_indexes_are_loaded_while_those_of_another_log_are_made_anew():
    """A cold read in a thread finds damaged indexes and syncs the new ones, on a disk that takes its time."""
    store = Store()
    for topic in ("damaged", "sound"):
        append(store.log(topic=topic), batch([b"x"]))
    store.stop()
    store.start()
    damaged, sound = (store.log(topic=topic) for topic in ("damaged", "sound"))
    for log in (damaged, sound):
        log.active.close()
        log.active._indexes = None
    store.disk.remove(damaged.active.path(".timeindex"))
    met, go_on = threading.Event(), threading.Event()
    went_on = []

    def meet(_: int, name: str) -> None:
        if name.startswith("sync") and "damaged-0" in name and not met.is_set():
            met.set()
            went_on.append(go_on.wait(60))

    store.disk.fail = meet
    repair = threading.Thread(target=damaged.active.largest_timestamp)
    repair.start()
    met.wait()
    assert sound.active.largest_timestamp()[1] == 0
    go_on.set()
    repair.join()
    assert went_on == [True]
