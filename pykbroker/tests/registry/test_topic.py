"""The topic of the schema registry: what it writes and reads takes many turns where it is much."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.partitions.internal_records import CoordinatorBatch
from pykbroker.process.life import Lifetimes
from pykbroker.registry import deciding
from pykbroker.registry.deciding import Registration
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.others import GROUP, _address, other_leader
from pykbroker.registry.records import Change, ConfigKey, ModeKey, SchemaKey, schema_value
from pykbroker.registry.registry import Registry
from pykbroker.registry.schema import Schema, Version
from pykbroker.registry.state import RegistryState
from pykbroker.registry.topic import TOPIC, SchemasTopic
from pykbroker.storage.compaction.cleaning import clean
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.turns import MOST, CountedTask
from pykbroker.tests.storage.rounds import flush_round
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest


def test_the_tombstones_of_many_versions_are_one_batch_that_is_written_in_turns() -> None:
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)

    async def longest() -> int:
        topic = SchemasTopic(lifetimes, "BACKWARD")
        state = await topic.state()
        task = CountedTask(topic.append([(SchemaKey("a", number), None) for number in range(3000)], state))
        await task
        return task.longest

    assert asyncio.run(longest()) <= MOST // 5
    partition = world.partition(TOPIC, 0)
    assert [header.record_count for header, _ in partition.log.batches(0)] == [3000]


def test_nothing_is_written_for_a_life_that_has_ended() -> None:
    """A reset takes its logs away while a write is prepared in turns."""
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)

    async def ended_meanwhile() -> None:
        topic = SchemasTopic(lifetimes, "BACKWARD")
        state = await topic.state()
        writing = asyncio.ensure_future(topic.append([(SchemaKey("a", each), None) for each in range(3000)], state))
        await asyncio.sleep(0)
        lifetimes.end(followed=True)
        with pytest.raises(RegistryError, match="stopping or being reset"):
            await writing

    asyncio.run(ended_meanwhile())
    assert not list(world.partition(TOPIC, 0).log.batches(0))


def test_another_registry_leads_while_it_is_in_the_group() -> None:
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)
    topic = SchemasTopic(lifetimes, "BACKWARD")

    async def write() -> None:
        await topic.append([(SchemaKey("a", 1), None)], await topic.state())

    def joined(member_id: str, eligible: bool) -> str:
        said = json.dumps({"version": 1, "host": "sr", "port": 8081, "master_eligibility": eligible}).encode()
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=300_000,
            member_id=member_id,
            protocol_type="sr",
            protocols=[JoinGroupRequestProtocol(name="v0", metadata=said)],
        )
        joining = world.post(request, 3)
        world.advance(3000)  # of the first member
        assert isinstance(joining.value, JoinGroupResponse)
        return joining.value.member_id

    world.coordinator(GROUP)
    asyncio.run(write())
    member = joined("", eligible=False)
    asyncio.run(write())
    member = joined(member, eligible=True)
    with pytest.raises(RegistryError, match=r"Another schema registry leads, .* ask it, at http://sr:8081$") as caught:
        asyncio.run(write())
    assert (caught.value.status, caught.value.code) == (500, 50004)
    world.ask(LeaveGroupRequest(group_id=GROUP, member_id=member), 1)
    asyncio.run(write())
    assert sum(header.record_count for header, _ in world.partition(TOPIC, 0).log.batches(0)) == 3


def test_what_a_member_says_at_length_is_not_parsed() -> None:
    said = {"host": "sr", "port": 8081, "master_eligibility": False}
    assert _address(json.dumps(said).encode()) is None
    assert _address(json.dumps({**said, "host": "x" * 2**14}).encode()) == ""


def test_where_the_leader_is_is_said_in_harmless_words() -> None:
    said = {"host": "sr", "port": 8081, "master_eligibility": True}
    assert _address(json.dumps(said).encode()) == "http://sr:8081"
    assert _address(json.dumps({**said, "scheme": "https"}).encode()) == "https://sr:8081"
    assert _address(json.dumps({**said, "host": "\x1b[31m\n"}).encode()) == r"http://\x1b[31m\n:8081"
    assert len(_address(json.dumps({**said, "host": "h" * 5000}).encode()) or "") < 400
    for each in (b"[]", b"{}", b"\xff", b"[" * 5000, b'{"host":1,"port":"x"}'):
        assert _address(each) == ""


def test_many_members_are_looked_at_in_turns() -> None:
    world = MemoryCluster()
    world.coordinator(GROUP)
    said = json.dumps({"host": "sr", "port": 1, "master_eligibility": False, "more": "," * 10_000}).encode()
    protocols = [JoinGroupRequestProtocol(name=f"v{number}", metadata=said) for number in range(100)]

    def join(members: int) -> None:
        for _ in range(members):
            world.post(JoinGroupRequest(GROUP, 10_000, 300_000, "", None, "sr", protocols), 3)

    join(9)
    turns = 0

    async def leader() -> str | None:
        nonlocal turns
        work = asyncio.ensure_future(other_leader(world.cluster))
        while not work.done():
            await asyncio.sleep(0)
            turns += 1
        return work.result()

    assert asyncio.run(leader()) is None
    assert turns > 100
    join(2)  # more than is looked at: one of them may lead
    assert asyncio.run(leader()) == ""


# ---- What the disk has of it, and what others wrote -----------------------------------------------------------------------


class World:
    """Brokers, and a registry's topic on them."""

    def __init__(self) -> None:
        self.brokers = MemoryCluster(log_cleaner_min_cleanable_ratio="0.01")
        configs = {"cleanup.policy": "compact", "max.message.bytes": "20000000"}
        self.brokers.create(NewTopic(TOPIC, 1, 1, configs=configs))
        self.begin()

    def begin(self) -> None:
        """A registry that reads the topic from its beginning."""
        self.lifetimes = Lifetimes()
        self.lifetimes.begin(self.brokers.cluster)
        self.topic = SchemasTopic(self.lifetimes, "BACKWARD")

    def restart(self) -> None:
        self.brokers.restart(kill=True)
        self.begin()

    def state(self) -> RegistryState:
        return asyncio.run(self.topic.state())

    def write(self, changes: list[Change]) -> None:
        async def written() -> None:
            await self.topic.append(changes, await self.topic.state())
            await self.topic.state()

        asyncio.run(written())

    def register(self, subject: str, text: str) -> Version:
        made, changes = deciding.register(self.state(), Registration(subject, Schema(text)))
        self.write(changes)
        return made

    def delete(self, subject: str) -> None:
        """For good."""
        for permanent in (False, True):
            self.write(deciding.delete_subject(self.state(), subject, permanent=permanent)[1])

    def others_write(self, *records: tuple[bytes, bytes | None]) -> None:
        """As a producer does, without a look at the state."""
        batch = CoordinatorBatch()
        batch.add(records)
        batch.append(self.brokers.partition(TOPIC), self.brokers.clock.now_ms())

    def compact(self) -> None:
        cluster = self.brokers.cluster
        self.brokers.partition(TOPIC).log.roll(self.brokers.clock.now_ms())
        flush_round(cluster.logs)
        plan = cluster.logs.compactions.plan(self.brokers.clock.now_ms())
        assert plan is not None
        cluster.logs.compactions.finish(plan, clean(plan.job, self.brokers.disk))

    def seen(self) -> object:
        state = self.state()
        versions = [each for name in state.names() for each in state.versions(name, deleted=True)]
        return versions, state.contexts(), state.config(None), state.mode("a")

    def records(self) -> int:
        return sum(header.record_count for header, _ in self.brokers.partition(TOPIC).log.batches(0))


