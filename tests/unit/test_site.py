"""The site: every link leads somewhere, pages load nothing, and what a reader moves changes what is shown."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.scenario import Scenario, check_scenario
from aligncheck.pipeline import Options, verify_file
from aligncheck.publish.playground import program_document
from aligncheck.publish.site import Chapter, Judged, SitePlan, build, read_plan

PROJECT = Path(__file__).parents[2]
PLAN = PROJECT / "docs" / "site.toml"
BROWSER = shutil.which("chromium")


def small() -> SitePlan:
    """The whole documentation, and one chapter with one broken spec."""
    plan = read_plan(PLAN)
    return replace(plan, chapters=(replace(plan.chapters[0], wrong=("broken/isvt1",)),))


@cache
def verdict_of(path: Path) -> Judged:
    return verify_file(str(path), Options(explain=False)), None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(small(), folder, verdict_of)
    return folder


class Links(HTMLParser):
    """What a page names, and where it leads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "id" and value:
                assert value not in self.ids, value
                self.ids.add(value)
            elif key in ("href", "src") and value:
                self.targets.add(value)


def test_every_link_leads_somewhere_and_nothing_is_loaded(site: Path) -> None:
    pages = {path.name: Links(path.read_text("utf-8")) for path in site.glob("*.html")}
    assert len(pages) == 6 + len(small().documents)
    for name, page in pages.items():
        for target in page.targets:
            if re.match(r"https?:", target):
                continue  # a link in a text, which is followed by whoever wants to
            file, _, place = target.partition("#")
            if file.endswith(".svg"):
                assert (site / file).exists(), target
                continue
            assert (file or name) in pages, (name, target)
            assert not place or place in pages[file or name].ids, (name, target)
        text = (site / name).read_text("utf-8")
        assert not re.search(r"<(script|link|iframe)[^>]*\b(src|href)=", text), name
        assert not re.search(r"url\(|@import", text), name


CHAPTERS = [(c, spec) for c in read_plan(PLAN).chapters for spec in (c.right, *c.wrong)]


@pytest.mark.parametrize(("chapter", "spec"), CHAPTERS, ids=[spec for _, spec in CHAPTERS])
def test_a_chapter_begins_with_neighbours(chapter: Chapter, spec: str) -> None:
    source = Source(spec, (read_plan(PLAN).specs / f"{spec}.dp").read_text("utf-8"))
    mechanism = check(source, parse(source))
    program = program_document(source, mechanism)
    start = chapter.start
    parameters = tuple((name, Fraction(start.get(name, "1"))) for name in program["parameters"])
    lists = [tuple(map(Fraction, start[side])) for side in ("D", "D_prime")]
    names = [name for group in program["queries"] for name in group["names"]]
    data, prime = (tuple((name, values) for name in names) for values in lists)
    assert not check_scenario(mechanism, Scenario(parameters, data, prime))
    verdict = mechanism.expect.verdict if isinstance(mechanism.expect, nodes.Expectation) else ""
    assert (verdict == "verified") is (spec == chapter.right)


@pytest.mark.skipif(
    BROWSER is None or find_spec("playwright") is None, reason="no Chromium, or no Playwright"
)
def test_a_browser_shows_it(site: Path) -> None:
    sync_playwright: Any = import_module("playwright.sync_api").sync_playwright
    axe = os.environ.get("AXE_CORE")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for name in ("sparse-vector", "svt-isvt1", "language", "figures"):
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport={"width": 360, "height": 780}, color_scheme=scheme)
                page = context.new_page()
                wrong: list[str] = []
                page.on("console", lambda m, to=wrong: to.append(m.text) if m.type == "error" else None)
                page.on("pageerror", lambda e, to=wrong: to.append(str(e)))
                page.on("request", lambda r, to=wrong: to.append(r.url) if "file:" not in r.url else None)
                page.goto((site / f"{name}.html").as_uri())
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
                if axe:
                    page.evaluate(Path(axe).read_text("utf-8"))
                    found = page.evaluate("axe.run().then(r => r.violations.map(v => [v.impact, v.id]))")
                    assert not [one for one in found if one[0] in ("serious", "critical")], name
                if name == "sparse-vector":
                    _played(page)
                assert not wrong, name
                context.close()
        browser.close()


def _played(page: Any) -> None:
    """From the keyboard: a slider, another mechanism, and the run that fails."""
    status = page.locator("#play-status")
    assert status.inner_text() == "Both runs release the same, and the alignment costs 1 of 1."
    page.locator("#d-Q-0").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert "an answer of Q moves by more than 1" in status.inner_text()
    page.locator("#e-Q-0").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert status.inner_text() == "Both runs release the same, and the alignment costs 1 of 1."
    page.locator("#play-which").select_option("1")
    assert "fails: the run on D' releases something else" in status.inner_text()
    assert page.locator("#play-runs tr.marked").count() >= 1
    assert page.locator("#listing-svt").is_hidden()
    assert page.locator("#listing-isvt1").is_visible()
