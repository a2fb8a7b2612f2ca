"""Alignments are found anew where they are taken away, and only what is verified is ever said to be one."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from alignments import FOLDERS, paths_in, source_of

from aligncheck.cli import main
from aligncheck.commands.improve import STEPS, none_among
from aligncheck.effort import Effort
from aligncheck.judge import Judge
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source
from aligncheck.language.unparse import unparse_alignment
from aligncheck.pipeline import Options, verify_source
from aligncheck.synthesis.find import FULL, SHORT, FoundAlignment, NoAlignment, SearchEffort, find_alignment
from aligncheck.synthesis.put_in import with_alignment
from aligncheck.synthesis.reading import ProgramReading
from aligncheck.synthesis.runs import pairs as stored_pairs
from aligncheck.synthesis.templates import candidates, exchanges
from aligncheck.verdict import Unknown, Verified

SPECS = Path(__file__).parents[2] / "specs"
TESTS = Path(__file__).parents[1] / "specs"
SAMPLE = (
    SPECS / "noisy_max_exp.dp",
    SPECS / "table_histogram.dp",
    TESTS / "literature/privsprt.dp",
    TESTS / "literature/r2t.dp",
    TESTS / "peers/dpfinder/sum.dp",
    TESTS / "peers/freegap/gap_sparse_vector.dp",
)
BEYOND = {"alg2"}
"""A guard by a counter that is one behind."""


def found(path: Path, effort: SearchEffort = FULL) -> FoundAlignment | NoAlignment:
    return find_alignment(read_source(str(path)), Effort(steps=STEPS), effort)


def same_but_for_the_alignment(text: Source, path: Path) -> bool:
    own = parse(read_source(str(path)))
    return replace(parse(text), align=own.align) == own


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_an_alignment_is_found_for_the_spec_without_its_own(path: Path) -> None:
    one = found(path)
    assert isinstance(one, FoundAlignment)
    assert isinstance(verify_source(one.source, Options(explain=False)), Verified)
    assert same_but_for_the_alignment(one.source, path)


def test_an_alignment_is_found_for_every_verified_spec(exhaustive: bool) -> None:
    """Those in another form, too: without invariants and titles, with other names and in another order."""
    if not exhaustive:
        pytest.skip("long")
    missed = set()
    for folder in FOLDERS:
        for path in paths_in(folder):
            for variant in ("plain", "other"):
                source = source_of(path, variant)
                one = find_alignment(source, Effort(steps=STEPS))
                if not isinstance(one, FoundAlignment) and holds(source):
                    missed.add(path.stem)
                assert not isinstance(one, FoundAlignment) or holds(one.source)
    assert missed <= BEYOND


def holds(source: Source) -> bool:
    return isinstance(verify_source(source, Options(timeout=240, explain=False)), Verified)


def test_the_outcome_is_the_same_twice_and_without_stored_runs() -> None:
    """Runs only save proofs, as long as there are enough of these."""
    path = SPECS / "noisy_max.dp"
    first, again, unaided = found(path), found(path), found(path, SearchEffort(pairs=0, proofs=1_000))
    assert isinstance(first, FoundAlignment)
    assert isinstance(again, FoundAlignment)
    assert isinstance(unaided, FoundAlignment)
    assert first.items == again.items == unaided.items
    assert (first.tally.alignments, first.tally.proofs) == (again.tally.alignments, again.tally.proofs)
    assert unaided.tally.proofs > first.tally.proofs


def test_an_alignment_is_found_for_a_claim_in_rho() -> None:
    """Of which one run says nothing but what it releases: what the moves cost is for the proof."""
    one = found(Path(__file__).parents[2] / "specs/delta/gauss_and_laplace.dp")
    assert isinstance(one, FoundAlignment)
    assert " ".join(unparse_alignment(one.items).split()) == "eta += x - x' xi += x - x'"


def test_what_is_not_private_gets_no_alignment() -> None:
    one = found(SPECS / "broken/partial_sum_wrong_scale.dp", SHORT)
    assert isinstance(one, NoAlignment)
    assert one.tally.alignments > 5


def test_a_judge_that_accepts_nothing_leaves_nothing_to_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judge, "verdict", lambda *_: Unknown(None, None, "sabotaged", None))
    assert isinstance(found(SPECS / "laplace.dp"), NoAlignment)


def test_the_published_alignment_of_one_sided_top_k_is_replaced_by_a_right_one() -> None:
    """The template reads nothing of the `align` section, and finds the exchange with the loser under D."""
    mechanism = parse(read_source(str(SPECS / "broken/noisy_topk_gap_exp_published.dp")))
    texts = [unparse_alignment(items) for items in exchanges(ProgramReading(mechanism))]
    assert any("argmax(q[l] + eta[l] for l in q where l not in winners)" in text for text in texts)


def test_candidates_do_not_depend_on_names() -> None:
    text = read_source(str(SPECS / "svt.dp")).text
    renamed = Source("svt.dp", text.replace("eta1", "rho").replace("eta2", "nu"))
    made = []
    for source in (Source("svt.dp", text), renamed):
        reading = ProgramReading(parse(source))
        made.append([len(candidates(reading, site)) for site in reading.sites.values()])
    assert made[0] == made[1]


def test_a_coin_is_turned_over_where_an_answer_moves() -> None:
    reading = ProgramReading(parse(read_source(str(SPECS / "randomized_response.dp"))))
    texts = [unparse_alignment(each.items) for each in candidates(reading, reading.sites["lie"])]
    assert [" ".join(text.split()) for text in texts] == ["", "lie = 1 - lie when x != x'"]


def test_what_a_loop_keeps_ahead_stays_as_far_ahead_of_the_best_of_the_others() -> None:
    spec = parse(read_source(str(TESTS / "written/best_and_gap_to_the_second.dp")))
    reading = ProgramReading(replace(spec, align=()))
    first, *_ = candidates(reading, reading.sites["eta"])
    assert first.rank == 0
    assert first.items == spec.align


def test_stored_runs_are_runs_of_neighbours() -> None:
    pairs = list(islice(stored_pairs(parse(read_source(str(SPECS / "noisy_max.dp")))), 20))
    assert len(pairs) == 20
    assert any(pair.scenario.data != pair.scenario.data_prime for pair in pairs)


TEXT = """# who made it
mechanism m

