"""What the kernel knows of an index that is chosen: by the greatest values, or by weights; and its cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import z3
from kernel_cases import decide
from small_specs import spec

from aligncheck.kernel.answer import Reject, Rejected
from aligncheck.kernel.choosing import Selecting
from aligncheck.kernel.decide import Kernel
from aligncheck.kernel.logic import Decider, Kind
from aligncheck.kernel.state import Path, Selection
from aligncheck.kernel.terms import both
from aligncheck.kernel.witness import Witness, own
from aligncheck.language.syntax import nodes as n
from aligncheck.language.syntax.parse import parse

INPUTS = """
    q : queries, sensitivity 9
    k : int where k >= 1
    eps : real where eps > 0
"""

Answers = tuple[int, ...]


def best(answers: Answers, count: int, up: int = 1, above: int = -99) -> list[int]:
    kept = [i for i, answer in enumerate(answers) if answer > above]
    return sorted(kept, key=lambda i: -up * answers[i])[:count]  # it is stable: the lower index first


def selected(kernel: Selecting, path: Path) -> Selection:
    """What is known on the path after the one selection of the program."""
    (stmt,) = (s for s in kernel.spec.body if isinstance(s, n.Assign))
    kernel.select(path, stmt)
    return path.selections[stmt.name]


SELECTIONS: dict[str, Callable[[Answers], list[int]]] = {
    "argmax(q[i] for i in q)": lambda q: best(q, 1),
    "argmin(q[i] for i in q)": lambda q: best(q, 1, -1),
    "top(2, q[i] for i in q)": lambda q: best(q, 2),
    "top(3, q[i] for i in q)": lambda q: best(q, 3),
    "upto(2, q[i] for i in q where q[i] > 0)": lambda q: best(q, 2, above=0),
}
PAIRS = [
    ((0, 0, 0), (1, 1, 1)),
    ((0, 1, 1), (0, 2, 1)),
    ((0, 1, 1), (0, 1, 2)),
    ((2, 1, 0), (2, 1, 1)),
    ((2, 1, 0), (1, 2, 0)),
    ((1, 2, 3), (0, 2, 3)),
    ((1, 0, 0), (1, 1, 0)),
    ((0, 0, 0), (0, 0, 1)),
]


@pytest.mark.parametrize(("on_d", "on_other"), PAIRS)
@pytest.mark.parametrize("text", SELECTIONS)
def test_a_selection_is_the_list_that_sorting_gives_on_both_runs(
    text: str, on_d: Answers, on_other: Answers
) -> None:
    """Known is which list it is, and nothing else of it; and it passes just if it is the same on D'."""
    kernel = Kernel(parse(spec(f"w = {text}\nemit done", "", INPUTS)), Witness(), Decider())
    path, chosen, other = Path(), *map(SELECTIONS[text], (on_d, on_other))
    kernel.prepare_inputs(path)
    kernel.prepare_selections(path)
    path.fact(Kind.RUN, kernel.lengths["q"] == len(on_d))
    for run, answers in enumerate((on_d, on_other)):
        for i, answer in enumerate(answers):
            path.fact((Kind.RUN, Kind.PRIME)[run], kernel.lists["q"][run](i) == answer)
    w = selected(kernel, path)
    solver, known = z3.Solver(ctx=kernel.symbols.ctx), [f for f in path.facts if f.kind is Kind.RUN]
    solver.add(*(z3.ForAll([*f.variables], f.formula) if f.variables else f.formula for f in known))
    assert solver.check() == z3.sat
    solver.add(z3.Not(both(w.count == len(chosen), *(w.at(r) == i for r, i in enumerate(chosen)))))
    assert solver.check() == z3.unsat
    if chosen == other:
        kernel.discharge(path)
    else:
        with pytest.raises(Reject, match="output"):
            kernel.discharge(path)


