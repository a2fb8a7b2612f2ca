"""The LALR tables of `grammar.lark`, and the machine that runs them.

Lark compiles the grammar, which takes a fifth of a second; the result is kept in `tables.json` with a
fingerprint of the grammar. Where the two do not belong together the tables are compiled anew, so a stale file
costs time and nothing else. After a change of the grammar run `python -m aligncheck.language.syntax.tables`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from aligncheck.language.syntax.layout import Lexeme

_GRAMMAR = Path(__file__).with_name("grammar.lark")
_KEPT = Path(__file__).with_name("tables.json")


@dataclass(frozen=True, slots=True)
class Rule:
    """How one rule is reduced.

    `size` symbols are taken off the stack and shaped: `nones[i]` placeholders go before symbol `i` (the last
    entry: after them all), the values of the symbols in `spread` are lists that are spliced in. The result is
    handed to the callback of this name; a nameless rule yields its children as a list, or its only child
    where it is `through`.
    """

    origin: str
    size: int
    callback: str
    through: bool
    nones: tuple[int, ...]
    spread: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """`states[s][symbol]` is a state to go to (>= 0), or a rule to reduce by: -1 - its number.

    State 0 is the first one; the text is accepted when `$END` has led to the state `end`.
    """

    end: int
    states: tuple[Mapping[str, int], ...]
    rules: tuple[Rule, ...]


class Machine:
    """A shift-reduce parser that calls the methods of `builder` as rules are completed."""

    def __init__(self, tables: Tables, builder: object) -> None:
        self._tables = tables
        self._builder = builder
        self._states: list[int] = [0]
        self._values: list[Any] = []

    def choices(self) -> Mapping[str, int]:
        """The symbols that have a move in the present state."""
        return self._tables.states[self._states[-1]]

    def accepts(self, terminal: str) -> bool:
        """Whether `terminal` may come next: tried out, as `choices` may hold terminals that lead nowhere."""
        states, rules = self._tables.states, self._tables.rules
        move = self.choices().get(terminal)
        if move is None or move >= 0:
            return move is not None
        stack = list(self._states)
        while move is not None and move < 0:
            rule = rules[-1 - move]
            del stack[len(stack) - rule.size :]
            stack.append(states[stack[-1]][rule.origin])
            if stack[-1] == self._tables.end:
                return True
            move = states[stack[-1]].get(terminal)
        return move is not None

    def expected(self) -> frozenset[str]:
        """The terminals that may come next."""
        return frozenset(each for each in self.choices() if not each.islower() and self.accepts(each))

    def feed(self, lexeme: Lexeme) -> None:
        """Takes one more terminal, which must be one that it `accepts`."""
        while self._states[-1] != self._tables.end:
            move = self.choices()[lexeme.type]
            if move >= 0:
                self._states.append(move)
                self._values.append(lexeme)
                return
            self._reduce(self._tables.rules[-1 - move])

    def result(self) -> Any:
        """What the start rule's callback returned, after `$END` was fed."""
        return self._values[0]

    def _reduce(self, rule: Rule) -> None:
        children = self._values[len(self._values) - rule.size :]
        if rule.size:
            del self._states[-rule.size :]
            del self._values[-rule.size :]
        self._states.append(self._tables.states[self._states[-1]][rule.origin])
        self._values.append(self._value(rule, self._shaped(rule, children)))

    def _shaped(self, rule: Rule, children: list[Any]) -> list[Any]:
        if not rule.spread and not any(rule.nones):
            return children
        shaped: list[Any] = []
        if rule.spread[:1] == (0,) and rule.nones[0] == 0:
            # The list before is used for nothing else: it grows in place, and long lists stay linear.
            shaped, children = children[0], children[1:]
        skipped = rule.size - len(children)
        for position, child in enumerate(children, start=skipped):
            shaped.extend([None] * rule.nones[position])
            if position in rule.spread:
                shaped.extend(child)
            else:
                shaped.append(child)
        shaped.extend([None] * rule.nones[-1])
        return shaped

    def _value(self, rule: Rule, children: list[Any]) -> Any:
        if rule.callback:
            return getattr(self._builder, rule.callback)(children)
        return children[0] if rule.through else children


