"""`aligncheck test`: arguments that are not given, chosen from a spec that describes the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from aligncheck.commands import CommandError

if TYPE_CHECKING:
    from aligncheck.language.syntax.nodes import Mechanism
    from aligncheck.meaning.interpreter import Input
    from aligncheck.refutation.telling_arguments import Database
    from aligncheck.statistical.patterns import InputPair
    from aligncheck.statistical.reference import Reference


def describing(spec: str | None, reference: Reference) -> Mechanism | None:
    """The spec that describes a function: the file named, else the one that a generated module carries.

    Raises CommandError where a file that is named is no spec.
    """
    if spec is not None:
        from aligncheck.language.check import check
        from aligncheck.language.diagnostics import SpecError
        from aligncheck.language.syntax.parse import parse
        from aligncheck.language.syntax.read import read_source

        try:
            source = read_source(spec)
            return check(source, parse(source))
        except SpecError as error:
            raise CommandError(
                f"`--spec {spec}`: {error.diagnostic.message}", f"aligncheck verify {spec}"
            ) from None
    return _carried(reference)


def _carried(reference: Reference) -> Mechanism | None:
    """None where the file is no generated module: then it is a function like any other."""
    if not reference.is_file:
        return None
    from aligncheck.compiler.certificate.text import FormatError, detached, spec_named
    from aligncheck.compiler.certificate.whole import File, read_again
    from aligncheck.language.diagnostics import SpecError

    try:
        with open(reference.module, encoding="utf-8", newline="") as file:
            sections = detached(file.read()).sections
        named = [(spec_named(section.title), section.text) for section in sections]
        return read_again(File(title[0], text) for title, text in named if title is not None)[0]
    except (OSError, UnicodeDecodeError, FormatError, SpecError):
        return None


def with_arguments(
    pairs: Sequence[InputPair], mechanism: Mechanism, given: Mapping[str, str]
) -> tuple[InputPair, ...]:
    """Each pair with values for the parameters of the spec that are not `given`, where some are found. Where
    there are several private inputs, a list of answers is spread over them, as an object with their names.

    Raises CommandError for a value that is no number, and where no pair has arguments that the declarations
    allow.
    """
    found = [_with_arguments(pair, mechanism, {**given, **dict(pair.settings)}) for pair in pairs]
    chosen = tuple(pair for pair in found if pair is not None)
    if not chosen:
        raise CommandError(
            f"no arguments were found with which `{mechanism.name}` allows such inputs as neighbours",
            "give them with `--set`, or the inputs with `--pair`",
        )
    return chosen


def _with_arguments(pair: InputPair, mechanism: Mechanism, given: Mapping[str, str]) -> InputPair | None:
    from aligncheck.refutation.telling_arguments import parameters_of, private_inputs, telling_arguments

    names = parameters_of(mechanism)
    first, second = _database(mechanism, pair.first), _database(mechanism, pair.second)
    if first is None or second is None or first == second:
        return None
    if len(private_inputs(mechanism)) > 1:
        pair = replace(pair, first=_plain(first), second=_plain(second))
    fixed = {name: _number(name, given[name]) for name in names if name in given}
    chosen = telling_arguments(mechanism, first, second, fixed)
    if chosen is None:
        return None
    held = dict(chosen)
    return replace(pair, offered=tuple((name, _text(held[name])) for name in names if name not in fixed))


def _database(mechanism: Mechanism, side: Any) -> Database | None:
    """What stands in a pair, by the names of the private inputs; None where it is not such a thing."""
    from aligncheck.refutation.telling_arguments import private_inputs, spread

    try:
        if not isinstance(side, dict):
            return spread(mechanism, list(map(_answer, side if isinstance(side, list) else [side])))
        private = dict(private_inputs(mechanism))
        if side.keys() != private.keys():
            return None
        return {
            n: tuple(map(_answer, side[n])) if vector else _answer(side[n]) for n, vector in private.items()
        }
    except (TypeError, ValueError):
        return None


def _answer(given: Any) -> Fraction:
    """A number of a pair. Raises `ValueError`."""
    from aligncheck.runtime.parameters import real

    return Fraction(given) if isinstance(given, bool) else real("an answer", given)


def _plain(database: Database) -> dict[str, Any]:
    """The same as the function is given it."""
    return {n: list(map(float, x)) if isinstance(x, tuple) else float(x) for n, x in database.items()}


def _text(value: Input) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(name: str, text: str) -> Input:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    from aligncheck.runtime import ParameterError
    from aligncheck.runtime.parameters import real

    try:
        return real(name, text)
    except ParameterError as error:
        raise CommandError(str(error)) from None
