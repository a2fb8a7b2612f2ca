"""Generated mechanisms: agreement with the interpreter, form, types, names, arguments, labels."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pandas as pd
import pytest
from oracle import (
    Case,
    TapeEnded,
    as_declared,
    as_if_verified,
    check_agreement,
    compiled,
    constructed,
    interpret,
    load,
)
from recorded_noise import RecordedNoise
from small_specs import checked as of_path

from aligncheck.compiler.emit.python import emit_python
from aligncheck.compiler.forms.shared import chain
from aligncheck.compiler.modes import RunMode
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.walk import has_densities, statements_in
from aligncheck.meaning.interpreter import Finished
from aligncheck.runtime import AnswersError, ArgumentError, ParameterError, row_of

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").glob("*.dp"))


def spec(text: str) -> nodes.Mechanism:
    return parse(Source("test.dp", dedent(text)))


# --- agreement with the interpreter -------------------------------------------------------------------------


def a_case(mechanism: nodes.Mechanism, rng: random.Random) -> Case:
    """Random small inputs of the declared types; they need not satisfy what else is declared."""
    n = rng.randint(1, 5)
    reals = [
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(3, 4),
        Fraction(1),
        Fraction(2),
        Fraction(3),
        Fraction(-1),
    ]

    def one(sort: nodes.Sort) -> Any:
        match sort:
            case nodes.Sort.REAL:
                return rng.choice(reals)
            case nodes.Sort.INT:
                return rng.randint(0, 4)
            case nodes.Sort.BOOL:
                return rng.random() < 0.5

    parameters: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for item in mechanism.inputs:
        match item:
            case nodes.Parameter(name=name, sort=sort):
                parameters[name] = one(sort)
            case nodes.PublicVector(name=name, sort=sort):
                parameters[name] = [one(sort) for _ in range(n)]
            case nodes.Queries(names=names, sort=sort, vector=vector):
                for name in names:
                    data[name] = [2 * one(sort) for _ in range(n)] if vector else one(sort)
    return Case(parameters, data, tuple(rng.randint(-12, 12) for _ in range(60)))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_generated_code_agrees_with_the_interpreter(path: Path) -> None:
    mechanism = of_path(path)
    if any(has_densities(each.body) for each in chain(mechanism)):
        pytest.skip("the interpreter has no noise for it: see test_runtime_density.py")
    if any(getattr(s, "rounds", None) is not None for s in statements_in(mechanism.body)):
        pytest.skip("it is drawn how many rounds there are, which is no draw of the spec: see test_repeat.py")
    cls, rng = compiled(mechanism), random.Random(path.stem)
    agreed = 0
    for _ in range(400):
        try:
            agreed += check_agreement(mechanism, cls, a_case(mechanism, rng))
        except ArgumentError:
            continue  # the case is outside of what is declared
        if agreed == 20:
            return
    assert agreed >= 5, "too few cases satisfy the declarations"


def test_an_int_in_a_real_variable_is_divided_exactly() -> None:
    """`int / int` is a float in Python; a variable that starts at 0 must not fall into that."""
    mechanism = spec(
        """
        mechanism thirds
        input
          k : int
        privacy 1
        program
          x = 1
          if k > 0: x = x / 3
          y = k / 3
          emit parts(x = x / 3, y = y, z = min(k, 1/2), w = (k if k > 0 else 1/2) / 3)
        """
    )
    (record,) = compiled(mechanism)(k=2)().records  # type: ignore[call-arg, operator]
    third = Fraction(1, 3)
    expected = {"x": third / 3, "y": 2 * third, "z": Fraction(1, 2), "w": 2 * third}
    assert row_of(record) == expected
    assert all(type(value) is Fraction for value in row_of(record).values())


def test_integer_draws_and_answers_stay_integers() -> None:
    mechanism = spec(
        """
        mechanism counts
        input
          q : int queries, sensitivity 1
        privacy 1
        program
          for x in q:
            a = x
          eta ~ Geo(1/2)
          xi ~ DLap(3, 2)
          emit all(total = a + eta + xi)
        """
    )
    (record,) = compiled(mechanism)(testing_seed=1)([2**70]).records  # type: ignore[operator]
    total = row_of(record)["total"]
    assert type(total) is int
    assert abs(total - 2**70) < 200


def test_answers_one_by_one_release_what_a_list_does() -> None:
    """The same records from the same draws, and no answer is taken before it is needed."""
    with_streams = 0
    for path in SPECS:
        mechanism = of_path(path)
        cls: Any = compiled(mechanism)
        if not hasattr(cls, "stream"):
            continue
        rng, compared = random.Random(path.stem), 0
        for _ in range(2000):
            compared += compare_stream(mechanism, cls, a_case(mechanism, rng))
            if compared == 6:
                break
        assert compared == 6, path.stem
        with_streams += 1
    assert with_streams >= 22


def compare_stream(mechanism: nodes.Mechanism, cls: Any, case: Case) -> bool:
    """False where the spec itself has no run on the case, or releases nothing."""
    draws: list[Any] = []
    try:
        exact = interpret(mechanism, case, draws)
    except TapeEnded:
        return False
    try:
        if not isinstance(exact.ended, Finished) or not as_declared(cls, mechanism, case):
            return False
    except ParameterError:
        return False
    tape = [value for _, value in draws]
    answers = [case.data[q.name] for q in cls.spec.queries]
    records = constructed(mechanism, cls, case).with_noise(RecordedNoise(tape))(*answers).records
    taken: list[Any] = []

    def source(values: list[Any]) -> Iterator[Any]:
        for value in values:
            taken.append(value)
            yield value

    noise = RecordedNoise(tape)
    one_by_one = [source(a) if isinstance(a, list) else a for a in answers]
    streamed = constructed(mechanism, cls, case).with_noise(noise).stream(*one_by_one)
    found = [(record, len(taken), len(noise.drawn)) for record in streamed]
    assert tuple(record for record, _, _ in found) == records
    assert len(noise.drawn) == len(tape)
    assert [n for _, n, _ in found] == sorted(n for _, n, _ in found)
    last = found[-1][1] if found else 0
    assert len(taken) <= last + 1, "one more at most, which ended the loop without a record"
    return bool(records)


# --- arrays -------------------------------------------------------------------------------------------------


HEAD = """
mechanism m
input
  q : queries, sensitivity 1
  z : int queries, sensitivity 1
  b : vector
  ok : bool vector
  T : real
  k : int where k >= 0
