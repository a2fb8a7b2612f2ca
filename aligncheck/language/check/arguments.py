"""Calls: of mechanisms that `use` names, with an argument for every input, and of public functions."""

from __future__ import annotations

from aligncheck.language.check.symbol_table import SymbolTable, listed
from aligncheck.language.diagnostics import Faults, Label
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.walk import expressions_in, names_in, parts_of, rounds_of, statements_in
from aligncheck.language.syntax.wording.faults import nearest


def check_callees(source: Source, mechanism: n.Mechanism, symbols: SymbolTable) -> None:
    """Raises SpecError for a call of a mechanism that no `use` line names, or that takes public functions."""
    for statement in statements_in(mechanism.body):
        if isinstance(statement, n.Invoke):
            _Calls(source, symbols).callee(statement)


def check_calls(source: Source, mechanism: n.Mechanism, symbols: SymbolTable) -> None:
    """Raises SpecError for a call whose arguments are not those that the callee's inputs ask for, and for
    plain private answers where public values belong. (Whether noise covers an answer is for the proof.)
    """
    checker = _Calls(source, symbols)
    for statement in statements_in(mechanism.body):
        if isinstance(statement, n.Invoke):
            checker.invoked(statement)
    for expr in expressions_in(mechanism):
        if isinstance(expr, n.Call) and expr.function in symbols.functions:
            for arg in expr.args:
                checker.public(arg, f"`{expr.function}`")
    used = {each.mechanism for each in symbols.calls.values()}
    for use in mechanism.uses:
        if use.name not in used:
            checker.fail("unused-mechanism", f"`{use.name}` is never called", use.span, help="leave it out")


def _told(f: n.Function) -> tuple[str, tuple[n.Sort, ...], n.Sort]:
    return f.name, f.args, f.result


class _Calls(Faults):
    def __init__(self, source: Source, symbols: SymbolTable) -> None:
        super().__init__(source)
        self._symbols = symbols

    def callee(self, call: n.Invoke) -> n.Mechanism:
        """The mechanism that is called."""
        if call.mechanism not in self._symbols.uses:
            self.fail(
                "unknown-mechanism",
                f"unknown mechanism `{call.mechanism}`",
                call.span,
                help=nearest(call.mechanism, self._symbols.uses)
                or f'name its file above the inputs: `use {call.mechanism} from "{call.mechanism}.dp"`',
            )
        callee = self._symbols.callee(call.name)
        if callee is None:
            raise InternalError("the called file has not been read")
        if not {_told(f) for f in callee.functions} <= {_told(f) for f in self._symbols.functions.values()}:
            self.fail(
                "bad-call",
                f"`{call.mechanism}` takes public functions that are not declared here",
                call.span,
                help="declare them here in the same words, or write out what it does",
            )
        return callee

    def invoked(self, call: n.Invoke) -> None:
        """The arguments of a call."""
        callee = self.callee(call)
        declared = {name: item for item in callee.inputs for name in item.names}
        for argument in call.arguments:
            item = declared.get(argument.name)
            if item is None:
                self.fail(
                    "unknown-argument",
                    f"`{call.mechanism}` has no input `{argument.name}`",
                    argument.span,
                    help=nearest(argument.name, declared) or f"its inputs are {listed(declared)}",
                )
            if not isinstance(item, n.Queries):
                self.public(argument.value, f"the public input `{argument.name}` of `{call.mechanism}`")
        for each in rounds_of(call.rounds):
            self.public(each, "what ends the rounds of a call")
        missing = declared.keys() - {argument.name for argument in call.arguments}
        if missing:
            self.fail(
                "missing-argument",
                f"`{call.mechanism}` needs {listed(name for name in declared if name in missing)}, too",
                call.span,
                help=f"add {', '.join(f'`{name} = …`' for name in declared if name in missing)}",
            )

    def public(self, value: n.Expr, what: str) -> None:
        """Fails for an expression of answers and public inputs alone, without any noise."""
        names = names_in(value)
        answers = (name for name in sorted(names) if isinstance(self._symbols.inputs.get(name), n.Queries))
        private = [name for name in answers if not _only_lengths(value, name)]
        plain = not any(name in self._symbols.noise or name in self._symbols.variables for name in names)
        if private and plain:
            self.fail(
                "private-argument",
                f"`{private[0]}` is private: {what} is given public and released values only",
                value.span,
                related=(Label(self._symbols.inputs[private[0]].span, "declared here"),),
            )


def _only_lengths(value: n.Expr, name: str) -> bool:
    """Whether an expression reads nothing of a list but its length."""
    if isinstance(value, n.Call) and value.function == "len":
        return True
    if isinstance(value, n.Name):
        return value.ident != name
    if isinstance(value, n.Index) and value.base == name:
        return False
    return all(_only_lengths(part, name) for part in parts_of(value))
