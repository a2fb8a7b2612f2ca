"""What was probably meant by a name that is unknown: read off the names and the line around it.

Every sentence states what is so in the spec, and what to write then; it explains an error and
decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aligncheck.language.check.symbol_table import SymbolTable
from aligncheck.language.syntax import nodes as n
from aligncheck.language.unparse import unparse_expr

_INDICES = ("i", "j", "k", "idx", "index")
_HEADER = re.compile(r"for +(\w+) +in +(\w+) *:")


@dataclass(frozen=True, slots=True)
class UnknownName:
    """What has a value where an unknown name stands. `assigned`, `binders` and `gathered` as in `Place`;
    `line` is its line, `before` the text before it, `aligned` whether it stands where both runs are spoken
    of, `near` what is said of known names that are spelt alike.
    """

    name: str
    indexed: bool
    symbols: SymbolTable
    assigned: frozenset[str]
    binders: frozenset[str]
    gathered: frozenset[str]
    line: str
    before: str
    aligned: bool
    near: str | None

    def meant(self) -> str | None:
        """What to write, if one thing suggests itself more than the others."""
        return next(self._ways(), None)

    def _ways(self) -> Iterator[str]:
        yield from self._other_run()
        yield from self._index()
        if self.near is not None:
            yield self.near
        yield from self._counter()
        if self.aligned:
            yield from self._guard()
        else:
            yield from self._answer()
            yield from self._unread()
        yield from self._chosen()
        yield from self._count()

    def _other_run(self) -> Iterator[str]:
        """`Qprime`."""
        base = self.name.removesuffix("prime").rstrip("_")
        item = self.symbols.inputs.get(base)
        if self.aligned and base != self.name and (isinstance(item, n.Queries) or base in self.assigned):
            yield f"the value on D' is written with a prime: `{base}'{'[i]' * self.indexed}`"

    def _index(self) -> Iterator[str]:
        """Another index than the set brings, or the index of a loop that gives none."""
        if self.name not in _INDICES:
            return
        if len(self.gathered) == 1:
            (index,) = self.gathered
            yield f"the index of this set is `{index}`: write `{index}` for `{self.name}`"
        headers = _HEADER.findall(self.before)
        if headers:
            item, base = headers[-1]
            yield f"the loop gives the answers alone: write `for {self.name}, {item} in {base}:`"

    def _counter(self) -> Iterator[str]:
        """A counter of a `while` that nothing sets."""
        if not self.line.lstrip().startswith("while "):
            return
        start = f"set it before the loop, as in `{self.name} = 0`, and change it in the loop"
        over = re.search(rf"while +{self.name} *< *len\((\w+)\)", self.line)
        yield f"write `for {self.name}, x in {over[1]}:`; or {start}" if over else start

    def _guard(self) -> Iterator[str]:
        """`when top`: what a guard may ask of a record."""
        if not re.search(rf"when +{self.name} *(#|$)", self.line):
            return
        target = re.match(r"\s*\w+\[(\w+)\]", self.line)
        record = f"out[{target[1] if target else 0}]"
        tests = (n.Boolean, n.Compare, n.Logic)
        emits = self.symbols.tags.values()
        asked = [f"{record}.{f.name}" for e in emits for f in e.fields if isinstance(f.value, tests)]
        if len(self.symbols.tags) > 1:
            asked += [f"{record} is {tag}" for tag in self.symbols.tags]
        if asked:
            yield f"a guard asks about a record: write {' or '.join(f'`when {each}`' for each in asked[:3])}"

    def _answer(self) -> Iterator[str]:
        """The answers of a loop that are called like an index."""
        headers = [each for each in _HEADER.findall(self.before) if each[0] in self.assigned]
        if self.indexed or not headers:
            return
        item, base = headers[-1]
        if item in _INDICES and self.name not in _INDICES and self.symbols.is_list(base):
            yield (
                f"`for {item} in {base}:` gives the entries alone, as `{item}`: write "
                f"`for {item}, {self.name} in {base}:`"
            )

    def _unread(self) -> Iterator[str]:
        """Another noise variable, which is drawn for nothing."""
        unread = [name for name in self.symbols.noise if name in self.assigned - self.symbols.read]
        if len(unread) == 1:
            index = self.symbols.noise[unread[0]][0].index
            drawn = unread[0] if index is None else f"{unread[0]}[{unparse_expr(index)}]"
            yield f"`{drawn}` is drawn, and `program` never reads it: did you mean `{drawn}`?"

    def _chosen(self) -> Iterator[str]:
        """`i == best`, where what is chosen is called `winner`."""
        compared = re.search(rf"[=!]= *{self.name}\b|\b{self.name} *[=!]=", self.line)
        chosen = sorted(self.symbols.chosen & self.assigned)
        if compared and len(chosen) == 1:
            yield f"did you mean `{chosen[0]}`, the index that is chosen?"

    def _count(self) -> Iterator[str]:
        """A bound of an index."""
        names = self.binders | self.symbols.indices
        bound = re.search(rf"\b(\w+) *[<>]=? *{self.name}\b", self.line)
        if bound and bound[1] in names:
            yield f"declare it below `input`, as in `{self.name} : int`, or give it a value in `program`"