privacy 1
program
"""


def test_nothing_is_evaluated_where_nothing_is_selected() -> None:
    mechanism = parse(
        Source("test.dp", HEAD + "  w = top(0, T/k + q[j] for j in range(k))\n  emit a(len(w))\n")
    )
    parameters = {"b": [], "ok": [], "T": Fraction(1), "k": 0}
    case = Case(parameters, {"q": [Fraction(1)], "z": [1]}, ())
    assert check_agreement(mechanism, compiled(mechanism), case)


def test_names_of_the_runtime_are_free_for_a_spec() -> None:
    mechanism = spec(
        """
        mechanism argmax_of
        input
          vector : queries, sensitivity 1
          greatest : real
        privacy 1
        program
          least = max(vector[members] + greatest for members in vector)
          emit indices(least)
        """
    )
    case = Case({"greatest": Fraction(1)}, {"vector": [Fraction(1), Fraction(2)]}, ())
    assert check_agreement(mechanism, compiled(mechanism), case)


def test_large_integers_are_selected_exactly() -> None:
    mechanism = spec(
        """
        mechanism counts
        input
          q : int queries, sensitivity 1
        privacy 1
        program
          for i, x in q:
            eta[i] ~ DLap(1/100, 1)
          best = argmax(q[j] + eta[j] for j in q)
          emit chosen(index = best, value = max(x for j, x in q))
        """
    )
    (record,) = compiled(mechanism)(testing_seed=1)([2**70, 2**70 + 1]).records  # type: ignore[operator]
    assert row_of(record) == {"index": 1, "value": 2**70 + 1}


# --- form ---------------------------------------------------------------------------------------------------


def test_the_corpus_compiles_to_formatted_files(tmp_path: Path) -> None:
    for path in SPECS:
        (tmp_path / f"{path.stem}.py").write_text(emit_python(as_if_verified(of_path(path))), "utf-8")
    for length in ("110", "88"):
        options = ["--isolated", "--line-length", length, "--diff", "."]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", "format", *options], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


def test_generated_code_is_typed(tmp_path: Path) -> None:
    """Under `mypy --strict`, results included: a user sees which fields a record has."""
    for stem in ("adaptive_svt", "smart_sum", "svt_discrete", "deviation", "noisy_topk_gap"):
        text = emit_python(as_if_verified(of_path(ROOT / "specs" / f"{stem}.dp")))
        (tmp_path / f"{stem}.py").write_text(text, "utf-8")
    (tmp_path / "use.py").write_text(
        dedent(
            """
            from fractions import Fraction

            from adaptive_svt import AdaptiveSvtWithGap, Top

            result = AdaptiveSvtWithGap(T="1/2", k=1, eps=0.5, testing_seed=1)([1.0, 2.0])
            gaps: list[Fraction | float] = [r.gap for r in result.records if isinstance(r, Top)]
            """
        )
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "."]
    environment = {"PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout


def test_only_the_runtime_is_imported() -> None:
    """And importing a mechanism is cheap: nothing heavy comes with it."""
    text = emit_python(as_if_verified(of_path(ROOT / "specs" / "adaptive_svt.dp")))
    imported = {line.split()[1] for line in text.split("\n") if line.startswith(("import ", "from "))}
    assert imported == {
        "dataclasses",
        "typing",
        "aligncheck.runtime",
        "aligncheck.runtime.rationals",
        "collections.abc",
    }
    code = f"import sys\n{text}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    heavy = {"numpy", "pandas", "scipy", "z3", "sympy", "flint", "lark", "rich", "aligncheck.language.syntax"}
    assert not heavy & set(done.stdout.split())


def test_the_same_spec_gives_the_same_text() -> None:
    path = ROOT / "specs" / "smart_sum.dp"
    command = (
        "import sys; from oracle import as_if_verified;"
        "from aligncheck.language.syntax.parse import parse, read_source;"
        "from aligncheck.compiler.emit.python import emit_python;"
        "sys.stdout.write(emit_python(as_if_verified(parse(read_source(sys.argv[1])))))"
    )
    texts = set()
    for seed in ("1", "2"):
        environment = {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}",
            "PYTHONIOENCODING": "utf-8",
        }
        arguments = [sys.executable, "-c", command, str(path)]
        done = subprocess.run(arguments, capture_output=True, check=True, env=environment)
        texts.add(done.stdout.decode())
    assert texts == {emit_python(as_if_verified(of_path(path)))}


def test_nothing_unproved_is_compiled() -> None:
    with pytest.raises(TypeError):
        emit_python(of_path(SPECS[0]))  # type: ignore[arg-type]


def test_the_docstring_says_what_was_proved() -> None:
    verified = as_if_verified(of_path(ROOT / "specs" / "adaptive_svt.dp"), route="injective")
    doc = " ".join((load(emit_python(verified)).__doc__ or "").split())
    for part in (
        "Sparse vector that spends less budget on queries far above the threshold.",
        "one run is `eps`-differentially private",
        "each answer of `q` differs by at most `1` (adjacency `all`)",
        "one-to-one",
        "It runs as it was proved: answers are rounded down to multiples of `gamma`",
        "T: a real number (in the unit of `q`), public.",
        "k: an integer, public, where `k >= 1`.",
        "eps: a real number (a privacy loss",
        "zeta[i] += 1 + q[i] - q'[i] when out[i] is mid",
        "VLDB paper, Algorithm 4",
    ):
        assert part in doc
    unsafe = load(emit_python(verified, RunMode.FLOAT))
    assert (unsafe.__name__, unsafe.mode) == ("UnsafeAdaptiveSvtWithGap", "float")
    assert "UNSAFE: the proof is about real-valued noise" in (unsafe.__doc__ or "")
    refined = load(emit_python(verified, RunMode.REFINED))
    assert (refined.__name__, refined.mode) == ("AdaptiveSvtWithGap", "refined")
    assert "as many digits as the decisions need" in " ".join((refined.__doc__ or "").split())


def test_texts_of_a_spec_cannot_break_out_of_the_file() -> None:
    mechanism = of_path(ROOT / "specs" / "laplace.dp")
    evil = nodes.Mechanism(
        name="def",
        doc='ends """ and \\" with \\ and "',
        remarks=('"""; import os; """', "\u2028 \x00 ε"),
        inputs=mechanism.inputs,
        claim=mechanism.claim,
        body=mechanism.body,
        align=mechanism.align,
    )
    cls = compiled(evil)
    assert 'ends """ and \\" with \\ and "' in (cls.__doc__ or "")
    assert '"""; import os; """' in (cls.__doc__ or "")


