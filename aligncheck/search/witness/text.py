"""Witnesses as JSON text, expressions in the notation of specs with the `$` names of the kernel."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from aligncheck.kernel.witness import Chance, LoopWitness, Witness
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.unparse import unparse_expr
from aligncheck.language.syntax.walk import parts_of, with_parts

_NAME = re.compile(r"\$\w+")


def expression(text: str) -> n.Expr:
    """An expression of a witness. Raises SpecError for what is none."""
    names = {f"zz{at}zz": name for at, name in enumerate(sorted(set(_NAME.findall(text))))}
    back = {name: stand_in for stand_in, name in names.items()}
    plain = _NAME.sub(lambda found: back[found.group()], text)
    lines = f"mechanism m\n\nprivacy 0\n\nprogram\n  while true:\n    invariant {plain}\n    pass\n"
    (loop,) = parse(Source("witness", lines)).body
    return _renamed(loop.invariants[0], names) if isinstance(loop, n.While) else n.Boolean(True)


def _renamed(e: n.Expr, names: dict[str, str]) -> n.Expr:
    e = with_parts(e, tuple(_renamed(p, names) for p in parts_of(e)))
    if isinstance(e, n.Name):
        return replace(e, ident=names.get(e.ident, e.ident))
    if isinstance(e, n.Index):
        return replace(e, base=names.get(e.base, e.base))
    return e


def written(witness: Witness) -> str:
    """The witness as one line of JSON."""
    loops = []
    for loop in witness.loops:
        entry: dict[str, Any] = {}
        if loop.early:
            entry["early"] = [unparse_expr(e) for e in loop.early]
        if loop.invariants:
            entry["invariants"] = [unparse_expr(e) for e in loop.invariants]
        if loop.measure is not None:
            entry["measure"] = unparse_expr(loop.measure)
        if loop.chance is not None:
            c = loop.chance
            entry["chance"] = [c.noise, unparse_expr(c.threshold), unparse_expr(c.scale)]
        loops.append(entry)
    whole: dict[str, Any] = {"loops": loops} if loops else {}
    if witness.route != "acyclic":
        whole["route"] = witness.route
    if witness.sample:
        whole["sample"] = {name: str(value) for name, value in witness.sample}
    if witness.indices:
        whole["indices"] = [unparse_expr(e) for e in witness.indices]
    if witness.promises:
        whole["promises"] = [unparse_expr(e) for e in witness.promises]
    if witness.costs:
        whole["costs"] = [None if e is None else unparse_expr(e) for e in witness.costs]
    if witness.length is not None:
        whole["length"] = unparse_expr(witness.length)
    if witness.within:
        whole["within"] = [
            [f, *(None if e is None else unparse_expr(e) for e in ends)] for f, *ends in witness.within
        ]
    if witness.callees:
        whole["callees"] = {name: json.loads(written(w)) for name, w in witness.callees.items()}
    return json.dumps(whole)


def read(text: str) -> Witness:
    """The witness that `written` wrote."""
    return _read(json.loads(text))


def _read(whole: dict[str, Any]) -> Witness:
    loops = []
    for entry in whole.get("loops", ()):
        measure = expression(entry["measure"]) if "measure" in entry else None
        chance = None
        if "chance" in entry:
            noise, threshold, scale = entry["chance"]
            chance = Chance(noise, expression(threshold), expression(scale))
        early = tuple(expression(e) for e in entry.get("early", ()))
        both = tuple(expression(e) for e in entry.get("invariants", ()))
        loops.append(LoopWitness(early, both, measure, chance))
    ends = whole.get("within", ())
    return Witness(
        loops=tuple(loops),
        route=whole.get("route", "acyclic"),
        sample=tuple((name, Fraction(value)) for name, value in whole.get("sample", {}).items()),
        indices=tuple(expression(e) for e in whole.get("indices", ())),
        promises=tuple(expression(e) for e in whole.get("promises", ())),
        costs=tuple(_optional(text) for text in whole.get("costs", ())),
        length=expression(whole["length"]) if "length" in whole else None,
        within=tuple((f, _optional(low), _optional(high)) for f, low, high in ends),
        callees={name: _read(w) for name, w in whole.get("callees", {}).items()},
    )


def _optional(text: str | None) -> n.Expr | None:
    return None if text is None else expression(text)
