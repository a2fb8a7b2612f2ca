"""What ω tells apart, what it determines, and what it does not."""

from __future__ import annotations

import pytest
from small_specs import paths_of, symbol

from aligncheck.language.families import Family
from aligncheck.search.relational.labels import AtHead, Drawn, Side
from aligncheck.search.relational.paths import Analysis, Assumed
from aligncheck.search.relational.terms import Kind, Sort, Sym, add, atoms, const, div, lt
from aligncheck.search.relational.visible import Visible, is_known, with_later_records

ONE_ANSWER = "x : query, sensitivity 1\nk : int where k >= 1\neps : real where eps > 0"


def confusable(program: str, inputs: str = ONE_ANSWER) -> list[str]:
    return [why for _, _, why in Visible(paths_of(program, "", inputs)).confusable()]


TOLD_APART = {
    "by their tags": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a\nelse: emit b",
    "by a constant field": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a(1)\nelse: emit a(2)",
    "by a constant truth": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a(true)\nelse: emit a(false)",
    "by the length of the output": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a\nemit a",
    "by the next record": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a\nemit b",
    "by a public test": "if k > 3:\n  xi ~ Lap(1)\nemit a",
    "by a released value": "eta ~ Lap(1)\nemit a(eta)\nif eta > 0:\n  xi ~ Lap(1)\n  emit b\nemit c",
    "they draw the same": "eta ~ Lap(1)\nz = 0\nif eta > 0: z = 1\nxi ~ Lap(1)\nemit a",
}
CONFUSED = {
    "nothing shown": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\nemit a",
    "the same tag": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a\nelse: emit a",
    "the same constant": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a(1)\nelse: emit a(1)",
    "fields that may be equal": "eta ~ Lap(1)\nif eta > 0:\n  xi ~ Lap(1)\n  emit a(xi)\nelse: emit a(0)",
    "a different variable": "eta ~ Lap(1)\nif eta > 0: xi ~ Lap(1)\nelse: zeta ~ Lap(1)\nemit a",
    "a private test": "if x > 0:\n  xi ~ Lap(1)\nemit a",
    "a private number of rounds": "eta ~ Lap(1)\nn = 1\nif eta > 0: n = 2\nfor i in range(n): xi[i] ~ Lap(1)",
    "a silent round": "for i in range(k):\n  xi[i] ~ Lap(1)\n  if xi[i] > 0: break",
}


@pytest.mark.parametrize("how", TOLD_APART)
def test_told_apart(how: str) -> None:
    assert confusable(TOLD_APART[how]) == []


@pytest.mark.parametrize("how", CONFUSED)
def test_not_told_apart(how: str) -> None:
    assert confusable(CONFUSED[how])


def test_a_record_with_the_index_tells_silent_rounds_apart() -> None:
    program = "for i in range(k):\n  xi[i] ~ Lap(1)\n  if xi[i] > 0:\n    emit hit(i)\n    zeta[i] ~ Lap(1)"
    assert confusable(program) == []
    assert confusable(program.replace("hit(i)", "hit(k)"))


def known_names(analysis: Analysis) -> set[str]:
    return {s.name for s in Visible(analysis).known}


def test_state_is_known_if_every_update_is() -> None:
    found = paths_of(
        """
        n = 0; hits = 0; noisy = 0; private = 0; late = 0
        for i in range(k):
          xi[i] ~ Lap(1)
          late = late + noisy
          if x + xi[i] > 0:
            emit hit
            hits = hits + 1
          else: emit miss
          n = n + 2*hits
          noisy = noisy + xi[i]
          private = x
        """,
        "",
        ONE_ANSWER,
    )
    known = known_names(found)
    assert {"n@1", "hits@1", "i@1"} <= known
    assert not {"noisy@1", "private@1", "late@1"} & known


def test_a_counter_of_what_is_not_shown_is_not_known() -> None:
    found = paths_of(
        "n = 0\nfor i in range(k):\n  xi[i] ~ Lap(1)\n  if xi[i] > 0: n = n + 1\n  emit tick", "", ONE_ANSWER
    )
    assert "n@1" not in known_names(found)