def test_names_that_python_takes_are_changed_and_still_known() -> None:
    mechanism = spec(
        """
        mechanism class
        input
          lambda : real where lambda > 0
          testing_seed : int
          gamma : real
          sum : queries, sensitivity 1
        privacy lambda
        program
          self = 0
          for noise, range in sum:
            print[noise] ~ Lap(1/lambda)
            self = self + range + print[noise]
          emit none(lambda = self, tag = testing_seed)
        """
    )
    cls: Any = compiled(mechanism)
    result = cls(lambda_="1/2", testing_seed_=3, gamma_=5, gamma=1, testing_seed=0)([1, 2])
    (record,) = result.records
    assert (cls.__name__, type(record).__name__, record.tag) == ("Class", "None_", "none")
    assert list(row_of(record)) == ["lambda", "tag"]
    assert record.tag_ == 3
    assert [p.name for p in cls.spec.parameters] == ["lambda", "testing_seed", "gamma"]


# --- arguments and results ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adaptive() -> Any:
    return compiled(of_path(ROOT / "specs" / "adaptive_svt.dp"))


def test_lists_arrays_and_series_give_the_same_run(adaptive: Any) -> None:
    series = pd.Series([30, 10, 50], index=["a", "b", "c"], name="count")
    runs = [
        adaptive(T=20, k=2, eps=1, testing_seed=5)(values)
        for values in ([30, 10, 50], (30.0, 10.0, 50.0), np.array([30, 10, 50]), series)
    ]
    assert len({run.records for run in runs}) == 1
    assert runs[0].spent == Fraction(1)
    assert list(series) == [30, 10, 50]
    assert runs[0].labels == (None,) * len(runs[0].records)
    assert runs[3].labels == ("a", "b", "c")[: len(runs[3].records)]


