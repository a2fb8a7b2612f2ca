"""Static checks: everything that can be said about a spec before any proof."""

from __future__ import annotations

from aligncheck.language.check.arguments import check_callees, check_calls
from aligncheck.language.check.entries import check_entries
from aligncheck.language.check.flow import AlignmentNames, ProgramFlow
from aligncheck.language.check.link import Linker, Read
from aligncheck.language.check.names import Place, Reader
from aligncheck.language.check.scope import check_privacy, check_redraws
from aligncheck.language.check.sort_inference import check_sorts
from aligncheck.language.check.stated_density import check_densities
from aligncheck.language.check.symbol_table import SymbolTable, symbols_of
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Mechanism, Pure
from aligncheck.language.syntax.read import read_source
from aligncheck.language.syntax.walk import claimed_in


def check(source: Source, mechanism: Mechanism, read: Read = read_source) -> Mechanism:
    """The mechanism, if it makes sense: names, values and sorts fit, and nothing in it is out of scope. The
    mechanisms that it calls have been read (by `read`) and checked, too.

    Raises SpecError with the first fault.
    """
    return _checked(source, Linker(_checked, read).linked(source, mechanism))


def _checked(source: Source, mechanism: Mechanism) -> Mechanism:
    """The same, of a mechanism whose callees have been read."""
    symbols = symbols_of(source, mechanism)
    check_privacy(source, mechanism)
    check_callees(source, mechanism, symbols)
    check_densities(source, mechanism)
    _check_names(source, mechanism, symbols)
    check_calls(source, mechanism, symbols)
    check_sorts(source, mechanism, symbols)
    check_entries(source, mechanism)
    check_redraws(source, mechanism)
    return mechanism


def _check_names(source: Source, mechanism: Mechanism, symbols: SymbolTable) -> None:
    reader = Reader(source, symbols)
    for item in mechanism.inputs:
        reader.declaration(item)
    spoken = isinstance(mechanism.claim, Pure)  # which alone may speak of the output, in its first part
    for number, each in enumerate(claimed_in(mechanism.claim)):
        reader.read(each, Place("in `privacy`", public=True, output=spoken and not number))
    flow = ProgramFlow(reader)
    flow.check(mechanism.body)
    AlignmentNames(reader, flow.at_draws, mechanism.body).check(mechanism.align)
