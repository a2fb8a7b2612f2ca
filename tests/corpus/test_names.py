"""No verdict depends on names: what a spec calls something is no key that anything else has, of the spec, of
what it calls, or of the kernel.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from kernel_cases import decide
from kernel_pairs import PAIRS

import aligncheck.kernel
from aligncheck.kernel import logic
from aligncheck.kernel.witness import Witness, own
from aligncheck.language.adjacencies import Way
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.contract import Contract

KERNEL = sorted(Path(aligncheck.kernel.__file__).parent.glob("*.py"))
TAGS = {(n.Emit, "tag"), (n.OutIs, "tag"), (n.OutCount, "tag")}
FIELDS = {(n.EmitField, "name"), (n.OutField, "field")}
NO_NAMES = {
    (n.Mechanism, "name"),
    (n.Mechanism, "doc"),
    (n.Mechanism, "remarks"),
    (n.Use, "path"),
    (Witness, "route"),
}
"""Of the rest of a spec the words that name nothing of it."""
KEPT = {*n.FUNCTIONS, n.LOG_SUM, "out", "alignment_cost", "i"}
"""Words of the language; and what declarations call an index."""


def words() -> set[str]:
    """All that the kernel makes names of, read from its source."""
    found = {way.mark for way in Way}
    for path in KERNEL:
        for call in (c for c in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(c, ast.Call)):
            if ast.unparse(call.func) == "own":
                found |= {str(c.value) for c in ast.walk(call.args[0]) if isinstance(c, ast.Constant)}
    return found


def test_names_of_the_kernel_are_made_in_one_place_of_words_without_a_line_below() -> None:
    assert {"drawn", "count", "differing", "owner", "head", "field", "moved", "squares"} <= words()
    assert not [word for word in words() if "_" in word]
    for path in KERNEL:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and path.stem != "witness":
                assert not node.value.startswith("$"), (path.name, node.value)


class Renaming:
    """Other names for all that a spec, and what it calls, names: of each kind those of another kind, or words
    of the kernel.
    """

    def __init__(self, spec: n.Mechanism, seed: str) -> None:
        found: dict[str, dict[str, None]] = {"": {}, "tag": {}, "field": {}}
        _every(spec, lambda kind, name: found[kind].setdefault(name) or name)
        known = {kind: [x for x in names if x not in KEPT] for kind, names in found.items()}
        names, rng = sorted({x for each in known.values() for x in each}), random.Random(seed)
        made = [f"{word}_{x}" for word in sorted(words()) for x in rng.sample(names, min(2, len(names)))]
        near = sorted({*names, *made, *words()} - KEPT)
        self.maps: dict[str, dict[str, str]] = {}
        for kind, each in known.items():
            self.maps[kind] = dict(zip(each, rng.sample(near, len(each)), strict=True))
            near = sorted({*self.maps[kind].values(), *words()})  # the next kind has the same names

    def spec(self, spec: n.Mechanism) -> n.Mechanism:
        renamed: n.Mechanism = _every(spec, self.of)
        return renamed

    def witness(self, witness: Witness) -> Witness:
        renamed: Witness = _every(replace(witness, callees={}), self.of)
        callees = {self.of("", x): self.witness(each) for x, each in witness.callees.items()}
        within = tuple((self.of("field", f), low, high) for f, low, high in witness.within)
        within = tuple((f, low, high) for (f, *_), (_, low, high) in zip(within, renamed.within, strict=True))
        sample = tuple((self._length(name), value) for name, value in witness.sample)
        return replace(renamed, within=within, sample=sample, callees=callees)

    def of(self, kind: str, name: str) -> str:
        """What becomes of a name of the spec, or of one that the kernel makes of it."""
        word, *rest = name.removeprefix("$").split("_")
        if not name.startswith("$") or not rest:
            return self.maps[kind].get(name, name)
        at = 2 if word == "head" else 1
        inner = self.of("tag" if word == "count" else "", "_".join([word, *rest][at:]))
        return own(word, *[word, *rest][1:at], inner)

    def _length(self, name: str) -> str:
        inner = name.removeprefix("len(").removesuffix(")")
        return name.replace(inner, self.of("", inner))


def _every(value: Any, change: Callable[[str, str], str], place: tuple[type, str] = (object, "")) -> Any:
    """A spec or a witness with other names: `change` is asked of each, with its kind."""
    if isinstance(value, tuple):
        return tuple(_every(each, change, place) for each in value)
    if isinstance(value, Contract):
        return Contract(_every(value.mechanism, change), value.source)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: (type(value), f.name) for f in fields(value) if f.name not in ("span", "expect")}
        return replace(value, **{x: _every(getattr(value, x), change, at) for x, at in parts.items()})
    if type(value) is not str or place in NO_NAMES or place[1] == "op" or place == (n.Gather, "function"):
        return value
    return change("tag" if place in TAGS else "field" if place in FIELDS else "", value)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logic, "ANEW", logic.FEW)


def _condition(spec: n.Mechanism, witness: Witness) -> str:
    return getattr(decide(spec, witness), "condition", "")


def test_other_names_change_no_verdict(exhaustive: bool) -> None:
    """A variable has the name of a tag, a tag that of a field, each a word of the kernel."""
    for pair in PAIRS if exhaustive else (p for p in PAIRS if "named_as" in p.name):
        for spec in (pair.right, pair.wrong):
            before = _condition(spec, pair.witness)
            for seed in range(5 if exhaustive else 1):
                renaming = Renaming(spec, f"{pair.name} {seed}")
                after = _condition(renaming.spec(spec), renaming.witness(pair.witness))
                assert after == before, (pair.name, renaming.maps)