def test_a_seeded_run_is_marked(adaptive: Any) -> None:
    seeded, private = adaptive(T=20, k=2, eps=1, testing_seed=5)([1]), adaptive(T=20, k=2, eps=1)([1])
    assert "not private (seeded)" in seeded.notes
    assert (seeded.private, private.private) == (False, True)
    assert private.notes == ()
    assert (private.mode, private.gamma) == ("lattice", Fraction(1, 1024))


@pytest.mark.parametrize("arrays", [True, False])
def test_a_run_spends_what_its_records_cost(arrays: bool) -> None:
    text = (ROOT / "specs" / "hybrid_sparse_gap.dp").read_text("utf-8")
    if not arrays:
        text = text.replace("for i in range(len(q)):", "for i, x in q:").replace(
            "xi[i] ~ Exp(2/e1)", "pass; xi[i] ~ Exp(2/e1)"
        )
    cls: Any = compiled(spec(text))
    assert ("upto(" in emit_python(as_if_verified(spec(text)))) is arrays
    mechanism = cls(T=0, k=3, theta="1/4", eps=2)
    for answers, records in (([-90] * 4, 0), ([-90, 90, -90, 95], 2), ([91, 92, 93, 94], 3)):
        result = mechanism.with_noise(RecordedNoise([2] + [12] * 4))(answers)
        assert len(result.records) == records
        assert (result.spent, result.bound) == (Fraction(2, 4) + Fraction(records, 2), 2)
        assert result.left == 2 - result.spent
        if records == 3:
            assert [record.index for record in result.records] == [3, 2, 1]


