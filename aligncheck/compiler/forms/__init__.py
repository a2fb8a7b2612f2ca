"""The form in which a mechanism runs on exact numbers, written as a spec of its own, which is proved as any
other spec is. Nothing is taken over from the proof of the original.

What a running mechanism may do differently, and where the form says so:

* Irrational numbers. A root or a logarithm is replaced by a rational number near it, computed from the same
  public numbers (`rational`), of which the form knows between which bounds it is, and where it matters, that
  it is no greater than the root, or no less.
* Values of answers. No run depends on whether they are as a `where` clause declares, so the form leaves such
  clauses out (`clauses`).
* The lattice (LATTICE only). Noise is discrete and answers are multiples of a step γ (`lattice`).

With real-valued noise (REFINED) there is nothing more to it: such noise is drawn to as many digits as each
decision needs, which is only done for sums (`refinable`); what is released is rounded down, which is
post-processing. Draws that stay as they are (a random order) are so drawn on a lattice as well.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from aligncheck.compiler.forms.clauses import speaks_of_values, without_values
from aligncheck.compiler.forms.lattice import (
    LatticeForm,
    on_lattice,
    refuse_answers_that_cannot_be_rounded,
    refuse_noise_without_a_lattice,
)
from aligncheck.compiler.forms.rational import (
    as_computed,
    computed_near,
    near_functions,
    refuse_irrational_clauses,
    with_rational_numbers,
)
from aligncheck.compiler.forms.refinable import (
    refuse_logarithms_of_sums,
    refuse_noise_that_is_not_drawn,
    refuse_what_cannot_be_refined,
)
from aligncheck.compiler.forms.shared import NoFormError as NoFormError
from aligncheck.compiler.forms.shared import chain
from aligncheck.compiler.modes import RunMode
from aligncheck.language.check import check
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import contract_of
from aligncheck.language.syntax.nodes import Mechanism, Sample
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import statements_in
from aligncheck.language.unparse import unparse


@dataclass(frozen=True, slots=True)
class Form:
    """A spec as it runs. `same` says that it is the original itself, so that nothing new is to be proved."""

    mechanism: Mechanism
    source: Source
    same: bool


def form_of(mechanism: Mechanism, source: Source, mode: RunMode) -> Form:
    """The form of a checked mechanism for a mode. That for FLOAT is the spec itself, whose proof does not
    cover such a run.

    Raises NoFormError where there is none.
    """
    for use in mechanism.uses:
        if called := contract_of(use).mechanism.functions:
            raise NoFormError(
                f"`{use.name}` takes `{called[0].name}`, and a call passes no function", use.span
            )
    for each in chain(mechanism):
        if mode is not RunMode.FLOAT:
            refuse_irrational_clauses(each)
            refuse_logarithms_of_sums(each)
            refuse_answers_that_cannot_be_rounded(each, mode)
        if mode is RunMode.LATTICE:
            refuse_noise_without_a_lattice(each)
        refuse_noise_that_is_not_drawn(each, mode)
        if mode is not RunMode.FLOAT:
            refuse_what_cannot_be_refined(each, mode)
    if mode is RunMode.FLOAT or all(_runs_as_it_is(each, mode) for each in chain(mechanism)):
        return Form(mechanism, source, True)
    texts = _texts(mechanism, os.path.basename(source.path), mode)
    first = Source(os.path.basename(source.path), texts[os.path.basename(source.path)])

    def read(path: str) -> Source:
        return Source(path, texts[os.path.normpath(path)])

    try:
        return Form(check(first, parse(first), read), first, False)
    except SpecError as error:
        raise NoFormError(f"its form is no spec: {error.diagnostic.message}", mechanism.span) from None


def _runs_as_it_is(mechanism: Mechanism, mode: RunMode) -> bool:
    draws = [s.family for s in statements_in(mechanism.body) if isinstance(s, Sample)]
    continuous = not all(family.on_lattice is family for family in draws)
    if any(True for _ in computed_near(mechanism)) or speaks_of_values(mechanism):
        return False
    return mode is RunMode.REFINED or not continuous


def _texts(mechanism: Mechanism, path: str, mode: RunMode) -> dict[str, str]:
    """The forms of a mechanism and of all that it calls, by the paths of their specs."""
    lattice = LatticeForm.of(mechanism) if mode is RunMode.LATTICE else None
    texts: dict[str, str] = {}
    every = {id(each): as_computed(without_values(each)) for each in chain(mechanism)}
    names = near_functions(every.values())

    def visit(each: Mechanism, path: str) -> None:
        if path in texts:
            return
        used = near_functions(every[id(m)] for m in chain(each))
        form = with_rational_numbers(every[id(each)], {f: names[f] for f in used})
        if lattice is not None:
            form = on_lattice(form, lattice)
        texts[path] = unparse(replace(form, expect=None, also_refuted=False))
        for use in each.uses:
            visit(contract_of(use).mechanism, os.path.normpath(os.path.join(os.path.dirname(path), use.path)))

    visit(mechanism, path)
    return texts
