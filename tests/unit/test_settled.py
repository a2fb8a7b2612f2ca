"""What a term depends on: the explicit list of what is made, definitions looked through, the second run."""

from __future__ import annotations

import pytest
from small_specs import paths_of

from aligncheck.language.families import Family
from aligncheck.search.relational.ir import App, Nature, Sym, Term, TermSort, add, atoms, const, mul
from aligncheck.search.relational.labels import AtHead, AttainedAt, DrawOnD, Extremum, RecordIs, Side
from aligncheck.search.relational.paths import Analysis, Drawing
from aligncheck.search.relational.settled import (
    NOTHING,
    Made,
    SettledSymbol,
    common,
    copied,
    is_settled,
    open_in,
)


def _symbol(name: str, kind: Nature) -> Sym:
    return Sym(name, TermSort.REAL, kind)


X, Y, Z = (_symbol(name, Nature.NOISE) for name in "xyz")
A, EPS = _symbol("a", Nature.DATA), _symbol("eps", Nature.PARAMETER)
BEST, OTHER, LOST = (_symbol(name, Nature.EXTREMUM) for name in ("val:best", "val:other", "val:lost"))
STATE, DRIFT = _symbol("s@1", Nature.STATE), _symbol("d:s@1", Nature.DRIFT)
INDEX = Sym("j", TermSort.INT, Nature.GHOST)
PLACE = Sym(AttainedAt(Extremum("best", False)), TermSort.INT, Nature.PLACE)


def xi(index: Term) -> App:
    return App(DrawOnD("xi", Family.LAPLACE), (index,), TermSort.REAL, Nature.NOISE)


DEFINED: dict[Term, tuple[Term, ...]] = {BEST: (add(X, A),), OTHER: (mul(BEST, EPS), xi(INDEX))}


def definition(atom: Sym | App) -> tuple[Term, ...] | None:
    return DEFINED.get(atom)


def made(*symbols: Sym | App) -> Made:
    return NOTHING.then(*(SettledSymbol(s) for s in symbols))


@pytest.mark.parametrize(
    ("atom", "fixed", "wanted"),
    [
        (A, (), True),
        (X, (), False),
        (X, (Y,), False),
        (X, (Y, X), True),
        (BEST, (), False),
        (BEST, (X,), True),
        (BEST, (BEST,), True),  # it was computed by then, whatever it is made of
        (OTHER, (X,), False),  # by way of the draw in its set
        (OTHER, (X, xi(const(0))), False),
        (LOST, (X, Y, Z, BEST), False),  # without a definition: only if it is listed
        (STATE, (X, Y, Z), False),
        (DRIFT, (STATE,), False),
        (DRIFT, (DRIFT,), True),
        (App("q", (PLACE,), TermSort.REAL, Nature.DATA), (), False),
        (
            Sym(AtHead("i", 1, Side.ON_D), TermSort.INT, Nature.COUNTER),
            (),
            False,
        ),  # in which round a loop was left
        (App(RecordIs("t"), (const(0),), TermSort.BOOL, Nature.OMEGA), (), True),
    ],
)
def test_settled(atom: Sym | App, fixed: tuple[Sym | App, ...], wanted: bool) -> None:
    assert is_settled(atom, definition, made(*fixed)) is wanted


def test_the_draws_of_an_ended_loop_are_settled_at_every_index_that_is() -> None:
    whole = NOTHING.then(SettledSymbol(xi(INDEX), "xi", whole=True))
    assert is_settled(xi(const(3)), definition, whole)
    assert is_settled(OTHER, definition, whole.then(SettledSymbol(X, "x")))
    assert not is_settled(xi(PLACE), definition, whole)
    assert not is_settled(xi(const(3)), definition, whole.without(frozenset({"xi"})))


def test_a_definition_that_leads_back_to_itself_settles_nothing() -> None:
    circle: dict[Term, tuple[Term, ...]] = {BEST: (OTHER,), OTHER: (BEST, A)}
    assert not is_settled(BEST, circle.get)


def test_the_order_of_what_is_made_is_kept_and_joined() -> None:
    assert [e.symbol for e in made(X, Y, X).entries] == [X, Y]
    assert common([made(X, Y, Z), made(Z, X)]) == made(X, Z)


def test_a_second_run_shares_what_is_settled_and_nothing_else() -> None:
    term = add(X, Y, BEST, STATE, A, App("q", (PLACE,), TermSort.REAL, Nature.DATA))
    names = {a.name for a in atoms((copied(term, definition, made(X)),))}
    assert names == {"x", "y~", "val:best", "s@1~", "a", "q", "val:best~where~"}
    assert {a.name for a in atoms((copied(BEST, definition),))} == {"val:best~"}


# --- along paths --------------------------------------------------------------------------------------------


ONE = "a : query, sensitivity 1\nk : int where k >= 1\neps : real where eps > 0"


def listed(event: Drawing) -> list[str]:
    return [e.symbol.name for e in event.made.entries]


def drawing(found: Analysis, name: str) -> Drawing:
    return next(e for p in found.paths for e in p.drawings() if e.name == name)


def test_a_draw_lists_the_draws_before_it_though_no_variable_holds_them() -> None:
    program = "x ~ Lap(1)\nx2 = 0\nx2 = x\ny ~ Lap(1)\nz ~ Lap(1)\nemit v(x + y + z)"
    found = paths_of(program, "x += y*(k + 1) - y*k - y", ONE)
    assert listed(drawing(found, "x")) == []
    assert listed(drawing(found, "y")) == ["x"]
    assert listed(drawing(found, "z")) == ["x", "y"]
    event = drawing(found, "x")
    assert {a.name for a in open_in((event.shift,), found.theory.hidden_in, event.made)} == {"y"}


def test_a_loop_head_lists_what_every_way_in_has_made() -> None:
    program = """
        if a > 0:
          x ~ Lap(1)
          y ~ Lap(1)
        else:
          y ~ Lap(1)
        s = 0
        for i in range(k):
          xi[i] ~ Lap(1)
          s = s + xi[i]
        z ~ Lap(1)
        emit v(s + z)
    """
    found = paths_of(program, "", ONE)
    inside, after = (listed(drawing(found, name)) for name in ("xi", "z"))
    assert "y" in inside
    assert "x" not in inside
    assert "xi" not in inside
    assert {"s@1", "#cost@1"} <= set(inside)
    assert set(after) == {*inside, "xi"}
    assert [e.whole for e in drawing(found, "z").made.entries if e.symbol.name == "xi"] == [True]


def test_distances_of_two_later_draws_are_two_symbols() -> None:
    program = "z ~ Lap(1)\nfor i in range(2):\n  xi[i] ~ Lap(1)\nemit v(z)"
    shift = drawing(paths_of(program, "z += (xi'[0] - xi[0]) - (xi'[1] - xi[1])", ONE), "z").shift
    assert [a.kind for a in atoms((shift,)) if isinstance(a, App)] == [Nature.UNSETTLED] * 2
