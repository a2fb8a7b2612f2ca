"""Documents about specs: they say what was found, nothing in a spec is markup in them, and TeX takes them."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from aligncheck.commands import CommandError
from aligncheck.commands.publish import compare, publish
from aligncheck.commands.refuting import refuted_after
from aligncheck.language.diagnostics import SpecError
from aligncheck.language.source import Source
from aligncheck.language.syntax.layout import spelled_plainly
from aligncheck.language.syntax.parse import parse
from aligncheck.pipeline import Options, verify_source
from aligncheck.publish.compose import comparison_sheet, differing_lines, spec_sheet
from aligncheck.publish.html import html_page
from aligncheck.publish.latex import latex_text
from aligncheck.publish.markdown import markdown_text
from aligncheck.publish.mathematics import algorithm, code, plain
from aligncheck.publish.sheet import BarChart, Grid, Masthead, ProofStep, Sheet
from aligncheck.refutation.findings import Refutation, Unfinished
from aligncheck.refutation.refuter import Aim, refute
from aligncheck.verdict import Error, FileResult, Verified, name_of

PROJECT = Path(__file__).parents[2]
HOSTILE = r"<script>alert(1)</script> & \end{document} $x$ %_^{~} | *a* `b` ’ 漢"
SPEC = f'''# {HOSTILE}
mechanism noisy
  "{HOSTILE}"

input
  q : queries, sensitivity 1
  eps : real where eps > 0

privacy eps

program
  for i, x in q:
    eta[i] ~ Lap(1/eps)
    emit released(x + eta[i])

align
  eta[i] += q[i] - q'[i]

expect verified
'''
RIGHT = SPEC.replace("queries, sensitivity 1", "queries, sensitivity 1, adjacency one")


@cache
def judged(text: str) -> FileResult:
    source = Source(f"{HOSTILE}.dp", text)
    try:
        verdict = verify_source(source, Options())
    except SpecError as error:
        verdict = Error(error.diagnostic)
    return FileResult(source.path, verdict, 0.1, text)


@cache
def sheets() -> dict[str, Sheet]:
    """A proof; a failure, and a violation beside it; what is no spec."""
    right, wrong = judged(RIGHT), judged(SPEC)
    assert (name_of(right.verdict), name_of(wrong.verdict)) == ("VERIFIED", "ALIGNMENT FAILS")
    mechanism = wrong.verdict.mechanism  # type: ignore[union-attr]
    assert mechanism is not None
    found = refute(mechanism, Aim(seconds=None, steps=1000, any_will_do=True, explain=False))
    refutation = Refutation(wrong.path, mechanism, found, 0.1, SPEC)
    return {
        "right": spec_sheet(right),
        "wrong": spec_sheet(wrong, refutation),
        "none": spec_sheet(judged(RIGHT.replace("emit", "emits"))),
        "both": comparison_sheet((right, None), (wrong, refutation)),
    }


KINDS = ("right", "wrong", "none", "both")


class Reader(HTMLParser):
    """Collects tags with their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.said = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_stands_by_itself_and_nothing_of_a_spec_is_markup(kind: str) -> None:
    page = html_page(sheets()[kind])
    reader = Reader(page)
    assert not reader.open
    scripts = [attrs for tag, attrs in reader.tags if tag == "script"]
    assert scripts in ([], [{"type": "application/json", "id": "play-data"}, {}]), "of the sliders"
    targets = {value for _, attrs in reader.tags for key, value in attrs.items() if key in ("href", "src")}
    assert all(target and target.startswith("#") for target in targets)
    assert not re.search(r"url\(|@import|https?:", page)
    assert "<script>alert(1)</script>" in reader.said, "as text"
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert targets <= {f"#{name}" for name in ids}