def test_where_the_claim_is_public_nothing_is_left(adaptive: Any) -> None:
    result = adaptive(T=20, k=2, eps=1, testing_seed=5)([1, 2])
    assert (result.spent, result.bound, result.left) == (1, 1, 0)


def test_records_are_counted_by_their_tag() -> None:
    text = """
        mechanism m
        input
          q : queries, sensitivity 1
          eps : real where eps > 0
        privacy eps*out.count(high)/len(q) at most eps
        program
          for i, x in q:
            eta[i] ~ Lap(2/eps)
            if x + eta[i] > 0: emit high
            else: emit low
    """
    cls: Any = compiled(spec(text))
    result = cls(eps="1/2").with_noise(RecordedNoise([0, 0, 0]))([1, -1, 2])
    assert (result.spent, result.bound) == (Fraction(1, 3), Fraction(1, 2))
    document = " ".join((cls.__doc__ + cls.__call__.__doc__).split())
    assert "one run is `eps`-differentially private" in document
    assert "an output `out` spends `eps*out.count(high)/len(q)`" in document
    assert "spends `eps*out.count(high)/len(q)`, at most `eps`" in document
    assert cls.spec.bound == "eps"


def test_the_result_as_a_frame(adaptive: Any) -> None:
    series = pd.Series([1e6, -1e6, 1e6], index=["a", "b", "c"])
    frame = adaptive(T=0, k=5, eps=1, testing_seed=1)(series).to_frame()
    assert list(frame.columns) == ["tag", "gap", "used"]
    assert list(frame.index) == ["a", "b", "c"]
    assert list(frame["tag"]) == ["top", "below", "top"]
    assert frame["gap"].isna().tolist() == [False, True, False]
    assert frame["used"].dtype == float


def test_what_no_float_holds_is_infinite_in_a_frame() -> None:
    text = (ROOT / "specs" / "partial_sum.dp").read_text("utf-8")
    for sign in (1, -1):
        cls: Any = compiled(spec(text))
        frame = cls(eps=1)([sign * 1e308, sign * 1e308]).to_frame()
        assert list(frame["value"]) == [sign * float("inf")]


