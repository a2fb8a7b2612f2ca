"""The site: every link leads somewhere, pages load nothing, and what a reader moves changes what is shown."""

from __future__ import annotations

import os
import re
import shutil
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from aligncheck import sphinx_plugin
from aligncheck.language.check import check
from aligncheck.language.source import Source
from aligncheck.language.syntax.parse import parse
from aligncheck.meaning.scenario import ScenarioError
from aligncheck.pipeline import Options, verify_file
from aligncheck.publish.compose import Judged, try_it
from aligncheck.publish.sheet import Playground
from aligncheck.verdict import FileResult, Unknown

PROJECT = Path(__file__).parents[2]
BROWSER = shutil.which("chromium")
JUDGED = ("svt", "isvt1")


def few_judged(path: str, seconds: float) -> Judged:
    """Of most specs only what the page runs; that takes the time of a test."""
    if Path(path).stem in JUDGED:
        return verify_file(path, Options()), None
    source = Source(path, Path(path).read_text("utf-8"))
    mechanism = check(source, parse(source))
    return FileResult(path, Unknown(mechanism, None, "not judged here", None), 0.0, source.text), None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with warnings as errors: a link that leads nowhere is one."""
    build = import_module("sphinx.cmd.build").build_main
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sphinx_plugin, "judged", few_judged)
        arguments = ["-q", "-W", "--keep-going", "-d", f"{folder}-trees", "-c", str(PROJECT / "docs")]
        assert build([*arguments, str(PROJECT), str(folder)]) == 0
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


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert {site / "docs" / "teach" / f"{name}.html" for name in ("top-k", "svt", "svt-isvt1")} < pages.keys()
    for path, page in pages.items():
        for target in page.targets:
            if re.match("https?:|data:", target):
                continue  # a link in a text, which is followed by whoever wants to
            file, _, place = re.sub(r"\?v=\w+", "", target).partition("#")
            there = (path.parent / file).resolve() if file else path
            assert there.exists(), (path, target)
            assert not place or there not in pages or place in pages[there].ids, (path, target)
        text = path.read_text("utf-8")
        assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=.(https?:)?//", text), path
    for style in (site / "_static").rglob("*.css"):
        assert not re.search(r"url\(.?(https?:)?//|@import", style.read_text("utf-8")), style


def test_a_run_to_begin_with_is_one_of_neighbours() -> None:
    """The build of the site fails where it is not, with a sentence of what is wrong."""
    (pair,) = [few_judged(str(PROJECT / "specs" / "svt.dp"), 60)]
    start: dict[str, Any] = {"D": ["1", "0"], "D_prime": ["3", "0"], "noise": {"eta2[1]": "1/2"}}
    with pytest.raises(ScenarioError, match="moves by 2, more than 1"):
        list(try_it([pair], start))
    (play,) = try_it([pair], start | {"D_prime": ["2", "0"]})
    assert isinstance(play, Playground)
    assert play.programs[0]["presets"][-1]["scenario"]["noise"] == {"eta2[1]": "1/2"}


@pytest.mark.skipif(
    BROWSER is None or find_spec("playwright") is None, reason="no Chromium, or no Playwright"
)
def test_a_browser_shows_it(site: Path) -> None:
    sync_playwright: Any = import_module("playwright.sync_api").sync_playwright
    axe = os.environ.get("AXE_CORE")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for name in ("docs/teach/sparse-vector", "docs/teach/svt-isvt1", "docs/guide"):
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
                    found = page.evaluate(
                        "axe.run({preload: false}).then(r => r.violations.map(v => [v.impact, v.id]))"
                    )
                    assert not [one for one in found if one[0] in ("serious", "critical")], name
                if name.endswith("sparse-vector"):
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
    assert [one.is_visible() for one in page.locator("[data-played]").all()] == [n == 1 for n in range(5)]
