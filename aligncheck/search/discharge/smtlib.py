"""Formulas as SMT-LIB 2 texts: what `z3build` makes for Z3, for any solver.

Only the core language and real arithmetic are used (The SMT-LIB Standard, version 2.6; theory Reals, in which
numerals are reals). The callers' terms are well-sorted by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def number(value: Fraction) -> str:
    """A rational constant."""
    if value < 0:
        return f"(- {number(-value)})"
    if value.denominator == 1:
        return str(value.numerator)
    return f"(/ {value.numerator} {value.denominator})"


def real(name: str) -> str:
    """A real variable."""
    return name


def boolean(name: str) -> str:
    """A truth variable."""
    return name


def truth(value: bool) -> str:
    """True or false."""
    return "true" if value else "false"


def choice(test: str, then: str, otherwise: str) -> str:
    """`then` where the test holds, else `otherwise`."""
    return f"(ite {test} {then} {otherwise})"


def equal(left: str, right: str) -> str:
    """left = right."""
    return f"(= {left} {right})"


def total(args: Sequence[str]) -> str:
    """A sum of reals."""
    return args[0] if len(args) == 1 else f"(+ {' '.join(args)})" if args else "0"


def product(args: Sequence[str]) -> str:
    """A product of reals."""
    first, rest = args[0], args[1:]
    if not rest:
        return first
    if first == "1":
        return product(rest)
    if first == "(- 1)":
        return f"(- {product(rest)})"
    return f"(* {' '.join(args)})"


def at_most_zero(value: str) -> str:
    """value <= 0."""
    return f"(<= {value} 0)"


def at_least_zero(value: str) -> str:
    """value >= 0."""
    return f"(>= {value} 0)"


def below_zero(value: str) -> str:
    """value < 0."""
    return f"(< {value} 0)"


def above_zero(value: str) -> str:
    """value > 0."""
    return f"(> {value} 0)"


def is_zero(value: str) -> str:
    """value = 0."""
    return f"(= {value} 0)"


def both(args: Sequence[str]) -> str:
    """A conjunction."""
    return _joined("and", args, "true")


def either(args: Sequence[str]) -> str:
    """A disjunction."""
    return _joined("or", args, "false")


def _joined(word: str, args: Sequence[str], empty: str) -> str:
    return args[0] if len(args) == 1 else f"({word} {' '.join(args)})" if args else empty


def negation(arg: str) -> str:
    """not arg."""
    return f"(not {arg})"
