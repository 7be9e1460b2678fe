"""kafka-console-share-consumer and kafka-share-groups: a group's life from the first record to its deletion."""

from __future__ import annotations

from compat_tests.tools.conftest import columns, table


def test_a_share_group_from_its_first_record_to_its_deletion(tool, make_topic, fill, name):
    topic, group = make_topic(), name("share")
    of_group = ("--group", group)
    tool("configs", "--alter", *of_group, "--add-config", "share.auto.offset.reset=earliest")
    fill(topic)
    read = tool("console-share-consumer", "--topic", topic, *of_group, "--max-messages", "10", "--timeout-ms", "60000")
    assert [line for line in read.lines if line.startswith("value")] == [f"value {number}" for number in range(10)]

    def offset() -> list[tuple[str, ...]]:
        return columns(table(tool("share-groups", "--describe", *of_group)), "TOPIC", "PARTITION", "START-OFFSET")

    assert group in tool("share-groups", "--list").lines
    assert (group, "Empty") in columns(table(tool("share-groups", "--list", "--state")), "GROUP", "STATE")
    for end, start_offset in (("--to-latest", "10"), ("--to-earliest", "0")):
        tool("share-groups", "--reset-offsets", *of_group, "--topic", topic, end, "--execute")
        assert offset() == [(topic, "0", start_offset)]
    tool("share-groups", "--delete-offsets", *of_group, "--topic", topic)
    tool("share-groups", "--delete", *of_group)
    assert group not in tool("share-groups", "--list").lines