def test_of_a_torn_write_there_is_all_or_nothing() -> None:
    """The file ends at each byte of the last batch, three tombstones, in turn."""
    world = World()
    kept = world.register("b", '"kept"')
    for number in range(3):
        world.register("a", f'"t{number}"')
    world.write(deciding.delete_subject(world.state(), "a", permanent=False)[1])
    path = f"/data/{TOPIC}-0/{0:020}.log"
    before, begun = world.seen(), world.brokers.disk.inode(path)
    size = len(begun.content)
    world.write(deciding.delete_subject(world.state(), "a", permanent=True)[1])
    after, disk = world.seen(), world.brokers.disk
    assert before != after == ([kept], ["."], {"compatibilityLevel": "BACKWARD"}, None)
    whole = len(begun.content)
    assert size + 100 < whole
    for end in range(size, whole + 1):
        world.brokers.disk = copy.deepcopy(disk)
        torn = world.brokers.disk.inode(path)
        torn.change(end, None)
        torn.sync()
        world.restart()
        assert world.seen() == (after if end == whole else before), end
        assert world.register("b", '"next"').id == 5
        assert world.state().latest("b") == Version("b", 2, 5, Schema('"next"'), Schema('"next"').guid())


def test_a_compacted_topic_says_the_same_to_who_has_read_it_and_to_who_begins() -> None:
    world = World()
    for number in range(4):
        world.register("a", f'"t{number}"')
    world.register("gone", '"gone"')
    world.delete("gone")
    world.write(deciding.delete_version(world.state(), "a", 2, permanent=False)[1])
    for level in ("FULL", "NONE", "FORWARD"):
        world.write([(ConfigKey(None), {"compatibilityLevel": level})])
    world.write([(ModeKey("a"), {"mode": "READONLY"})])
    world.write([(ModeKey("a"), None)])
    last = world.register("b", '"last"')
    assert last.id == 6
    seen, records = world.seen(), world.records()
    for expected in (9, 7):  # with the tombstones of a version and a mode, and later without
        world.write([(ConfigKey(None), {"compatibilityLevel": "FORWARD"})])
        world.compact()
        assert world.seen() == seen
        assert world.records() == expected < records
        world.restart()
        assert world.seen() == seen
        assert world.state().next_id(".") == 7
        world.brokers.clock.advance(2 * 24 * 3_600_000)  # past delete.retention.ms
    world.register("newest", '"newest"')
    world.delete("newest")
    assert world.state().next_id(".") == 8
    world.compact()
    world.restart()
    assert world.state().next_id(".") == 7  # no record says that there was another


