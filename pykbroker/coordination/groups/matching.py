"""Matches patterns of clients against many names in a thread, a bounded number at a time.

A match takes up to its program's size times its text's length in steps: the loop would be held for seconds. RE2 lets other
threads run while it matches. Few names may be matched at once: a member that asks again the moment that it is answered would
learn its topics a heartbeat later.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.patterns import InvalidPattern, Pattern, compile_pattern
from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.runtime.runtime import Runtime

#: Instructions, times names, that one task of a thread matches, and its most names, so that no other task waits long.
_STEPS = 200_000
_NAMES = 2000
#: Instructions, times names, that the loop may match itself.
_FEW_STEPS = 5000
#: Patterns whose matches are remembered.
_REMEMBERED = 256


def those_of(runtime: Runtime, pattern: Pattern, names: Sequence[str]) -> Deferred[list[str]]:
    """The names that a pattern matches as a whole."""
    return _from(runtime, pattern, names, 0, [])


def _from(
    runtime: Runtime, pattern: Pattern, names: Sequence[str], begin: int, found: list[str]
) -> Deferred[list[str]]:
    some = max(1, min(_NAMES, _STEPS // (pattern.size + 1)))
    while begin < len(names):
        matched: Deferred[list[str]] = runtime.offload_read(pattern.those_of, names[begin : begin + some])
        begin += some
        if not matched.done:
            return matched.chain(partial(_go_on, runtime, pattern, names, begin, found))
        found = found + matched.value
    return Deferred.completed(found)


def _go_on(
    runtime: Runtime, pattern: Pattern, names: Sequence[str], begin: int, found: list[str], more: list[str]
) -> Deferred[list[str]]:
    return _from(runtime, pattern, names, begin, found + more)


class TopicPatterns:
    """The topics that patterns match. A pattern that was matched before is matched against new names only."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        #: Pattern to the names that it was matched against, which patterns share, and those that it matched; the least
        #: recently used first.
        self._known: OrderedDict[str, tuple[frozenset[str], frozenset[str]]] = OrderedDict()
        self._names: frozenset[str] = frozenset()

    def topics_like(self, text: str, names: frozenset[str], *, at_once: bool = False) -> Deferred[frozenset[str]]:
        """Those of the names that a pattern matches as a whole, without a thread if it may be ``at_once`` and they are few. Fails with
        InvalidPattern.
        """
        if names == self._names:
            names = self._names  # one object for all patterns
        self._names = names
        seen, matched = self._known.get(text, (frozenset[str](), frozenset[str]()))
        if seen is names:
            return Deferred.completed(matched)
        try:
            pattern = compile_pattern(text)
        except InvalidPattern as error:
            return Deferred.failed(error)

        def keep(more: list[str]) -> frozenset[str]:
            found = (matched & names) | frozenset(more)
            self._known[text] = names, found
            self._known.move_to_end(text)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return found

        new = sorted(names - seen)
        if at_once and len(new) * pattern.size <= _FEW_STEPS:
            return Deferred.completed(keep(pattern.those_of(new)))
        return those_of(self._runtime, pattern, new).map(keep)
