"""Clauses of public inputs that ask for an entry of a list which may have none there."""

from __future__ import annotations

from collections.abc import Container

from aligncheck.language.diagnostics import SpecError, fault
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.lengths import ENTRY
from aligncheck.language.syntax.walk import names_in, subexpressions


def check_entries(source: Source, mechanism: n.Mechanism) -> None:
    """Raises SpecError for an entry in a `where` of the inputs, of a list whose length no clause before it
    speaks of: there are lists of which the clause is neither true nor false.

    A clause of a list that speaks of each entry (`i`) requires nothing of a list without entries.
    """
    lists = {item.name for item in mechanism.inputs if isinstance(item, n.PublicVector)}
    known = set[str]()
    for item in mechanism.inputs:
        if isinstance(item, n.Queries) or item.where is None:
            continue
        each = isinstance(item, n.PublicVector) and ENTRY in names_in(item.where)
        bare = None if each else _bare(item.where, lists, known)
        if bare is not None:
            raise _no_value(source, bare)


def _bare(e: n.Expr, lists: Container[str], known: set[str]) -> n.Index | None:
    """The first entry of a list whose length is not `known`, to which those of which `e` speaks are added."""
    if isinstance(e, n.Logic):
        return next((bare for arg in e.args if (bare := _bare(arg, lists, known)) is not None), None)
    parts = tuple(subexpressions(e))
    bound = {part.index for part in parts if isinstance(part, n.Gather)}
    known |= {
        arg.ident
        for part in parts
        if isinstance(part, n.Call) and part.function == "len"
        for arg in part.args
        if isinstance(arg, n.Name)
    }
    entries = (part for part in parts if isinstance(part, n.Index) and part.base in lists)
    return next((x for x in entries if x.base not in known and not names_in(x.index) & bound), None)


def _no_value(source: Source, entry: n.Index) -> SpecError:
    name, at = entry.base, source.text_of(entry.index.span)
    length = int(entry.index.value) + 1 if isinstance(entry.index, n.Number) else None
    guard = f"0 <= {at} < len({name})" if length is None else f"len({name}) >= {length}"
    return fault(
        source,
        "missing-entry",
        f"`{source.text_of(entry.span)}` has no value where "
        + (f"`{name}` is empty" if length == 1 else f"`{at}` is no index of `{name}`"),
        entry.span,
        help=f"say before it that there is one: `{guard} and …`",
    )
