"""What sort each variable and field has: the least that all its assignments allow. Nothing of this is
believed: the kernel refuses a value of another sort where it is assigned or released.
"""

from __future__ import annotations

from dataclasses import replace

from aligncheck.kernel.witness import Witness, own
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import statements_in


def with_sorts(spec: n.Mechanism, witness: Witness) -> Witness:
    """The witness with the sorts of all names, and those in what is called."""
    called = {use.name: use.contract.mechanism for use in spec.uses if use.contract is not None}
    given = witness.callees
    callees = {name: with_sorts(inner, given.get(name, Witness())) for name, inner in called.items()}
    sorts = tuple(Sorting(spec).sorts.items())
    if sorts == witness.sorts and all(callees[name] is given.get(name) for name in callees):
        return witness  # a callee that the kernel has accepted stays the same object
    return replace(witness, sorts=sorts, callees={**given, **callees})


class Sorting:
    """The sorts of all names of a spec; fields of its records under `FIELD of out`, unless some records hold
    a number there and others a truth value: such a field has no sort, and nobody reads it.
    """

    def __init__(self, spec: n.Mechanism) -> None:
        self.sorts: dict[str, n.Sort] = {}
        self.spec = spec
        self.results = {f.name: f.result for f in spec.functions}
        self.called = {u.name: u.contract.mechanism for u in spec.uses if u.contract is not None}
        self.calls: dict[str, dict[str, n.Sort]] = {}
        for item in spec.inputs:
            for name in item.names:
                self.sorts[name] = item.sort
        mixed = set[str]()
        changed = True
        while changed:
            before = dict(self.sorts)
            for stmt in statements_in(spec.body):
                self._statement(stmt)
                mixed |= self._mixed(stmt)
            changed = before != self.sorts
        for name in mixed:
            del self.sorts[name]

    def _statement(self, stmt: n.Stmt) -> None:
        match stmt:
            case n.Assign(name=name, value=value):
                self._join(name, self.of(value))
            case n.Sample(name=name):
                self.sorts[name] = n.Sort.REAL
            case n.For(index=index, over=over):
                if index is not None:
                    self.sorts[index] = n.Sort.INT
                if isinstance(over, n.OverQueries):
                    self.sorts[over.item] = self.sorts.get(over.base, n.Sort.REAL)
            case n.Emit(fields=given):
                for f in given:
                    self._join(own("field", f.name), self.of(f.value))
            case n.Invoke(name=name, mechanism=mechanism):
                callee = self.called.get(mechanism)
                if callee is not None and name not in self.calls:
                    self.calls[name] = fields_of(callee)
            case n.Choose(name=name):
                self.sorts[name] = n.Sort.INT
            case n.Logistic(name=name):
                self.sorts[name] = n.Sort.REAL
            case n.If() | n.While() | n.Break() | n.Pass():
                pass

    def _mixed(self, stmt: n.Stmt) -> set[str]:
        """The fields of a record that are numbers here and truth values elsewhere."""
        given = (
            {own("field", f.name): self.of(f.value) for f in stmt.fields} if isinstance(stmt, n.Emit) else {}
        )
        truth = n.Sort.BOOL
        return {x for x, sort in given.items() if sort and (sort is truth) != (self.sorts.get(x) is truth)}

    def _join(self, name: str, sort: n.Sort | None) -> None:
        known = self.sorts.get(name)
        if sort is None or known is n.Sort.BOOL:
            return
        self.sorts[name] = sort if known is None or known is n.Sort.INT else known

    def of(self, e: n.Expr) -> n.Sort | None:
        """The sort of an expression; None where it is not known yet."""
        match e:
            case n.Number(value=v):
                return n.Sort.INT if v.denominator == 1 else n.Sort.REAL
            case n.Boolean() | n.Compare() | n.Logic() | n.OutIs() | n.Member():
                return n.Sort.BOOL
            case n.Name(ident=x):
                return self.sorts.get(x)
            case n.Index(base=x):
                return self.sorts.get(x, n.Sort.INT)  # of a selection: an index
            case n.Call(function=f, args=args):
                return self._call(f, args)
            case n.Unary(op=op, operand=x):
                return n.Sort.BOOL if op == "not" else self.of(x)
            case n.Binary(op="/"):
                return n.Sort.REAL
            case n.Binary(left=x, right=y):
                return self._wider(x, y)
            case n.Conditional(then=x, otherwise=y):
                return self._wider(x, y)
            case n.OutCount():
                return n.Sort.INT
            case n.OutField(field=f, of=of):
                return self.sorts.get(own("field", f)) if of == "out" else self.calls.get(of, {}).get(f)
            case n.Gather(function=f):
                return self._gather(f, e)

    def _gather(self, function: str, e: n.Gather) -> n.Sort | None:
        self.sorts.setdefault(e.index, n.Sort.INT)
        return n.Sort.INT if function in ("argmax", "argmin", *n.SELECTING) else n.Sort.REAL

    def _call(self, function: str, args: tuple[n.Expr, ...]) -> n.Sort | None:
        if function in self.results:
            return self.results[function]
        if function in ("len", "floor"):
            return n.Sort.INT
        if function in ("abs", "min", "max", "clip"):
            sorts = [self.of(a) for a in args]
            return None if None in sorts else n.Sort.REAL if n.Sort.REAL in sorts else n.Sort.INT
        return n.Sort.REAL

    def _wider(self, x: n.Expr, y: n.Expr) -> n.Sort | None:
        one, other = self.of(x), self.of(y)
        if one is None or other is None:
            return one if other is None else other
        return one if one is other else n.Sort.REAL


def fields_of(spec: n.Mechanism) -> dict[str, n.Sort]:
    """The sorts of the fields of what a mechanism releases."""
    sorts = Sorting(spec).sorts
    return {
        name.removeprefix(own("field", "")): s
        for name, s in sorts.items()
        if name.startswith(own("field", ""))
    }