def schema_record(subject: str, version: int, number: int, text: str, more: str = "") -> tuple[bytes, bytes]:
    key = json.dumps({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1})
    value = json.dumps({"subject": subject, "version": version, "id": number, "schema": text})
    return key.encode(), f"{value[:-1]}{more}}}".encode()


DEEP = "[" * 985 + "]" * 985
MUCH = ",".join(["1"] * 200_000)


@pytest.mark.parametrize(
    "record",
    [
        (b'{"keytype":"NOOP","magic":0}', None),
        (b'{"keytype":"NOOP","magic":0}', b"\xff"),
        (b'{"keytype":"ASSOC","tenant":"default","magic":0}', b'{"subject":"a"}'),
        (b'{"keytype":["SCHEMA"],"subject":"a","version":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":2}', schema_record("a", 1, 1, '"int"')[1]),
        (b'{"keytype":"CLEAR_SUBJECT","subject":"a","magic":0}', None),
        (b"[" * 100_000, b"{}"),
        (b'{"keytype":"SCHEMA","subject":"a","version":%s}' % (b"1" * 5000), b"{}"),
        schema_record("a", 1, 1, '"int"', ',"metadata":{"properties":' + DEEP + "}"),
        schema_record("a", 1, 1, '"int"', f',"metadata":{{"properties":{DEEP}}},"more":"{"x" * 20_000}"'),
        schema_record("a", 1, 1, '"int"', f',"metadata":{{"a":[{MUCH}]}}'),
        schema_record("a", 1, 1, '"int"', ',"metadata":{"properties":{"a":NaN}}'),
        schema_record("a", 1, 1, '"int"', ',"ruleSet":{"a":1e999}'),
        schema_record("a" * 300_000, 1, 1, '"int"'),
        schema_record("a", 1, 1, "x" * 9_000_000),
        schema_record("a", 1, 1, '"int"', "".join(f',"f{each}":"{"x" * 900_000}"' for each in range(10))),
        schema_record("a", 1, 1, '"another"', ',"id":7'),
    ],
)
def test_what_cannot_be_read_is_left_alone_and_what_follows_is_read(record: tuple[bytes, bytes | None]) -> None:
    world = World()
    world.others_write(schema_record("b", 1, 7, '"seven"'))
    world.others_write(record)
    world.others_write(schema_record("c", 1, 8, '"eight"'))
    assert world.state().names() == ["b", "c"]
    assert world.register("d", '"nine"').id == 9