def test_the_unknown_part_of_a_term_is_named() -> None:
    found = paths_of(
        "n = 0\nfor i in range(k):\n  xi[i] ~ Lap(1)\n  n = xi[i]\n  emit tick(xi[i])", "", ONE_ANSWER
    )
    visible = Visible(found)
    (path,) = [p for p in found.paths if p.origin == p.target == 1]
    i, k = symbol(found, "i@1"), Sym("k", Sort.INT, Kind.PARAMETER)
    (draw,) = path.drawings()
    assert visible.unknown_in(add(i, k), path) == frozenset()
    assert visible.unknown_in(draw.left.value, path) == frozenset()  # it is released
    x = Sym("x", Sort.REAL, Kind.DATA)
    assert visible.unknown_in(div(x, k), path) == {x}


def test_known_is_of_whole_terms() -> None:
    y = Sym(Drawn("y", Family.LAPLACE), Sort.REAL, Kind.NOISE)
    s = Sym(AtHead("s", 1, Side.ON_D), Sort.REAL, Kind.STATE)
    assert not is_known(add(y, s), frozenset({s}), frozenset())
    assert is_known(add(y, s), frozenset({s}), frozenset({y}))
    assert is_known(lt(s, const(2)), frozenset({s}), frozenset())
    assert not is_known(s, frozenset(), frozenset({add(s, y)}))


def test_scales_that_a_hidden_branch_chooses_are_found() -> None:
    program = "eta ~ Lap(1)\ns = 1\nif eta > 0: s = 2\nxi ~ Lap(s)\nemit a{}"
    hidden = Visible(paths_of(program.format(""), "", ONE_ANSWER)).rescaled()
    assert [drawing.name for _, _, drawing in hidden] == ["xi"]
    assert Visible(paths_of(program.format("(s)"), "", ONE_ANSWER)).rescaled() == []


def test_later_records_carry_later_indices() -> None:
    program = "for i in range(k):\n  xi[i] ~ Lap(1)\n  if xi[i] > 0: emit hit({})"
    align = "xi[j] += 1 when out[0].value == j"

    def told(field: str, more: str = "") -> bool:
        found = with_later_records(paths_of(program.format(field) + more, align, ONE_ANSWER))
        silent = [p for p in found.paths if p.origin == p.target == 1 and not p.emissions()]
        extra = [e.fact for p in silent for e in p.events if isinstance(e, Assumed)]
        return any("out:field:value" in {a.name for a in atoms((f,))} for f in extra)

    assert told("i")
    assert not told("k")
    assert not told("i + 1")
    assert not told("i", "\nemit hit(0)")
    # A loop that is run again starts at a smaller index.
    inner = "for m in range(2):\n  for i in range(k):\n    j = i\n    emit hit(i)"
    found = paths_of(inner, "", ONE_ANSWER)
    assert with_later_records(found) == found


SOME = "q : queries, sensitivity 1\neps : real where eps > 0 and len(q) >= 1"
CHOSEN = "for i, x in q:\n  eta[i] ~ Lap(2/eps)\nw = argmax(q[i] + eta[i] for i in q)\n"
CARRIED = "late = false\nfor r in range(2):\n  late = {}\nif late: nu ~ Lap(1)\n"


@pytest.mark.parametrize(
    "test", ["if w > 0: nu ~ Lap(1)\n", CARRIED.format("w > 0")], ids=["at once", "carried"]
)
def test_a_selection_is_known_where_the_output_shows_it(test: str) -> None:
    assert confusable(CHOSEN + test + "emit done", SOME)
    assert confusable(CHOSEN + test + "emit done(w + 1)", SOME)
    assert confusable(CHOSEN + test + "emit done(w)", SOME) == []


def test_a_list_of_selected_is_known_where_every_rank_is_shown() -> None:
    program = """
        for i, x in q: eta[i] ~ Lap(2/eps)
        w = top(2, q[i] + eta[i] for i in q)
        if 0 in w: nu ~ Lap(1)
        for r in range({}, 2): emit chosen(w[r])
    """
    assert confusable(program.format(0), SOME.replace(">= 1", ">= 2")) == []
    assert confusable(program.format(1), SOME.replace(">= 1", ">= 2"))