def test_frames_keep_every_label_and_whole_numbers_whole() -> None:
    text = """
        mechanism mixed
        input
          q : queries, sensitivity 1, adjacency all
          eps : real where eps > 0
        privacy eps
        program
          eta ~ Lap(1/eps)
          for i, x in q:
            if x + eta > 0: emit high(index = i)
          emit done(gap = eta)
    """
    series = pd.Series([-1e6, 1e6, -1e6, 1e6], index=[10, 11, 12, 13])
    cls: Any = compiled(spec(text))
    frame = cls(eps=1, testing_seed=1)(series).to_frame()
    assert list(frame.index) == [11, 13, None]
    assert [type(label) for label in frame.index[:2]] == [int, int]
    assert (str(frame["index"].dtype), list(frame["index"][:2])) == ("Int64", [1, 3])
    assert frame["index"].isna().tolist() == [False, False, True]
    assert frame["gap"].dtype == float


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 0}, r"`k` must satisfy `k >= 1`, but is 0"),
        ({"k": 2.0}, r"`k` must be an integer, not a float"),
        ({"k": True}, r"`k` must be an integer, not a truth value"),
        ({"eps": 0}, r"`eps` must satisfy `eps > 0`"),
        ({"eps": float("nan")}, r"`eps` must be finite"),
        ({"eps": "one"}, r"`eps` must be a number such as"),
        ({"T": None}, r"`T` must be a number, not None"),
    ],
)
def test_parameters_outside_of_their_declaration(
    adaptive: Any, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        adaptive(**{"T": 1, "k": 1, "eps": 1, **changed})
    assert caught.value.argument == next(iter(changed))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([1, "2"], r"`q\[1\]` must be a number, not a str"),
        ([[1], [2]], r"`q\[0\]` must be a number, not a list"),
        (np.ones((2, 2)), r"`q` must be one-dimensional, but has 2 dimensions"),
        (np.array(["a"]), r"`q` has the dtype <U1, but must hold integers or floats of at most 64 bits"),
        (np.array([True]), r"`q` has the dtype bool, but must hold integers or floats of at most 64 bits"),
        (pd.Series([1, "a"], dtype=object), r"`q\[1\]` must be a number, not a str"),
        (pd.Series([1], dtype="category"), r"`q` has the dtype category"),
        (np.ma.masked_array([1, 2], [False, True]), r"`q` is a masked array"),
        (np.array(1.0), r"`q` must be one-dimensional, but has 0 dimensions"),
        ((x for x in (1, 2)), r"`q` must be a list of numbers, not a generator"),
        ([1, Decimal(1)], r"`q\[1\]` must be an integer, a fraction or a float, not a Decimal"),
        ([1 + 0j], r"`q\[0\]` must be a number, not a complex"),
        (pd.DataFrame({"a": [1]}), r"`q` must be one column"),
        ({1, 2}, r"`q` must be a list of numbers, not a set"),
        ("12", r"`q` must be a list of numbers, not a str"),
        (7, r"`q` must be a list of numbers, not a int"),
    ],
)
def test_answers_that_cannot_be_used(adaptive: Any, answers: Any, message: str) -> None:
    mechanism = adaptive(T=1, k=1, eps=1)
    for refusing in (mechanism, mechanism.check):
        with pytest.raises(AnswersError, match=message) as caught:
            refusing(answers)
        assert caught.value.argument.startswith("q")
    assert mechanism.spent == 0
    mechanism([1])


def test_declared_domains_are_checked() -> None:
    local: Any = compiled(of_path(ROOT / "specs" / "local_report.dp"))
    with pytest.raises(AnswersError, match=r"`x` must satisfy `-R <= x <= R`"):
        local(R=1, low=0, high=1, eps=1).check(2)
    discrete: Any = compiled(of_path(ROOT / "specs" / "svt_discrete.dp"))
    lattice = discrete(m=1, g="0.1", t=1, k=1, eps=1)
    lattice.check([0.3, 1.2])
    with pytest.raises(AnswersError, match="multiple of g"):
        lattice.check([0.25])
    weighted: Any = compiled(of_path(ROOT / "specs" / "weighted_histogram.dp"))
    with pytest.raises(ParameterError, match=r"`b` must satisfy `b\[i\] > 0`"):
        weighted(b=[1, 0], eps=1)
    with pytest.raises(ParameterError, match=r"`b\[1\]` must be a number"):
        weighted(b=[1, None], eps=1)
    two = weighted(b=[1, 2], eps=1)
    for refusing in (two, two.check):
        with pytest.raises(AnswersError, match=r"`q` must satisfy `len\(q\) <= len\(b\)`"):
            refusing([1, 2, 3])


def test_what_is_said_of_answers_without_them_is_required_too() -> None:
    made: Any = compiled(
        spec(
            """
            mechanism m
            input
              D : real
              q : queries, sensitivity 1 where D > 1 and len(q) >= 2 and q[i] < 9
              eps : real where eps > 0
            privacy eps
            program
              emit value(D)
            """
        )
    )
    with pytest.raises(ParameterError, match="`D` must satisfy `D > 1`"):
        made(D=1, eps=1)
    mechanism = made(D=2, eps=1)
    for asked in (mechanism, mechanism.check):
        with pytest.raises(ParameterError, match=r"where `len\(q\) >= 2`, which does not hold"):
            asked([1])
    with pytest.raises(AnswersError, match=r"q\[i\] < 9"):
        mechanism.check([1, 10])
    mechanism([1, 10])