@pytest.mark.parametrize(
    ("noise", "body", "never"),
    [
        ("Lap", "q[i] + eta[i]", True),
        ("Lap", "2*q[i] - eta[i]", True),
        ("DLap", "q[i] + eta[i]", False),
        ("Lap", "q[i]", False),
        ("Lap", "q[i] + eta[0]", False),
        ("Lap", "eta[i] + eta[0]", False),
        ("Lap", "q[i] + abs(eta[i])", False),
        ("Lap", "max(q[i], eta[i])", False),
        ("Lap", "eta[i] - eta[i]", False),
    ],
)
def test_only_values_with_a_draw_of_their_own_never_tie(noise: str, body: str, never: bool) -> None:
    """A lattice, a draw that all share, or one that may be lost on the way: then two may be equal."""
    program = f"for i in q:\n  eta[i] ~ {noise}(1)\nw = argmax({body} for i in q)\nemit done"
    kernel, path = Kernel(parse(spec(program, "", INPUTS)), Witness(), Decider()), Path()
    kernel.prepare_inputs(path)
    kernel.prepare_selections(path)
    path.fact(Kind.RUN, kernel.lengths["q"] >= 2)
    path.ghosts = {own("drawn", "eta"): kernel.lengths["q"], own("dense", "eta"): kernel.symbols.true}
    w = selected(kernel, path)
    sets = [kernel.opened(w.gather, scope) for scope in kernel.in_runs(w.gather, path)]
    for run, found in enumerate(sets):  # where the draws are moved in an order, neither do those on D'
        known = [f for f in path.facts if f.kind <= (Kind.WHOLE, Kind.PRIME)[run]]
        apart = found.at(kernel.symbols.zero).body != found.at(kernel.symbols.integer(1)).body
        assert (kernel.decider.follows(known, apart) is not None) is never


# --- draws by weights ---------------------------------------------------------------------------------------

SCORED = "u : queries, sensitivity 1, adjacency {}\neps : real where eps > 0 and len(u) >= 1"
SECRET = "x : int query, range [0, k - 1], adjacency any\nk : int where k >= 2\neps : real where eps > 0"
NUMBER = "u : query, sensitivity 1\neps : real where eps > 0"


def rejected(draw: str, inputs: str, privacy: str) -> str | None:
    """The condition at which the kernel rejects it, or None."""
    found = decide(parse(spec(f"w ~ {draw}\nemit done", "", inputs, privacy)), Witness())
    return found.condition if isinstance(found, Rejected) else None


@pytest.mark.parametrize(
    ("draw", "inputs", "claim"),
    [
        ("Choose(exp(eps*u[i]/2) for i in u)", SCORED.format("all"), "eps"),
        ("Choose(3*exp(eps*u[i]/2) for i in u)", SCORED.format("all"), "eps"),
        ("Choose(exp(eps*u[i]) for i in u)", SCORED.format("monotone"), "eps"),
        ("Choose(exp(eps*u[i]) for i in u)", SCORED.format("one"), "eps"),
        ("Choose(exp(eps) if j == x else 1 for j in range(k))", SECRET, "eps"),
        ("Choose(exp(eps) if j >= x else 1 for j in range(k))", SECRET, "eps"),
        ("Choose(exp(eps*u[i]) for i in u)", SCORED.format("all"), "eps**2/2 zcdp"),
        ("Logistic(u, 1/eps)", NUMBER, "eps"),
        ("Logistic(u, 1/eps) where w > 0", NUMBER, "eps"),
    ],
)
def test_a_draw_by_weights_costs_this_and_no_less(draw: str, inputs: str, claim: str) -> None:
    """Twice how far the scores move, or once if none goes the other way, or if two change places; in ρ an
    eighth of the square of their range. A number that is cut at a fixed place costs what it does uncut.
    """
    amount, _, unit = claim.partition(" ")
    assert rejected(draw, inputs, claim) is None
    assert rejected(draw, inputs, f"9/10*{amount} {unit}".strip()) == "cost"


@pytest.mark.parametrize(
    ("draw", "inputs", "condition"),
    [
        ("Choose(u[i] for i in u)", SCORED.format("all"), "defined"),
        ("Choose(1 for i in u where i > 0)", SCORED.format("all"), "defined"),
        ("Choose(1 for i in u where i == 0 or u[i] > 0)", SCORED.format("all"), "support"),
        ("Logistic(u, 1 + abs(u))", NUMBER, "scales"),
        ("Logistic(u, eps - 1)", NUMBER, "scales"),
        ("Logistic(u, 1/eps) where w > u", NUMBER, "support"),
    ],
)
def test_weights_and_scales_that_no_claim_pays_for(draw: str, inputs: str, condition: str) -> None:
    assert rejected(draw, inputs, "9*eps + 9") == condition


def test_weights_in_other_places_are_the_same_weights() -> None:
    """Where one index counts twice the sum of all weights is greater if x is that one."""
    for times, condition in (("2", None), ("(2 if j == 0 else 1)", "cost")):
        draw = f"Choose({times}*(exp(eps) if j == x else 1) for j in range(k))"
        assert rejected(draw, SECRET, "eps") == condition


def test_a_choice_with_no_other_index_says_nothing_of_what_follows() -> None:
    for claim, condition in (("eps", None), ("0", "cost")):
        assert rejected("Choose(1 for i in range(1))\ng ~ Logistic(u, 1/eps)", NUMBER, claim) == condition
