"""Stories of replication as text: after each command what arrived, what clients were told, and which states have changed.

A file has comments (``#``), commands, and under each command, indented, what came of it. Commands: ``produce NODE VALUE [acks=1]``, ``read NODE``,
``arrive FROM TO``, ``lose FROM TO`` (the oldest that is under way between them; the controller is C), ``flow`` (all that can arrive, in order),
``kill``, ``power``, ``fence``, ``unfence``, ``start``, ``elect``, ``isolate`` with a NODE, ``heal``, ``unclean``, ``time MS``, ``lag``, ``quiet``.
``min.insync.replicas N`` may stand first. Of records ``1b`` is value b in leader epoch 1, and ``|`` is the high watermark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pykbroker.brokers.memory_peers import Passage
from pykbroker.metadata.image import NO_LEADER
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.machines import CONTROLLER, LAG_MS, Machines, records_of
from pykbroker.simulation.passages import described
from pykbroker.tests.simulation.copies import CopiesWatch
from pykbroker.wire.errors import ErrorCode

STORIES = Path(__file__).parent / "stories"
_INDENT = "    "
#: A fetch in a session without news, and its answer: not told.
_IDLE = re.compile(r"Fetched nothing|Fetch of broker epoch \d+")
_OF_A_NODE = frozenset({"kill", "fence", "unfence", "start", "elect", "isolate"})


class ReplicationStory:
    """One story; ``tell`` a command, and hear what came of it. All that must hold is looked at after each."""

    def __init__(self, min_in_sync: int) -> None:
        self.machines = Machines(min_in_sync=min_in_sync)
        self.watch = CopiesWatch(self.machines)
        self._loses = False
        self._lines: list[str] = []
        self._waiting: dict[str, Deferred[int]] = {}
        self._states = {**dict(self._all_states())}
        self.machines.notify = self._note

    def _note(self, what: str, passage: Passage) -> None:
        words = described(passage)
        if _IDLE.fullmatch(words):
            return
        lost = "" if what == "arrives" else " is lost"
        self._lines.append(f"{_name(passage.sender)} -> {_name(passage.receiver)} {words}{lost}")

    def tell(self, command: str) -> list[str]:
        """Raises Violation."""
        self._lines.clear()
        name, *arguments = command.split()
        self._do(name, arguments)
        for value, code in list(self._waiting.items()):
            if code.done:
                del self._waiting[value]
                self._lines.append(f"{value} is answered {ErrorCode(code.value).name}")
        for who, state in self._all_states():
            if self._states.get(who) != state:
                self._states[who] = state
                self._lines.append(f"{who}: {state}")
        if name == "unclean":
            self._loses = True  # brokers that do not know of it yet show what is lost
        self._look()
        return list(self._lines)

    def _look(self) -> None:
        if not self._loses:
            self.watch.look()

    def _flow(self) -> None:
        machines = self.machines
        while arriving := machines.arriving():
            machines.arrive(arriving[0])
            self._look()

    def _do(self, name: str, arguments: list[str]) -> None:
        machines = self.machines
        if name == "produce":
            node, value, *acks = arguments
            self._waiting[value] = machines.produce(int(node), value.encode(), 1 if acks else -1)
        elif name == "read":
            found = machines.read(int(arguments[0]))
            self._lines.append(
                ErrorCode(found).name if isinstance(found, int) else b" ".join(found).decode() or "nothing"
            )
        elif name in ("arrive", "lose"):
            sender, receiver = (CONTROLLER if each == "C" else int(each) for each in arguments)
            possible = machines.arriving() if name == "arrive" else machines.may_be_lost()
            found_ones = [each for each in possible if machines.under_way[each][:2] == (sender, receiver)]
            if not found_ones:
                raise RuntimeError(f"nothing is under way from {_name(sender)} to {_name(receiver)}")
            getattr(machines, name)(found_ones[0])
        elif name in _OF_A_NODE:
            getattr(machines, name)(int(arguments[0]))
        elif name == "power":
            machines.kill(int(arguments[0]), power=True)
        elif name == "time":
            machines.pass_time(int(arguments[0]))
        elif name == "lag":
            machines.pass_time(LAG_MS + 1000)
        elif name == "unclean":
            machines.elect_unclean()
        else:
            {"flow": self._flow, "heal": machines.heal, "quiet": machines.quiet}[name]()

    def _all_states(self) -> Iterator[tuple[str, str]]:
        machines = self.machines
        state = machines.state
        leader = "no leader" if state.leader == NO_LEADER else f"leader {state.leader}"
        words = [f"{leader}, epoch {state.leader_epoch}", f"isr {_ids(state.isr)}"]
        if state.eligible_leader_replicas:
            words.append(f"elr {_ids(state.eligible_leader_replicas)}")
        if state.leader_recovery_state:
            words.append("RECOVERING")
        fenced = [each.id for each in machines.image.brokers.values() if each.fenced]
        yield "C", ", ".join([*words, *([f"fenced {_ids(fenced)}"] if fenced else [])])
        for node in machines.ids:
            yield str(node), self._state(node)

    def _state(self, node: int) -> str:
        partition, log = self.machines.replica(node), self.machines.log(node)
        if partition is None or log is None:
            return "down"
        role = f"follows {partition.leader}"
        if partition.led is not None:
            isr = partition.led.leading.isr
            role = f"leads, isr {_ids(sorted(isr.committed))}"
            if isr.proposed is not None:
                role += f", proposed {_ids([member.broker_id for member in isr.proposed.members])}"
        elif partition.leader == NO_LEADER:
            role = "knows no leader"
        found = records_of(log)
        records: list[Any] = [f"{each.epoch}{each.value.decode()}" for each in found]
        records.insert(sum(each.offset < log.high_watermark for each in found), "|")
        return f"{role}, epoch {partition.leader_epoch}: {' '.join(records)}"


def _name(node: int) -> str:
    return "C" if node == CONTROLLER else str(node)


def _ids(ids: list[int]) -> str:
    return ",".join(map(str, ids)) or "none"


def retold(text: str) -> str:
    """The same story with what comes of each command now. Raises Violation."""
    story: ReplicationStory | None = None
    least, lines = 2, []
    for line in text.splitlines():
        if line.startswith(_INDENT):
            continue
        lines.append(line)
        if line.startswith("min.insync.replicas"):
            least = int(line.split()[1])
        elif line.strip() and not line.startswith("#"):
            story = story or ReplicationStory(least)
            lines += [_INDENT + each for each in story.tell(line)]
    return "\n".join(lines) + "\n"