# --- labels -------------------------------------------------------------------------------------------------


def labels_with(body: str) -> tuple[object, ...]:
    """The labels of a run on two answers, 1 and -1, without noise that matters."""
    head = "mechanism m\ninput\n  q : queries, sensitivity 1\nprivacy 1\nprogram\n"
    mechanism = parse(
        Source("test.dp", head + "".join(f"  {line}\n" for line in dedent(body).strip().split("\n")))
    )
    cls: Any = compiled(mechanism)
    result = cls(testing_seed=1)(pd.Series([1, -1], index=["plus", "minus"]))
    labels: tuple[object, ...] = result.labels
    return labels


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for x in q:\n  emit a(x)", ("plus", "minus")),
        (
            "emit start\nfor x in q:\n  emit a\n  emit b\nemit end",
            (None, "plus", "plus", "minus", "minus", None),
        ),
        ("for x in q:\n  if x > 0: emit a\n  else: emit b", ("plus", "minus")),
        ("for i in range(len(q)):\n  emit a(q[i])", ("plus", "minus")),
        ("for x in q:\n  if x < 0: break\n  emit a", ("plus",)),
        ("for x in q:\n  emit a\nfor y in q:\n  emit a", ("plus", "minus") * 2),
        # The record holds the index: it may be named even where not every round emits.
        ("for i, x in q:\n  if x < 0: emit a(i)", ("minus",)),
        # Here nothing in the output tells which answer it was.
        ("for x in q:\n  if x < 0: emit a", (None,)),
        ("for i, x in q:\n  if x < 0: emit a(i + 1)", (None,)),
        ("for x in q:\n  emit a\n  if x < 0:\n    emit b\n    break", (None, None, None)),
        ("for x in q:\n  if x < 0: break\n  emit a\nfor y in q:\n  emit b", ("plus", None, None)),
        ("for k in range(2):\n  for x in q:\n    emit a", (None,) * 4),
        # An index that was selected is in the record, or is not.
        ("j = argmin(q[i] for i in q)\nemit a(x = 1, at = j)", ("minus",)),
        ("emit a(argmax(q[i] for i in range(1, len(q))))", ("minus",)),
        ("w = top(2, -q[i] for i in q)\nfor r in range(2):\n  j = w[r]\n  emit a(j)", ("minus", "plus")),
        ("w = top(2, -q[i] for i in q)\nemit a(x = w[1], y = w[0])", ("plus",)),
        ("j = 0\nfor i, x in q:\n  if x < 0: j = i\nemit a(j)", ("minus",)),
        ("j = argmin(q[i] for i in q)\nemit a(q[j])", (None,)),
        ("j = argmin(q[i] for i in range(-1, len(q)) where i >= 0)\nemit a(j)", ("minus",)),
        # An index may be one off, as where a threshold competes as number 0; that has no name.
        ("j = argmin((0 if i == 0 else q[i - 1]) for i in range(len(q) + 1))\nemit a(j)", ("minus",)),
        ("j = argmax((5 if i == 0 else q[i - 1]) for i in range(len(q) + 1))\nemit a(j)", (None,)),
        ("j = argmax(q[i] - q[i - 1] for i in range(1, len(q)))\nemit a(j)", (None,)),
        ("j = argmax(q[1 - i] for i in range(len(q)))\nemit a(j)", (None,)),
        ("j = argmin(i for i in range(5))\nemit a(j)", (None,)),
        ("j = argmin(q[i] for i in q)\nj = j - 1\nemit a(j)", (None,)),
        ("j = 0\nemit a(j)", (None,)),
        ("w = top(1, i for i in range(9))\nemit a(w[0])", (None,)),
        (
            "n = 0\nfor x in q:\n  if x > 0: n = n + 1\nfor k in range(n): emit a\nfor x in q: emit a",
            (None,) * 3,
        ),
    ],
)
def test_labels_are_shown_only_where_the_output_tells_them(body: str, expected: tuple[object, ...]) -> None:
    assert labels_with(body) == expected