@pytest.mark.parametrize("kind", KINDS)
def test_tex_takes_it(kind: str, tmp_path: Path) -> None:
    text = latex_text(sheets()[kind])
    assert text.count("\\end{document}") == 1
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        pytest.skip("no TeX")
    if subprocess.run(["kpsewhich", "algpseudocode.sty"], capture_output=True, check=False).returncode:
        pytest.skip("TeX has no algorithmicx")
    (tmp_path / "it.tex").write_text(text, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "it.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("kind", KINDS)
def test_markdown_escapes_what_is_no_code(kind: str) -> None:
    lines = markdown_text(sheets()[kind]).split("\n")
    tables = [line for line in lines if line.startswith("|")]
    for line in tables:
        assert line.count("|") - line.count("\\|") >= 3
    fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        assert fenced or "<script" not in re.sub(r"`[^`]*`|\\<", "", line)


def test_all_that_the_kernel_decided_is_in_the_proof() -> None:
    verdict = judged(RIGHT).verdict
    assert isinstance(verdict, Verified)
    steps = [block for block in sheets()["right"].blocks if isinstance(block, ProofStep)]
    assert sorted(said for step in steps for _, said, _ in step.decisions) == sorted(
        one.sentence for one in verdict.accepted.decisions
    )
    said = Reader(html_page(sheets()["right"])).said
    assert all(one.sentence.replace("`", "") in said for one in verdict.accepted.decisions)
    assert "One run of noisy is eps-differentially private for every q of any length, eps > 0." in said


def test_the_step_at_which_the_cost_is_too_much_is_marked() -> None:
    (runs,) = (b for b in sheets()["wrong"].blocks if isinstance(b, Grid) and b.title.startswith("The two"))
    (number,) = runs.marked
    assert " > " in runs.rows[number][-1]
    (chart,) = (block for block in sheets()["wrong"].blocks if isinstance(block, BarChart))
    on_d, allowed, on_d_prime = chart.bars
    assert on_d.low > allowed.high >= on_d_prime.high, "the claim allows less than there is"
    assert isinstance(head := sheets()["wrong"].blocks[0], Masthead)
    assert head.verdict == "ALIGNMENT FAILS, REFUTED"


def test_only_lines_that_mean_something_else_differ() -> None:
    greek = RIGHT.replace("eps", "ε").replace("eta", "η").replace("'[", "′[").replace("# <", "# other <")
    assert list(differing_lines(RIGHT, greek)) == []
    assert list(differing_lines(RIGHT, SPEC)) == [
        "-   6    q : queries, sensitivity 1, adjacency one",
        "+   6    q : queries, sensitivity 1",
    ]
    assert spelled_plainly("  η₁≥  Δ′ # why") == "eta1 >= Delta '"


def test_expressions_are_set_as_mathematics() -> None:
    assert code("eps/(2*k)") == "$\\frac{\\varepsilon}{2 k}$"
    assert code("xi[i] + (1 + q[i] - q'[i])") == "$\\xi_{i} + \\left(1 + q_{i} - q'_{i}\\right)$"
    assert code("i not in winners and out[i] is top") == (
        "$i \\notin \\mathit{winners} \\land \\mathit{out}_{i} \\text{ is } \\textsf{top}$"
    )
    assert code("no expression_") == "\\texttt{no expression\\_}"
    assert code("a at most b") == "\\texttt{a at most b}"
    assert plain("50% of Δ_x") == "50\\% of $\\Delta$\\_x"


def test_every_spec_of_the_corpus_is_an_algorithm() -> None:
    for path in sorted((PROJECT / "specs").glob("*.dp")):
        source = Source(path.name, path.read_text("utf-8"))
        lines = list(algorithm(source, parse(source), {}))
        numbers = [int(line[10:-1]) for line in lines if line.startswith("\\specline")]
        assert numbers == sorted(numbers), path.name
        opened = sum(line.startswith(("\\For", "\\While", "\\If")) for line in lines)
        assert opened == sum(line.startswith("\\End") for line in lines), path.name
        for line in lines:
            assert line.count("{") == line.count("}"), line
            assert line.count("$") % 2 == 0, line


def test_commands_write_what_they_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "noisy.dp"
    spec.write_text(RIGHT, "utf-8")
    page, text = tmp_path / "it.html", tmp_path / "it.md"
    assert publish(str(spec), html=str(page), markdown=str(text), timeout=60) == 0
    assert "VERIFIED" in page.read_text("utf-8")
    assert "VERIFIED" in text.read_text("utf-8")
    assert compare(str(spec), str(spec), timeout=60) == 0
    assert capsys.readouterr().out.count("VERIFIED") == 2
    with pytest.raises(CommandError, match="that is a spec"):
        publish(str(spec), html=str(spec), timeout=60)
    (tmp_path / "link.html").symlink_to(spec)
    other = tmp_path / "other.dp"
    other.write_text(RIGHT, "utf-8")
    (tmp_path / "link.tex").symlink_to(other)
    for link in ("link.html", "link.tex"):
        with pytest.raises(CommandError, match="that is a spec"):
            publish(str(spec), latex=str(tmp_path / link), timeout=60)
    with pytest.raises(CommandError, match="another document is written"):
        publish(str(spec), html=str(page), latex=str(tmp_path / "." / "it.html"), timeout=60)
    assert other.read_text("utf-8") == RIGHT
    spec.write_text("mechanism", "utf-8")
    assert publish(str(spec), html=str(page), timeout=60) == 2
    assert "VERIFIED" in page.read_text("utf-8"), "left as it was"


def test_what_is_found_of_another_text_is_not_said_of_this_one(tmp_path: Path) -> None:
    """Between a proof and a search the file may be changed; the document shows the text of the proof."""
    spec = tmp_path / "noisy.dp"
    open_, wrong = (RIGHT.replace("privacy eps", f"privacy {claim}") for claim in ("eps/4", "eps/8"))
    spec.write_text(wrong, "utf-8")
    verdict = verify_source(Source(str(spec), open_), Options(10, explain=False))
    found = refuted_after(FileResult(str(spec), verdict, 0, open_))
    assert found is not None
    assert isinstance(found.outcome, Unfinished)
    assert "changed" in found.outcome.message
