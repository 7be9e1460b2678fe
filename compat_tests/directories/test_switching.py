"""Apache Kafka and pykbroker take turns on one log directory, and no client can tell.

At each end of a turn all that clients can read is written down, and the next broker has to tell the same. The directory
begins with Kafka (formatted with static voters, and with a dynamic quorum) and with pykbroker; turns end with a clean
stop or with SIGKILL. After a clean shutdown, Kafka's dump-log reads every file. With PYKBROKER_LONG there are more turns.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from compat_tests.conftest import LONG
from compat_tests.directories import picture
from compat_tests.directories.client import Client
from compat_tests.directories.files import faults
from compat_tests.directories.life import Life
from compat_tests.directories.log_directories import SharedLogDirectories
from compat_tests.directories.new_groups import NewGroups
from compat_tests.directories.tokens import Tokens
from pykbroker.cli.security_mark import folder_in, mark

#: How the data begins, who serves in each turn, and how that ends. In the first three, each end is followed by the other broker.
_LIVES = {
    "static voters": ({}, ["kafka stop", "ours kill", "kafka kill", "ours stop"]),
    "standalone, two log.dirs": (
        {"standalone": True, "count": 2},
        ["kafka kill", "ours stop", "kafka stop", "ours stop"],
    ),
    "ours": ({}, ["ours stop", "kafka kill", "ours kill", "kafka stop", "ours stop"]),
}
_TURNS = None if LONG else 3


@pytest.mark.parametrize(("born", "turns"), _LIVES.values(), ids=_LIVES)
def test_both_go_on_where_the_other_ended(born, turns, tmp_path, kafka_tools):
    directories = SharedLogDirectories(tmp_path, users=True, **born)
    life, tokens, new_groups = Life(directories), Tokens(directories), NewGroups()
    left: picture.Picture = {}
    left_of_shares: list[Any] = []
    try:
        for number, (who, how) in enumerate(map(str.split, turns[:_TURNS])):
            directories.start(who)
            mark(str(directories.paths[0]), "/kept-security")  # as --security does; neither minds the file
            with closing(Client(directories.bootstrap)) as client:
                if number == 0:
                    life.begin(client)
                else:
                    changes = picture.changes(left, picture.take(client, new_groups))
                    assert not changes, f"turn {number}, {who}:\n" + "\n".join(changes)
                life.turn(client)
                tokens.turn()
                new_groups.join_consumer_group(client)
                new_groups.join_streams_group(client)
                if who == "kafka" and turns[0].startswith("kafka"):
                    assert new_groups.describe_share_groups(client) == left_of_shares, f"turn {number}"
                    new_groups.join_share_group(client)
                    left_of_shares = new_groups.describe_share_groups(client)
                left = picture.take(client, new_groups)
            directories.end(how)
            if how == "stop":
                assert faults(kafka_tools, directories) == [], f"turn {number}, {who}"
        assert folder_in(str(directories.paths[0])) == "/kept-security"
    finally:
        directories.end("kill")