@cache
def tables() -> Tables:
    """The tables of the grammar."""
    grammar = _GRAMMAR.read_bytes()
    if _KEPT.is_file():
        data = json.loads(_KEPT.read_text("utf-8"))
        if data["grammar"] == sha256(grammar).hexdigest():
            return _decoded(data)
    return _decoded(compiled(grammar))


def compiled(grammar: bytes) -> dict[str, Any]:
    """The tables as JSON data, compiled by Lark.

    Symbols are numbers into `symbols`; a state's row is a flat list of symbol, move, symbol, move, …
    """
    from lark import Lark
    from lark.lexer import Lexer
    from lark.parsers.lalr_analysis import Shift

    class NoLexer(Lexer):
        """Lexemes come from `layout`."""

        def __init__(self, _: object) -> None:
            pass

        def lex(self, *_: object) -> Any:
            return iter(())

    lark = Lark(grammar.decode("utf-8"), parser="lalr", lexer=NoLexer, maybe_placeholders=True)
    parser: Any = lark.parser.parser
    table = parser._parse_table
    rules = sorted({_encoded(rule) for rule in lark.rules})
    place = {rule: i for i, rule in enumerate(rules)}
    order = _numbered(table.states, table.start_states["start"], shift=Shift)
    symbols = sorted({str(symbol) for row in table.states.values() for symbol in row})
    states = []
    for state in order:
        row: list[int] = []
        for symbol, (action, arg) in sorted(table.states[state].items()):
            move = order[arg] if action is Shift else -1 - place[_encoded(arg)]
            row += [symbols.index(symbol), move]
        states.append(row)
    return {
        "grammar": sha256(grammar).hexdigest(),
        "end": order[table.end_states["start"]],
        "symbols": symbols,
        "states": states,
        "rules": rules,
    }


def _numbered(states: Mapping[int, Mapping[str, Any]], start: int, *, shift: object) -> dict[int, int]:
    """New numbers for the states, in the order in which they are reached: Lark's differ from run to run."""
    order = {start: 0}
    pending = [start]
    for state in pending:
        for _, (action, arg) in sorted(states[state].items()):
            if action is shift and arg not in order:
                order[arg] = len(order)
                pending.append(arg)
    return order


def _encoded(rule: Any) -> tuple[Any, ...]:
    expansion = rule.expansion
    empty = rule.options.empty_indices or [False] * len(expansion)
    nones = tuple(len(run) for run in "".join(str(int(each)) for each in empty).split("0"))
    origin = rule.origin.name
    inline = origin.startswith("_")
    through = bool(rule.options.expand1) and not rule.alias and len(expansion) == 1
    callback = "" if inline or through else str(rule.alias or origin)
    spread = tuple(
        i for i, symbol in enumerate(expansion) if not symbol.is_term and symbol.name.startswith("_")
    )
    return origin, len(expansion), callback, through, nones, spread


def _decoded(data: Mapping[str, Any]) -> Tables:
    symbols: list[str] = data["symbols"]
    return Tables(
        data["end"],
        tuple({symbols[row[i]]: row[i + 1] for i in range(0, len(row), 2)} for row in data["states"]),
        tuple(
            Rule(origin, size, callback, through, tuple(nones), tuple(spread))
            for origin, size, callback, through, nones, spread in data["rules"]
        ),
    )


def kept_text() -> str:
    """What `tables.json` should hold."""
    data = compiled(_GRAMMAR.read_bytes())
    return json.dumps(data, separators=(",", ":")).replace("],[", "],\n[") + "\n"


if __name__ == "__main__":
    _KEPT.write_text(kept_text(), encoding="utf-8")