def test_records_of_a_batch_that_say_much_are_worked_out_in_turns() -> None:
    """Beside what threads do."""
    world = World()
    some = (
        schema_record(f"s{number}", 1, number + 1, f'"t{number}"', f',"more":[{MUCH[:9999]}]') for number in range(20)
    )
    world.others_write(*some)
    world.others_write((f'{{"keytype":"SCHEMA","more":[{MUCH}]}}'.encode(), b"{}"))

    async def longest() -> int:
        task = CountedTask(world.topic.state())
        await task
        return task.longest

    assert asyncio.run(longest()) <= MOST
    assert len(world.state().names()) == 20


def test_an_id_is_of_the_schema_that_had_it_first() -> None:
    """Two registries that each take the other for gone, for a moment."""
    world = World()
    world.others_write(schema_record("a", 1, 1, '"first"'), schema_record("b", 1, 1, '"second"'))
    world.others_write(schema_record("c", 1, 1, '"first"'))
    assert [each.subject for each in world.state().with_id(".", 1)] == ["a", "c"]
    assert world.state().names() == ["a", "c"]
    world.others_write(schema_record(":.x:b", 1, 1, '"second"'))
    assert world.state().names() == [":.x:b", "a", "c"]  # of another context


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - turns of the loop are what is waited for
        await asyncio.sleep(0)


def test_a_registration_between_which_another_registry_wrote_is_not_answered_as_done() -> None:
    world = World()

    async def registered() -> None:
        registry = Registry(world.lifetimes)
        work = asyncio.ensure_future(registry.register(Registration("a", Schema('"int"'))))
        await until(registry._writing.locked)
        world.others_write(schema_record("b", 1, 1, '"string"'))
        with pytest.raises(RegistryError, match=r"has written, or .* meanwhile: ask again$"):
            await work
        assert (await registry.register(Registration("a", Schema('"int"')))).id == 2
        assert [each.id for each in (await registry.state()).versions("a")] == [2]
        registry.close()

    asyncio.run(registered())


def test_a_registration_that_a_reset_takes_away_is_not_answered_as_done() -> None:
    world, after = World(), World()

    async def registered() -> None:
        registry = Registry(world.lifetimes)
        topic, append = registry._topic, registry._topic.append

        async def append_and_reset(changes: list[Change], state: RegistryState) -> None:
            await append(changes, state)
            world.lifetimes.end(followed=True)
            world.lifetimes.begin(after.brokers.cluster)

        topic.append = append_and_reset  # type: ignore[method-assign,assignment]
        with pytest.raises(RegistryError, match="were reset meanwhile"):
            await registry.register(Registration("a", Schema('"int"')))
        registry.close()

    asyncio.run(registered())
    assert world.records() == 1


def test_a_cleared_subject_keeps_nothing_that_was_deleted_softly() -> None:
    world = World()
    for subject in ("a", "b", ":.c:a", ":.c:b"):
        made = world.register(subject, '"int"')
        world.others_write(
            (schema_record(subject, 1, 1, "")[0], json.dumps(schema_value(made.soft_deleted())).encode())
        )
    kept = world.register("a", '"long"')

    def cleared(subject: str | None) -> list[str]:
        key = {"keytype": "CLEAR_SUBJECT", "subject": subject, "magic": 0}
        world.others_write((json.dumps(key).encode(), json.dumps({"subject": subject}).encode()))
        return world.state().names()

    world.others_write((b'{"keytype":"CLEAR_SUBJECT","subject":"a","magic":0}', None))
    assert world.state().versions("a", deleted=True) != [kept]
    assert cleared("a") == [":.c:a", ":.c:b", "a", "b"]
    assert world.state().versions("a", deleted=True) == [kept]
    assert cleared(":.c:") == ["a", "b"]
    assert cleared(None) == ["a"]
    assert kept.id == 2
    assert world.state().next_id(".") == 3
