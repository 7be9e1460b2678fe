from __future__ import annotations

import pytest

from pykbroker.faults.chaos import BadChaos, Chaos, RequestChaos
from pykbroker.faults.chaos_tape import ChaosTape, ClusterOutcome, Decision, RequestOutcome
from pykbroker.faults.fault import Fault
from pykbroker.wire.apis import ApiKey


def _decisions(chaos: Chaos, clients: tuple[str, ...], requests: int) -> dict[str, list[str]]:
    told: list[Decision] = []
    befalls = RequestChaos(chaos, told.append)
    found: dict[str, list[str]] = {client: [] for client in clients}
    for _ in range(requests):
        for client in clients:
            rule = befalls.choose(client, ApiKey.PRODUCE, 9)
            found[client].append("" if rule is None else str(rule.fault))
    assert len(told) == sum(map(bool, (each for same in found.values() for each in same)))
    return found


def test_a_seed_does_the_same_to_a_client_whatever_others_ask() -> None:
    alone = _decisions(Chaos(7), ("a",), 300)
    assert _decisions(Chaos(7), ("b", "a"), 300)["a"] == alone["a"]
    assert _decisions(Chaos(8), ("a",), 300) != alone
    assert any(alone["a"])


def test_intensity_is_how_often_and_a_profile_is_what() -> None:
    def struck(chaos: Chaos) -> list[str]:
        return [each for each in _decisions(chaos, ("a",), 2000)["a"] if each]

    assert 100 < len(struck(Chaos(1))) < 400
    assert len(struck(Chaos(1, intensity=3))) > 2 * len(struck(Chaos(1)))
    assert all("close" in each or "truncate" in each or "s" in each for each in struck(Chaos(1, "network")))
    assert struck(Chaos(1, "rolling-restart")) == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "x",
            "-3",
            "9" * 30,
            "9" * 6000,
            "7 profile=none",
            "7 profile",
            "7 intensity=0",
            "7 intensity=-1",
            "7 intensity=nan",
        ),
        *(
            "7 intensity=a",
            "7 quiet_after=x",
            "7 quiet_after=-1s",
            "7 seed=2",
            "7 intensity=1 intensity=2",
            "7 " + "x" * 6000,
        ),
    ],
    ids=lambda text: text[:20],
)
def test_what_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(BadChaos, match="chaos") as refused:
        Chaos.parse(text)
    assert "literal" not in str(refused.value)  # Python's words are not for who started it
    assert "convert" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_tape_of_brokers_that_are_not_there_is_refused() -> None:
    chaos = Chaos.again(ChaosTape("7", (ClusterOutcome(5, "broker lost", 3, down_ms=5),)))
    chaos.check_brokers((1, 2, 3))
    with pytest.raises(BadChaos, match="a broker 3, and these are: 1, 2; start as many brokers"):
        chaos.check_brokers((2, 1))


def test_chaos_is_read_from_text() -> None:
    assert Chaos.parse(7) == Chaos(7)
    assert Chaos.parse("7 profile=network intensity=2 quiet_after=30s") == Chaos(7, "network", 2, 30_000)
    assert Chaos.parse(str(Chaos(7, "network", 2, 30_000))) == Chaos(7, "network", 2, 30_000)


def test_of_a_long_client_id_its_beginning_is_kept() -> None:
    told: list[Decision] = []
    befalls = RequestChaos(Chaos(1, intensity=10), told.append)
    for number in range(30):
        befalls.choose("c" * 30_000 + str(number), ApiKey.PRODUCE, 9)
    assert {each.client for each in told if isinstance(each, RequestOutcome)} == {"c" * 200}


def test_a_tape_does_what_is_on_it_and_nothing_else() -> None:
    held = RequestOutcome("a", "Produce", 3, "slow request", Fault(delay=7))
    down, moved = ClusterOutcome(900, "broker lost", 2, down_ms=5), ClusterOutcome(20, "leader moved", 1, "t", 0)
    chaos = Chaos.again(ChaosTape("7 profile=everything", (down, held, moved)))
    assert chaos.planned() == [moved, down]
    assert Chaos(7).planned() is None
    found = _decisions(chaos, ("a", "b"), 10)
    assert found == {"a": ["", "", str(Fault(delay=7)), *[""] * 7], "b": [""] * 10}
