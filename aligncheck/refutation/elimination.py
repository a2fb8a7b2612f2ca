"""The integral of a product of functions, each of one linear form of the noise variables, variable by
variable.

Densities are functions of single variables, and a way through a program restricts linear forms to intervals,
so the probability of a way is such an integral. A variable whose forms involve at most one other variable is
integrated out at once and leaves a function of that other one; sparse vectors and selections are stars and
chains, where this is always possible. Elsewhere the variables are changed first, so that the forms become
shorter (the sums of a running sum instead of its noises).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from flint import fmpq

from aligncheck.refutation import piecewise
from aligncheck.refutation.cells import Cells, TooMany
from aligncheck.refutation.irrationals import Real, ceiling, common_measure, simple

Form: TypeAlias = tuple[tuple[int, Any], ...]
"""Variables, rising, with their coefficients (int or fmpq, not 0). The first coefficient is 1; but of a form
of lattice variables only all are integers without a common factor, the first one positive.
"""


class Tangled(Exception):  # noqa: N818 - it is an answer
    """The forms meet in a way that elimination cannot undo; the text says why."""


def scaled(coefficients: Mapping[int, Any], lattice: Callable[[int], bool]) -> tuple[Form, Any]:
    """The canonical multiple of a linear form, and what it was multiplied by."""
    variables = sorted(coefficients)
    if all(map(lattice, variables)):
        rationals = [fmpq(coefficients[variable]) for variable in variables]
        unit = common_measure(rationals)
        if rationals[0] < 0:
            unit = -unit
        return tuple((v, int((c / unit).p)) for v, c in zip(variables, rationals, strict=True)), 1 / unit
    first = coefficients[variables[0]]
    if first == 1:
        return tuple((v, coefficients[v]) for v in variables), 1
    by = 1 / fmpq(first)
    return tuple((v, simple(coefficients[v] * by)) for v in variables), by


class _Empty(Exception):  # noqa: N818 - it is an answer
    """No point is left."""


Check: TypeAlias = Callable[[], None]
MOST_ENTANGLED = 5
"""So many variables may be integrated out all at once."""
WORK = 4_000
"""So many pairs of cuts may meet in one elimination."""


class Elimination:
    """One integral. `factors` are the functions that are left, `scale` the product of what is done."""

    def __init__(
        self, calculus: piecewise.Calculus, check: Check, windows: dict[Any, Any] | None = None
    ) -> None:
        self._calculus = calculus
        self._check = check
        self._windows: dict[Any, Any] = {} if windows is None else windows
        self._factors: dict[Form, list[piecewise.Piecewise]] = {}
        self._continuous: dict[int, bool] = {}
        self._scale: piecewise.Coefficient = 1

    def integral(
        self, factors: list[tuple[Form, piecewise.Piecewise]], continuous: dict[int, bool]
    ) -> piecewise.Coefficient | None:
        """The integral over all variables; None where it is 0 because no point is left.

        `continuous` says of each variable whether it is one, or an integer. Raises `Tangled`.
        """
        self._continuous = dict(continuous)
        for form, function in factors:
            self._add(form, function)
        while self._continuous:
            if any(f.is_zero for held in self._factors.values() for f in held):
                return None
            self._check()
            try:
                self._next()
            except _Empty:
                return None
        return self._scale

    def marginal(
        self, factors: list[tuple[Form, piecewise.Piecewise]], continuous: dict[int, bool], form: Form
    ) -> piecewise.Piecewise:
        """The density (the masses) of a form, as a function of it. Raises `Tangled`."""
        self._continuous = dict(continuous)
        for other, function in factors:
            self._add(other, function)
        coefficients = dict(form)
        may = [v for v in coefficients if self._may_pivot(coefficients, v)]
        if not may:
            raise Tangled("lattice noise with coefficients other than 1")
        kept = may[-1]
        if len(form) > 1:
            self._pivot(coefficients, kept)
        while set(self._continuous) != {kept}:
            self._check()
            self._next(kept)
        whole = self._calculus.product(self._factors[((kept, 1),)])
        return piecewise.weighted(whole, self._scale)

    def _add(self, form: Form, function: piecewise.Piecewise) -> None:
        self._factors.setdefault(form, []).append(function)

    # --- the order ------------------------------------------------------------------------------------------

    def _next(self, kept: int | None = None) -> None:
        while True:
            found = self._leaf(kept)
            if found is not None:
                self._eliminate(*found)
                return
            if not self._change(kept):
                if kept is not None:
                    raise Tangled("the constraints tie too many noise variables together")
                self._rest()
                return

    def _rest(self) -> None:
        """Everything that is left, at once."""
        variables = sorted(self._continuous)
        kinds = set(self._continuous.values())
        if len(kinds) > 1 or len(variables) > MOST_ENTANGLED:
            raise Tangled("the constraints tie too many noise variables together")
        place = {variable: number for number, variable in enumerate(variables)}
        factors = [
            ({place[v]: c for v, c in form}, self._calculus.product(held))
            for form, held in self._factors.items()
        ]
        cells = Cells(self._calculus, len(variables), kinds.pop(), self._check)
        try:
            found = cells.integral(factors)
        except (TooMany, piecewise.Diverges):
            raise Tangled("the constraints tie too many noise variables together") from None
        self._continuous = {}
        self._factors = {}
        if found is None:
            raise _Empty
        self._scale = self._scale * found

    def _leaf(self, kept: int | None) -> tuple[int, int | None] | None:
        """The cheapest variable that meets at most one other one, and that one."""
        others: dict[int, set[int]] = {variable: set() for variable in self._continuous}
        cost = dict.fromkeys(self._continuous, 0)
        for form, held in self._factors.items():
            for variable, _ in form:
                others[variable].update(v for v, _ in form)
                cost[variable] += sum(len(f.cuts) for f in held)
        best = None
        for variable, met in others.items():
            if variable != kept and len(met) <= 2 and (best is None or cost[variable] < cost[best]):
                left = met - {variable}
                if not left or self._may(variable, *left):
                    best = variable
        if best is None:
            return None
        left = others[best] - {best}
        return best, next(iter(left)) if left else None

    def _may(self, variable: int, other: int) -> bool:
        """Whether the sum over a lattice variable has finitely many pieces."""
        if self._continuous[variable]:
            return True
        if self._continuous[other]:
            return False
        return all(
            abs(dict(form)[variable]) == 1 for form in self._factors if any(v == variable for v, _ in form)
        )

    # --- one variable ---------------------------------------------------------------------------------------

    def _eliminate(self, variable: int, other: int | None) -> None:
        here = {form: held for form, held in self._factors.items() if any(v == variable for v, _ in form)}
        for form in here:
            del self._factors[form]
        continuous = self._continuous.pop(variable)
        groups: dict[Any, list[piecewise.Piecewise]] = {}
        for form, held in here.items():
            coefficients = dict(form)
            a, b = coefficients[variable], coefficients.get(other, 0) if other is not None else 0
            slope = simple(-b / fmpq(a))
            groups.setdefault(slope, []).extend(self._stretched(f, a, continuous) for f in held)
        functions = {slope: self._calculus.product(held) for slope, held in groups.items()}
        try:
            if other is None:
                self._scale = self._scale * self._calculus.total(functions[0])
            else:
                message = self._message(functions)
                if not self._continuous[other] and message.continuous:
                    message = on_integers(message)
                self._add(((other, 1),), message)
        except piecewise.Diverges:
            raise Tangled("an integral over noise without bound") from None

    def _stretched(self, function: piecewise.Piecewise, factor: Any, continuous: bool) -> piecewise.Piecewise:
        if not continuous and factor not in (1, -1):
            raise Tangled("lattice noise with coefficients other than 1")
        return self._calculus.stretched(function, factor)

    def _message(self, functions: dict[Any, piecewise.Piecewise]) -> piecewise.Piecewise:
        moving = [slope for slope in functions if slope != 0]
        if len(moving) == 1 and 0 in functions and functions[moving[0]].is_plain:
            slope, plain, density = moving[0], functions[moving[0]], functions[0]
            if density.continuous or slope in (1, -1):
                # What moves is a function of u - slope*v, so the window is one of slope*v.
                return self._calculus.stretched(self._window(density, plain), slope)
        cuts = [len(function.cuts) for function in functions.values()]
        if sum(cuts) ** 2 > WORK:
            raise Tangled("too many pieces")
        return self._calculus.swept(list(functions.items()))

    def _window(self, density: piecewise.Piecewise, plain: piecewise.Piecewise) -> piecewise.Piecewise:
        """The window function of a density, which is kept: windows of one width are shifts of each other."""
        if plain.pieces[0] is not None:
            low, high = None, plain.cuts[0] if plain.cuts else None
        else:
            low, high = plain.cuts[0], plain.cuts[1] if len(plain.cuts) == 2 else None
        by = low if low is not None else high if high is not None else fmpq(0)
        width = None if low is None or high is None else high - low
        key = (id(density), low is None, high is None, str(width))
        found = self._windows.get(key)
        if found is None:
            start = None if low is None else low - by
            stop = None if high is None else high - by
            found = self._windows[key] = density, self._calculus.window(density, start, stop)
        return piecewise.shifted(found[1], by)

    # --- other variables ------------------------------------------------------------------------------------

    def _change(self, kept: int | None) -> bool:
        """Makes a form a variable, in place of one of its variables, so that the forms become shorter.

        The substitution is linear and invertible: the integral changes by the factor 1/|coefficient|. On a
        lattice the coefficient is 1 or -1, so that integers stay integers. False where nothing helps.
        """
        forms = list(self._factors)
        size = sum(len(form) for form in forms)
        best: tuple[int, dict[int, Any], int] | None = None
        for form in forms:
            if len(form) < 2:
                continue
            coefficients = dict(form)
            for variable in coefficients:
                if variable == kept or not self._may_pivot(coefficients, variable):
                    continue
                after = sum(len(_substituted(dict(f), coefficients, variable)) for f in forms)
                if after < size and (best is None or after < best[0]):
                    best = after, coefficients, variable
        if best is None:
            return False
        self._pivot(best[1], best[2])
        return True

    def _may_pivot(self, form: dict[int, Any], variable: int) -> bool:
        """Whether a form may be the variable instead: all of one kind, and integers stay integers."""
        if len({self._continuous[v] for v in form}) > 1:
            return False
        return self._continuous[variable] or abs(form[variable]) == 1

    def _pivot(self, form: dict[int, Any], variable: int) -> None:
        factors, self._factors = self._factors, {}
        for old, held in factors.items():
            raw = _substituted(dict(old), form, variable)
            new, by = scaled(raw, lambda v: not self._continuous[v])
            for function in held:
                # f(L) with L = new/by, a function of `new`.
                self._add(new, self._stretched(function, simple(1 / fmpq(by)), self._continuous[variable]))
        if self._continuous[variable]:
            self._scale = self._scale * self._calculus.number(1 / abs(fmpq(form[variable])))


def _substituted(form: dict[int, Any], pivot: dict[int, Any], variable: int) -> dict[int, Any]:
    """A form in the variables in which `variable` now stands for the form `pivot`."""
    share = form.get(variable, 0)
    if share == 0:
        return form
    # variable = (pivot - rest)/a
    by = share / fmpq(pivot[variable])
    result = dict(form)
    result[variable] = simple(by)
    for other, factor in pivot.items():
        if other != variable:
            value = simple(result.get(other, 0) - fmpq(by) * factor)
            if value == 0:
                result.pop(other, None)
            else:
                result[other] = value
    return result


def on_integers(function: piecewise.Piecewise) -> piecewise.Piecewise:
    """A continuous function of a real variable, looked at on the integers only."""
    cuts: list[Real] = []
    pieces = [function.pieces[0]]
    for cut, piece in zip(function.cuts, function.pieces[1:], strict=True):
        here = ceiling(cut)
        if cuts and cuts[-1] == here:
            pieces[-1] = piece
        else:
            cuts.append(here)
            pieces.append(piece)
    return piecewise.tidied(cuts, pieces, continuous=False)
