from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from pykbroker.faults.chaos import CATALOGUE, PROFILES, BadChaos, Chaos, RequestChaos, table
from pykbroker.handlers.table import SUPPORTED
from pykbroker.wire.apis import ApiKey


def _decisions(chaos: Chaos, clients: tuple[str, ...], requests: int) -> dict[str, list[str]]:
    told: list[str] = []
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
    assert all("close" in each for each in struck(Chaos(1, "network")))
    assert struck(Chaos(1, "elections")) == []


def test_every_outcome_is_legal_wherever_it_is_placed() -> None:
    """It makes up no error: it is time, the end of a connection, a throttle time where the answer has one, or done by real means."""
    for outcome in CATALOGUE:
        assert outcome.source
        assert outcome.client
        for served in SUPPORTED:
            for version in range(served.min_version, served.max_version + 1):
                if not outcome.befalls(served.key, version):
                    continue
                assert outcome.fault is not None
                fault = outcome.fault(Random(1))
                assert fault.error is None
                assert fault.as_json().keys() <= {"api", "delay", "after", "close", "throttle"}
    assert not CATALOGUE[2].befalls(ApiKey.PRODUCE, 0)


@pytest.mark.parametrize(
    "text", ["", "x", "7 profile=none", "7 intensity=0", "7 intensity=a", "7 quiet_after=x", "7 seed=2"]
)
def test_what_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(BadChaos, match="chaos") as refused:
        Chaos.parse(text)
    assert "literal" not in str(refused.value)  # Python's words are not for who started it
    assert "convert" not in str(refused.value)


def test_chaos_is_read_from_text() -> None:
    assert Chaos.parse(7) == Chaos(7)
    assert Chaos.parse("7 profile=network intensity=2 quiet_after=30s") == Chaos(7, "network", 2, 30_000)
    assert set(PROFILES) == {"everything", "network", "overload", "elections"}


def test_the_page_has_the_catalogue() -> None:
    """Else put in what `python -m pykbroker.faults.chaos` prints."""
    page = Path(__file__).parents[3] / "docs" / "faults.md"
    assert table() in page.read_text()
