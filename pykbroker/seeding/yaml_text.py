"""YAML in which keys and values are the text as written, whatever YAML makes of ``no`` or ``007``.

PyYAML is imported when the first text is read or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from pykbroker.extras import install_hint
from pykbroker.seeding.plain_records import DuplicateField, Written
from pykbroker.seeding.seed import Misfit, Path

_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"
#: Most characters and values that aliases repeat: a few lines of them could expand beyond any memory.
_MOST_REPEATED: Final = 4_000_000
_SCALARS = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "timestamp"))


def _yaml() -> ModuleType:
    """Return PyYAML. Raises ModuleNotFoundError that says how to install it."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"YAML needs the package PyYAML: {install_hint('yaml')}. JSON, JSON lines and CSV need nothing.",
            name="yaml",
        ) from error
    module: ModuleType = yaml
    return module


class YamlText:
    """One YAML document, with the places of its values."""

    def __init__(self, text: str) -> None:
        """Raises Misfit, with line and column, for invalid YAML."""
        yaml = self._yaml = _yaml()
        try:
            self._top = yaml.compose(text, yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = None if mark is None else (mark.line + 1, mark.column + 1)
            raise Misfit((), f"not YAML ({error.problem or error.context})", where) from error
        except yaml.YAMLError as error:
            raise Misfit((), f"not YAML ({str(error).splitlines()[0]})") from error
        except RecursionError as error:
            raise Misfit((), "not YAML (nested too deeply)") from error

    def value(self) -> Any:
        """Return the value. Raises Misfit for values that JSON does not have."""
        #: For each node already visited, its value and its size including all below it.
        self._made: dict[Any, tuple[Any, int]] = {}
        self._amount = self._repeated = 0
        return None if self._top is None else self._value(self._top, (), ())

    def _value(self, node: Any, path: Path, above: tuple[Any, ...]) -> Any:
        if node in self._made:
            return self._again(node, path)
        before = self._amount
        value = self._made_of(node, path, above)
        self._amount += 1 + (len(node.value) if node.id == "scalar" else 0)
        self._made[node] = value, self._amount - before
        return value

    def _again(self, node: Any, path: Path) -> Any:
        """Return the value of an alias. Raises Misfit if aliases repeat too much."""
        value, amount = self._made[node]
        self._amount += amount
        self._repeated += amount
        if self._repeated > _MOST_REPEATED:
            raise Misfit(path, f"aliases repeat more than {_MOST_REPEATED} characters and values; write them out")
        return value

    def _made_of(self, node: Any, path: Path, above: tuple[Any, ...]) -> Any:
        if node.id != "scalar" and not node.tag.startswith("tag:yaml.org,2002:"):
            raise Misfit(path, f"the tag {node.tag} means nothing here; leave it out")
        if node in above:
            raise Misfit(path, "this contains itself; write it out")
        match node.id:
            case "mapping":
                pairs = [
                    (self._name(key, (*path, key.value)), self._value(value, (*path, key.value), (*above, node)))
                    for key, value in node.value
                ]
                found = dict(pairs)
                return found if len(found) == len(pairs) else DuplicateField.of(pairs)
            case "sequence":
                return [self._value(each, (*path, number), (*above, node)) for number, each in enumerate(node.value)]
        return self._scalar(node, path)

    def _name(self, node: Any, path: Path) -> str:
        if node.id != "scalar" or node.tag == "tag:yaml.org,2002:merge":
            raise Misfit(path, "a name is a list, an object or <<; write text")
        name: str = node.value
        return name

    def _scalar(self, node: Any, path: Path) -> Any:
        if node.tag == _TEXT:
            return node.value
        if node.tag == _NULL:
            return None
        if node.tag not in _SCALARS:
            raise Misfit(path, f"the tag {node.tag} means nothing here; leave it out")
        try:
            meant = self._yaml.SafeLoader("").construct_object(node)
        except ValueError as error:
            raise Misfit(path, f"{node.value} is not what it looks like ({error}); write it in quotes") from error
        return Written(node.value, meant if isinstance(meant, int | float) else node.value)

    def line_and_column(self, path: Path) -> tuple[int, int]:
        """Return line and column, both from 1, of the value at a path, as far as the path exists."""
        node = self._top
        mark = None if node is None else node.start_mark
        for step in path:
            if node is None:
                break
            if node.id == "mapping":
                found = next(((key, value) for key, value in node.value if key.value == step), None)
                if found is None:
                    break
                mark, node = found[0].start_mark, found[1]
            elif node.id == "sequence" and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                mark = node.start_mark
            else:
                break
        return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def dump(value: Mapping[str, Any]) -> str:
    """Return the value as YAML."""
    text: str = _yaml().safe_dump(value, sort_keys=False, allow_unicode=True)
    return text
