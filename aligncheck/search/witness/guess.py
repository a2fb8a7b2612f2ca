"""What the prover found, in the kernel's words. Nothing here needs to be believed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import align_expressions, statements_in, subexpressions, with_part
from aligncheck.search.discharge.density import DensityFindings
from aligncheck.search.discharge.establish import Findings
from aligncheck.search.relational.terms import (
    Add,
    And,
    App,
    Cmp,
    Const,
    Div,
    Fn,
    IsInt,
    Ite,
    Kind,
    Mul,
    Not,
    Or,
    Sym,
    Term,
    Truth,
    atoms,
)


class UntranslatableError(Exception):
    """The kernel has no word for it."""


# --- terms in the kernel's words --------------------------------------------------------------------------


@dataclass(frozen=True)
class Wording:
    """How the symbols of one loop's invariants are spelled; `cut` is the number of that loop."""

    cut: int

    def expression(self, term: Term) -> n.Expr:
        """The term as an expression. Raises UntranslatableError."""
        match term:
            case Const(value=v):
                return n.Number(v)
            case Truth(value=b):
                return n.Boolean(b)
            case Sym():
                return self._symbol(term)
            case App(name=name, args=args):
                return self._application(name, [self.expression(a) for a in args])
            case Add(parts=parts, constant=c):
                terms = [self._scaled(t, k) for t, k in parts] + ([n.Number(c)] if c else [])
                return _joined("+", terms)
            case Mul(args=args):
                return _joined("*", [self.expression(a) for a in args])
            case Div(left=x, right=y):
                return n.Binary("/", self.expression(x), self.expression(y))
            case Fn(name="mod", args=(x, y)):
                return n.Binary("%", self.expression(x), self.expression(y))
            case Fn(name=f, args=args):
                return n.Call(f, tuple(self.expression(a) for a in args))
            case Ite(test=t, then=x, otherwise=y):
                return n.Conditional(self.expression(t), self.expression(x), self.expression(y))
            case Cmp(op=op, left=x, right=y):
                return n.Compare(op, self.expression(x), self.expression(y))
            case Not(arg=x):
                return n.Unary("not", self.expression(x))
            case And(args=args):
                return n.Logic("and", tuple(self.expression(a) for a in args))
            case Or(args=args):
                return n.Logic("or", tuple(self.expression(a) for a in args))
            case IsInt():
                raise UntranslatableError

    def _scaled(self, term: Term, factor: Fraction) -> n.Expr:
        e = self.expression(term)
        return e if factor == 1 else n.Binary("*", n.Number(factor), e)

    def _symbol(self, sym: Sym) -> n.Expr:
        base, _, cut = sym.name.partition("@")
        primed = sym.kind is Kind.PRIMED or cut.endswith("'") or base.endswith("'")
        base, cut = base.rstrip("'"), cut.rstrip("'#%+")
        then = f"$head_{int(cut) - 1}_" if cut.isdigit() and int(cut) != self.cut else ""
        if base.startswith("d:"):
            if then:
                raise UntranslatableError
            return n.Binary("-", n.Name(base[2:], True), n.Name(base[2:]))
        if base.startswith("#latest:"):
            drawn = n.Name(f"{then or '$'}drawn_{base[8:]}")
            return n.Binary("-", drawn, n.Number(Fraction(1)))
        if base.startswith(("le:", "ge:")):
            x = base[3:]
            return n.Compare("<=" if base[0] == "l" else ">=", n.Name(x), n.Name(x, True))
        if base.startswith("size:"):
            return n.Call("len", (n.Name(base[5:]),))
        if base.startswith("len("):
            return n.Call("len", (n.Name(base[4:-1]),))
        name = self._ghost(base, then)
        if then and not name.startswith("$"):
            return n.Name(then + name)
        return n.Name(name, primed)

    def _ghost(self, base: str, then: str) -> str:
        words = {
            "#cost": "alignment_cost",
            "#out": f"{then or '$'}records",
            "#round": f"$round_{self.cut - 1}",
        }
        if base in words:
            return words[base]
        for start, word in (("place:one:", "$differing_"), ("place:down:", "$down_"), ("place:up:", "$up_")):
            if base.startswith(start):
                return word + base.removeprefix(start)
        if base.startswith("#out:count:"):
            return f"{then or '$'}count_{base[11:]}"
        if base.startswith(("sel:", "val:")) and "#" not in base:
            return base[4:].removesuffix("~where")
        if base.startswith("#") or ":" in base or "#" in base:
            raise UntranslatableError
        return base

    def _application(self, name: str, args: list[n.Expr]) -> n.Expr:
        head, _, rest = name.partition(":")
        match head, args:
            case "d", [i]:
                return n.Binary("-", n.Index(rest, i, True), n.Index(rest, i))
            case "prefix", [i]:
                return n.Index(f"$moved_{rest}", i)
            case "passed", [i]:
                return n.Index(f"$below_{rest}", i)
            case "in", [i]:
                return n.Member(i, rest)
            case "at", [i]:
                return n.Index(rest, i)
            case "out", [i] if rest.startswith("is:"):
                return n.OutIs(i, rest[3:])
            case "out", [i] if rest.startswith("field:"):
                return n.OutField(i, rest[6:])
            case _, [i] if not rest and "#" not in name:
                return n.Index(name, i)
            case _:
                raise UntranslatableError


