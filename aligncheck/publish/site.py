"""The site: pages that teach from specs, correct beside broken, and the documentation.

    python -m aligncheck.publish.site docs/site.toml OUT

What its chapters are stands in the file that is named; Markdown pages, specs and figures are found beside it.
Its pages load nothing from elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from aligncheck.language.source import Source
from aligncheck.meaning.scenario import Scenario
from aligncheck.publish.compose import comparison_sheet, masthead, spec_sheet
from aligncheck.publish.html import html_of, page, prose, text
from aligncheck.publish.playground import program_document, scenario_document, script
from aligncheck.publish.sheet import Listing, Sheet
from aligncheck.refutation.findings import Refutation
from aligncheck.verdict import AlignmentFails, Error, FileResult

Judged: TypeAlias = tuple[FileResult, Refutation | None]
Judge: TypeAlias = Callable[[Path], Judged]

_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A page with a mechanism and what goes wrong beside it.

    `right` and `wrong` are specs by their paths in the folder of specs, without `.dp`; `start` gives inputs
    and noise of a first run (`D`, `D_prime`, `noise`, and parameters, which are 1 where it says nothing).
    """

    name: str
    title: str
    summary: str
    text: str
    right: str
    wrong: tuple[str, ...]
    start: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Figures that one command draws, into files."""

    title: str
    text: str
    command: str
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class SitePlan:
    """What the site consists of. Paths are those of the files."""

    title: str
    intro: str
    specs: Path
    chapters: tuple[Chapter, ...]
    documents: Mapping[str, Path]
    figures: tuple[FigureGroup, ...]


def read_plan(path: Path) -> SitePlan:
    """The plan in a file. Raises KeyError or tomllib.TOMLDecodeError where it is none."""
    found = tomllib.loads(path.read_text("utf-8"))
    folder = path.parent
    chapters = tuple(
        Chapter(**{**one, "wrong": tuple(one["wrong"]), "start": one.get("start", {})})
        for one in found["chapter"]
    )
    documents = {name: folder / place for name, place in found["documents"].items()}
    figures = tuple(
        FigureGroup(**{**one, "files": tuple(folder / name for name in one["files"])})
        for one in found.get("figure", [])
    )
    return SitePlan(found["title"], found["intro"], folder / found["specs"], chapters, documents, figures)


def build(plan: SitePlan, out: Path, judge: Judge) -> list[str]:
    """Writes all pages, and returns their names."""
    pages = dict(_Site(plan, judge).pages())
    out.mkdir(parents=True, exist_ok=True)
    for name, content in pages.items():
        (out / name).write_text(content, "utf-8", newline="\n")
    for figure in (file for group in plan.figures for file in group.files):
        (out / figure.name).write_bytes(figure.read_bytes())
    return list(pages)


def judged(path: Path) -> Judged:
    """The verdict of a spec and, where it is not VERIFIED, what a search for a violation finds."""
    from aligncheck.pipeline import Options, verify_file
    from aligncheck.refutation.refuter import Aim, refute

    result = verify_file(str(path), Options())
    verdict = result.verdict
    if not isinstance(verdict, AlignmentFails):
        return result, None
    example = verdict.counterexample or verdict.densities
    hints = () if example is None else (example.scenario,)
    found = refute(verdict.mechanism, Aim((), hints, None, steps=_STEPS))
    return result, Refutation(result.path, verdict.mechanism, found, 0.0, result.text)


_STEPS = 5_000
"""Steps of the search for a violation of one spec."""


class _Site:
    def __init__(self, plan: SitePlan, judge: Judge) -> None:
        self._plan = plan
        self._judge = judge
        self._style = f"<style>{Path(__file__).with_name('site.css').read_text('utf-8')}</style>"
        self._found: dict[str, Judged] = {}

    def pages(self) -> Iterator[tuple[str, str]]:
        plan = self._plan
        yield "index.html", self._page("index.html", plan.title, self._index())
        for chapter in plan.chapters:
            name = f"{chapter.name}.html"
            yield name, self._page(name, chapter.title, self._chapter(chapter), wide=True)
            yield from self._evidence(chapter)
        for name, path in plan.documents.items():
            yield f"{name}.html", self._page(f"{name}.html", name, [self._markdown(path)])
        if plan.figures:
            yield "figures.html", self._page("figures.html", "Figures", self._figures())

    # --- pages ----------------------------------------------------------------------------------------------

    def _page(self, name: str, title: str, body: Iterable[str], *, wide: bool = False) -> str:
        places = [("index.html", self._plan.title)]
        places += [(f"{chapter.name}.html", chapter.title) for chapter in self._plan.chapters]
        places += [("figures.html", "Figures")] if self._plan.figures else []
        here = (
            f'<a href="{at}"{" aria-current=page" if at == name else ""}>{text(t)}</a>' for at, t in places
        )
        around = f'<nav class="site" aria-label="Site">{"".join(here)}</nav>'
        return page(f"{title} · {self._plan.title}", body, wide=wide, head=self._style, around=around)

    def _index(self) -> Iterator[str]:
        yield f"<h1>{text(self._plan.title)}</h1>{_rendered(self._plan.intro)}"
        yield "<h2>Correct beside broken</h2>"
        cards = (
            f'<li><a href="{c.name}.html">{text(c.title)}</a><p>{prose(c.summary)}</p></li>'
            for c in self._plan.chapters
        )
        yield f'<ul class="cards">{"".join(cards)}</ul>'
        yield "<h2>Documentation</h2>"
        links = (
            f'<li><a href="{n}.html">{text(self._heading(p))}</a></li>'
            for n, p in self._plan.documents.items()
        )
        yield f"<ul>{''.join(links)}</ul>"

    def _heading(self, path: Path) -> str:
        """The first heading of a Markdown file."""
        return path.read_text("utf-8").partition("\n")[0].lstrip("# ")

    def _chapter(self, chapter: Chapter) -> Iterator[str]:
        yield f"<h1>{text(chapter.title)}</h1>{_rendered(chapter.text)}"
        specs = [chapter.right, *chapter.wrong]
        yield _PLAY.format(data=_script_text(json.dumps([self._played(chapter, one) for one in specs])))
        for spec in specs:
            result, _ = self._of(spec)
            listing = Listing(Source(_name(spec), result.text), _mechanism(result))
            shown = "".join(html_of([listing], anchors=False))
            yield f'<div id="listing-{_stem(spec)}"><h2>{text(_stem(spec))}</h2>{shown}</div>'
        yield "<h2>What is proved, and what is not</h2>"
        yield from self._verdicts(chapter)
        yield f"<script>{_script_text(script())}\n{_script_text(_page_script())}</script>"

    def _verdicts(self, chapter: Chapter) -> Iterator[str]:
        cards = []
        for spec in (chapter.right, *chapter.wrong):
            head = masthead(*self._of(spec))
            links = [f'<a href="{_stem(spec)}.html">{text(head.title)} in full</a>']
            if spec != chapter.right:
                beside = f"{_stem(chapter.right)}-{_stem(spec)}.html"
                links.append(f'<a href="{beside}">beside the correct one</a>')
            cards.append(
                f'<li><h3>{text(head.title)}</h3><p class="verdict {head.tone}">{text(head.verdict)}</p>'
                f"<p>{prose(self._remark(spec))}</p><p>{', '.join(links)}</p></li>"
            )
        yield f'<ul class="cards">{"".join(cards)}</ul>'

    def _remark(self, spec: str) -> str:
        """What the first lines of a spec say of it, up to where its source is named."""
        said: list[str] = []
        for line in self._of(spec)[0].text.split("\n"):
            if not line.startswith("#") or line.startswith(("# Source", "# Whose")):
                break
            said.append(line.lstrip("# "))
        return " ".join(said)

    def _evidence(self, chapter: Chapter) -> Iterator[tuple[str, str]]:
        right = self._of(chapter.right)
        for spec in (chapter.right, *chapter.wrong):
            yield self._sheet(f"{_stem(spec)}.html", spec_sheet(*self._of(spec)))
        for spec in chapter.wrong:
            name = f"{_stem(chapter.right)}-{_stem(spec)}.html"
            yield self._sheet(name, comparison_sheet(right, self._of(spec)), wide=True)

    def _sheet(self, name: str, sheet: Sheet, *, wide: bool = False) -> tuple[str, str]:
        return name, self._page(name, sheet.title, html_of(sheet.blocks), wide=wide)

    def _figures(self) -> Iterator[str]:
        yield "<h1>Figures</h1>"
        for group in self._plan.figures:
            yield f"<h2>{text(group.title)}</h2>{_rendered(group.text)}"
            yield f"<p>Drawn anew by <code>{text(group.command)}</code>.</p>"
            for file in group.files:
                alt = f"{group.title}: {file.stem}"
                yield f'<figure><img src="{text(file.name)}" alt="{text(alt)}" loading="lazy"></figure>'

    # --- what is judged -------------------------------------------------------------------------------------

    def _of(self, spec: str) -> Judged:
        if spec not in self._found:
            result, refutation = self._judge(self._plan.specs / f"{spec}.dp")
            shown = f"{self._plan.specs.name}/{spec}.dp"
            self._found[spec] = (replace(result, path=shown), refutation)
        return self._found[spec]

    def _played(self, chapter: Chapter, spec: str) -> Mapping[str, Any]:
        """What the script needs of one spec."""
        result, refutation = self._of(spec)
        mechanism = _mechanism(result)
        head = masthead(result, refutation)
        program = program_document(Source(result.path, result.text), mechanism)
        return {
            "name": _stem(spec),
            "title": f"{head.title}: {head.about}",
            "verdict": head.verdict,
            "tone": head.tone,
            "listing": f"listing-{_stem(spec)}",
            "program": program,
            "presets": list(_presets(result, chapter.start, program)),
        }

    # --- Markdown -------------------------------------------------------------------------------------------

    def _markdown(self, path: Path) -> str:
        """A page; a link to another file leads to its page, or is only its name where it has none."""
        places = {place.resolve(): f"{name}.html" for name, place in self._plan.documents.items()}

        def link(found: re.Match[str]) -> str:
            target = places.get((path.parent / found[1]).resolve())
            return f"]({target}{found[2] or ''})" if target else "](#)"

        return _rendered(_LINK.sub(link, path.read_text("utf-8"))).replace('<a href="#">', "<a>")


def _rendered(source: str) -> str:
    """Markdown as HTML; what is HTML in it stays text."""
    from markdown_it import MarkdownIt

    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    names: dict[str, int] = {}

    def heading(found: re.Match[str]) -> str:
        plain = re.sub(r"<[^>]+>|[^\w\s-]", "", found[2]).strip().lower()
        name = re.sub(r"\s+", "-", plain)
        names[name] = names.get(name, 0) + 1
        name += f"-{names[name] - 1}" * (names[name] > 1)
        return f'<h{found[1]} id="{name}">{found[2]}</h{found[1]}>'

    html = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, html, flags=re.S)
    html = html.replace("<pre>", '<pre tabindex="0">')
    opened = '<div class="scroll" role="group" tabindex="0" aria-label="Table"><table>'
    return html.replace("<table>", opened).replace("</table>", "</table></div>")


def _presets(result: FileResult, start: Mapping[str, Any], program: Mapping[str, Any]) -> Iterator[Any]:
    """Where to begin: the run that fails, with both noise vectors where it takes two; a quiet one."""
    verdict = result.verdict
    if isinstance(verdict, AlignmentFails) and verdict.counterexample is not None:
        example = verdict.counterexample
        first = "A run that fails" if example.second is None else "The first of two noise vectors"
        yield _preset(first, example.scenario)
        if example.second is not None:
            yield _preset("The second", example.second)
    lists = [name for group in program["queries"] for name in group["names"]]
    scenario = {
        "parameters": {name: start.get(name, "1") for name in program["parameters"]},
        "data": dict.fromkeys(lists, start["D"]),
        "data_prime": dict.fromkeys(lists, start["D_prime"]),
        "noise": dict(start.get("noise", {})),
    }
    yield {"label": "A quiet run", "scenario": scenario}


def _preset(label: str, scenario: Scenario) -> Mapping[str, Any]:
    return {"label": label, "scenario": scenario_document(scenario)}


def _mechanism(result: FileResult) -> Any:
    if isinstance(result.verdict, Error) or result.verdict.mechanism is None:
        raise ValueError(f"`{result.path}` is no spec")
    return result.verdict.mechanism


def _stem(spec: str) -> str:
    return spec.rpartition("/")[2]


def _name(spec: str) -> str:
    return f"{spec}.dp"


def _script_text(code: str) -> str:
    """As it may stand in a `script` element, which ends at the first `</`."""
    return code.replace("</", "<\\/")


def _page_script() -> str:
    return Path(__file__).with_name("playground_page.js").read_text("utf-8")


_PLAY = """<section class="play" id="play" hidden aria-labelledby="play-title">
<h2 id="play-title">Try it</h2>
<p><label for="play-which">Mechanism</label> <select id="play-which"></select></p>
<p id="play-verdict"></p>
<div class="summary">
<p id="play-status" role="status"></p>
<p id="play-cost-text"></p>
<div class="meter" aria-hidden="true"><div id="play-cost"></div><div id="play-claim"></div></div>
</div>
<div class="split"><div>
<div class="buttons" id="play-presets" role="group" aria-label="Where to begin"></div>
<form id="play-controls" onsubmit="return false" aria-label="Inputs and noise"></form>
</div><div>
<dl><dt>on D</dt><dd><code id="play-out"></code></dd>
<dt>on D'</dt><dd><code id="play-out-prime"></code></dd></dl>
<div class="scroll" id="play-runs" role="group" tabindex="0" aria-label="Both runs, step by step"></div>
</div></div>
<script type="application/json" id="play-data">{data}</script>
</section>
<noscript><p class="note">With JavaScript, this page has sliders for inputs and noise.</p></noscript>"""


def main(arguments: Sequence[str]) -> int:
    """Builds the site. Returns 0, or 2 where the arguments are wrong."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m aligncheck.publish.site docs/site.toml OUT\n")
        return 2
    plan, out = arguments
    names = build(read_plan(Path(plan)), Path(out), judged)
    sys.stdout.write(f"{len(names)} pages in {os.path.join(out, 'index.html')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