input
  q : query, sensitivity 1   # one answer
  eps : real where eps > 0

privacy eps

program
  eta ~ Lap(1/eps)  # noise
  emit a(value = q + eta)
{align}
# what it should come to
expect verified
"""


@pytest.mark.parametrize("align", ["", "\nalign\n  eta += 0  # wrong\n", "\nalign\n"])
def test_the_section_is_put_where_it_belongs_and_comments_stay(align: str) -> None:
    source = Source("m.dp", TEXT.format(align=align))
    one = find_alignment(source, Effort(steps=STEPS))
    assert isinstance(one, FoundAlignment)
    for line in ("# who made it", "# one answer", "# noise", "# what it should come to"):
        assert line in one.source.text
    assert "\nalign\n  eta += q - q'\n\n# what" in one.source.text
    assert with_alignment(one.source, one.items) == one.source


def test_the_command_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.dp"
    path.write_text(TEXT.format(align=""))
    assert main(["verify", str(path)]) == 1
    assert "another alignment is verified" in capsys.readouterr().out
    assert main(["align", str(path), "--write"]) == 0
    assert "align\n  eta += q - q'\n" in capsys.readouterr().out
    assert main(["verify", str(path)]) == 0


def test_none_is_no_verdict_on_the_mechanism(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.dp"
    path.write_text(TEXT.format(align="").replace("Lap(1/eps)", "Lap(1/(2*eps))"))
    assert main(["align", str(path)]) == 3
    said = capsys.readouterr().err
    assert none_among(15, "")[-35:] in said


def test_what_is_no_spec_gets_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.dp"
    path.write_text("mechanism m\n")
    assert main(["align", str(path)]) == 2
    assert "there is no `privacy`" in capsys.readouterr().err
    with pytest.raises(SpecError):
        find_alignment(read_source(str(path)), Effort(steps=STEPS))