def _joined(op: str, parts: list[n.Expr]) -> n.Expr:
    result = parts[0]
    for part in parts[1:]:
        result = n.Binary(op, result, part)
    return result


_OF_EVERY_RUN = {Kind.PARAMETER, Kind.DATA, Kind.NOISE, Kind.STATE, Kind.COUNTER}


def _early(term: Term) -> bool:
    """Whether a term speaks of the run on D alone, and of nothing that only complete runs have."""
    return all(
        a.kind in _OF_EVERY_RUN or a.name.startswith(("#out", "#latest", "#round", "place:"))
        for a in atoms((term,))
        if not a.name.startswith(("val:", "idx:", "sel:"))
    ) and not any(a.name.startswith(("val:", "idx:", "sel:")) for a in atoms((term,)))


# --- the first guess --------------------------------------------------------------------------------------


def guessed(spec: n.Mechanism, findings: Findings | DensityFindings) -> Witness:
    """Everything that the prover found, in the kernel's words, and what its habits suggest."""
    loops = [s for s in statements_in(spec.body) if isinstance(s, n.For | n.While)]
    found = findings.choices.invariants if isinstance(findings, Findings) else {}
    route = findings.route if isinstance(findings, Findings) else Witness().route
    lines = tuple(_loop(spec, stmt, k, found.get(k + 1, ())) for k, stmt in enumerate(loops))
    return Witness(lines, route, _sample(spec), promises=_promises(spec))


def _promises(spec: n.Mechanism) -> tuple[n.Expr, ...]:
    """That there is a first record, where the alignment reads one that the program releases in the end."""
    last = spec.body[-1] if spec.body else None
    emits = [s for s in statements_in(spec.body) if isinstance(s, n.Emit)]
    reads = any(
        isinstance(e, n.OutField | n.OutIs)
        for top in align_expressions(spec.align)
        for e in subexpressions(top)
    )
    if isinstance(last, n.Emit) and len(emits) == 1 and reads:
        return (n.OutIs(n.Number(Fraction(0)), last.tag),)
    return ()


def _loop(spec: n.Mechanism, stmt: n.For | n.While, number: int, terms: Iterable[Term]) -> LoopWitness:
    early: list[n.Expr] = []
    both: list[n.Expr] = []
    for term in terms:
        try:
            e = Wording(number + 1).expression(term)
        except UntranslatableError:
            continue
        (early if _early(term) else both).append(e)
    inside = list(statements_in(stmt.body))
    assigned = dict.fromkeys(s.name for s in inside if isinstance(s, n.Assign))
    both += [n.Compare("==", n.Name(x, True), n.Name(x)) for x in assigned]
    index = stmt.index if isinstance(stmt, n.For) else None
    for s in inside:
        if isinstance(s, n.Sample):
            early.append(n.Name(f"$dense_{s.name}"))
            counters = [index] if index else list(assigned)
            early += [n.Compare("==", n.Name(f"$drawn_{s.name}"), n.Name(c)) for c in counters]
    measure = _measure(stmt) if isinstance(stmt, n.While) else None
    chance = _chance(stmt) if isinstance(stmt, n.While) and measure is None else None
    return LoopWitness(tuple(early), tuple(both), measure, chance)


def _measure(stmt: n.While) -> n.Expr | None:
    """`b - a` for a part `a < b` of the test."""
    parts = stmt.test.args if isinstance(stmt.test, n.Logic) and stmt.test.op == "and" else (stmt.test,)
    for part in parts:
        if isinstance(part, n.Compare) and part.op in ("<", "<="):
            return n.Binary("-", part.right, part.left)
        if isinstance(part, n.Compare) and part.op in (">", ">="):
            return n.Binary("-", part.left, part.right)
    return None


def _chance(stmt: n.While) -> Chance | None:
    """A test `… + x >= …` with a draw x of the round: x beyond what the rest leaves."""
    draws = {s.name: s for s in statements_in(stmt.body) if isinstance(s, n.Sample)}
    for s in statements_in(stmt.body):
        tests = [b.test for b in s.branches] if isinstance(s, n.If) else []
        for test in tests:
            if isinstance(test, n.Compare) and test.op in (">=", ">"):
                for part in subexpressions(test.left):
                    if isinstance(part, n.Index | n.Name):
                        name = part.base if isinstance(part, n.Index) else part.ident
                        if name in draws:
                            rest = with_part(test.left, part, n.Number(Fraction(0)))
                            return Chance(name, n.Binary("-", test.right, rest), draws[name].args[0])
    return None


def _sample(spec: n.Mechanism) -> tuple[tuple[str, Fraction], ...]:
    return tuple((i.name, Fraction(1)) for i in spec.inputs if isinstance(i, n.Parameter) and i.name == "eps")
