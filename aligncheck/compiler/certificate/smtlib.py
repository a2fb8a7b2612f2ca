"""The kernel's formulas as SMT-LIB 2 text, for any solver: not by Z3's own printer, which has a dialect.

Only what The SMT-LIB Standard, version 2.6, says of Core and of Reals_Ints is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import z3

Term = Any
_WORDS: dict[int, str] = {
    z3.Z3_OP_TRUE: "true",
    z3.Z3_OP_FALSE: "false",
    z3.Z3_OP_AND: "and",
    z3.Z3_OP_OR: "or",
    z3.Z3_OP_NOT: "not",
    z3.Z3_OP_IMPLIES: "=>",
    z3.Z3_OP_ITE: "ite",
    z3.Z3_OP_EQ: "=",
    z3.Z3_OP_DISTINCT: "distinct",
    z3.Z3_OP_ADD: "+",
    z3.Z3_OP_SUB: "-",
    z3.Z3_OP_UMINUS: "-",
    z3.Z3_OP_MUL: "*",
    z3.Z3_OP_DIV: "/",
    z3.Z3_OP_IDIV: "div",
    z3.Z3_OP_MOD: "mod",
    z3.Z3_OP_LE: "<=",
    z3.Z3_OP_LT: "<",
    z3.Z3_OP_GE: ">=",
    z3.Z3_OP_GT: ">",
    z3.Z3_OP_TO_REAL: "to_real",
    z3.Z3_OP_TO_INT: "to_int",
    z3.Z3_OP_IS_INT: "is_int",
}
_OF_ONE_IS_ITSELF = {"and", "or", "+", "*"}
"""Z3 takes these with one argument, the standard does not."""


class WordlessError(Exception):
    """A formula with an operation that the standard does not have."""


def script(formulas: Sequence[Term], about: str, expected: str) -> str:
    """A text that asks whether all formulas can be true together. Raises WordlessError."""
    printer = _Printer()
    asserted = [f"(assert {printer.text(formula)})" for formula in formulas]
    # (Not as `set-info :status`: cvc5 takes another answer than that for an error.)
    head = f"; {expected}: {' '.join(about.split())}\n(set-logic ALL)"
    return "\n".join([head, *printer.declared.values(), *asserted, "(check-sat)"]) + "\n"


class _Printer:
    """`declared` are the declarations of the symbols that occur, by the symbols' numbers."""

    def __init__(self) -> None:
        self.declared: dict[int, str] = {}
        self.names: dict[int, str] = {}

    def text(self, term: Term, bound: tuple[str, ...] = ()) -> str:
        """A formula; what occurs in it more than once is written once. `bound` are the names of variables
        that quantifiers around it bind, the innermost last.
        """
        order = list(_parts_first(term))
        uses = Counter(child.get_id() for each in order for child in each.children())
        known: dict[int, str] = {}
        shared: list[str] = []
        for each in order:
            text = self._application(each, known, bound)
            if uses[each.get_id()] > 1 and text.startswith("("):
                name = f"t{len(bound)}.{len(shared)}"
                shared.append(f"(let (({name} {text})) ")
                text = name
            known[each.get_id()] = text
        return f"{''.join(shared)}{known[term.get_id()]}{')' * len(shared)}"

    def _application(self, term: Term, known: Mapping[int, str], bound: tuple[str, ...]) -> str:
        if z3.is_quantifier(term):
            return self._quantified(term, bound)
        if z3.is_var(term):
            return bound[-1 - int(z3.get_var_index(term))]
        if z3.is_int_value(term):
            return _whole(term.as_long(), "")
        if z3.is_rational_value(term):
            top, bottom = term.numerator_as_long(), term.denominator_as_long()
            return _whole(top, ".0") if bottom == 1 else f"(/ {_whole(top, '.0')} {_whole(bottom, '.0')})"
        args = [known[child.get_id()] for child in term.children()]
        word = self._word(term.decl())
        if len(args) == 1 and word in _OF_ONE_IS_ITSELF:
            return args[0]
        return f"({word} {' '.join(args)})" if args else word

    def _quantified(self, term: Term, bound: tuple[str, ...]) -> str:
        names = tuple(f"v{len(bound) + at}" for at in range(term.num_vars()))
        sorts = [term.var_sort(at).name() for at in range(term.num_vars())]
        variables = " ".join(f"({name} {sort})" for name, sort in zip(names, sorts, strict=True))
        word = "forall" if term.is_forall() else "exists"
        return f"({word} ({variables}) {self.text(term.body(), (*bound, *names))})"

    def _word(self, decl: Any) -> str:
        kind = decl.kind()
        if kind != z3.Z3_OP_UNINTERPRETED:
            if kind not in _WORDS:
                raise WordlessError(f"SMT-LIB has no word for `{decl.name()}`")
            return _WORDS[kind]
        number = decl.get_id()
        if number not in self.names:
            # No word of the standard and no variable above has a `!`.
            plain = re.sub(r"[^A-Za-z0-9_]", "_", decl.name().rpartition("!")[0] or decl.name())
            name = self.names[number] = f"{plain}!{len(self.names)}"
            domain = " ".join(decl.domain(at).name() for at in range(decl.arity()))
            self.declared[number] = f"(declare-fun {name} ({domain}) {decl.range().name()})"
        return self.names[number]


def _whole(value: int, end: str) -> str:
    return f"(- {-value}{end})" if value < 0 else f"{value}{end}"


def _parts_first(term: Term) -> Iterator[Term]:
    """A term and all that it is made of, each once and after its parts; not what is inside quantifiers."""
    seen: set[int] = set()
    stack: list[tuple[Term, bool]] = [(term, False)]
    while stack:
        one, ready = stack.pop()
        if ready:
            yield one
        elif one.get_id() not in seen:
            seen.add(one.get_id())
            stack.append((one, True))
            inner: Iterable[Term] = () if z3.is_quantifier(one) else reversed(one.children())
            stack.extend((child, False) for child in inner)
