"""A directive for Sphinx: a mechanism that is proved beside some that are wrong, with what a reader moves.

    extensions = ["myst_parser", "aligncheck.sphinx_plugin"]
    aligncheck_specs = "specs"  # the folder of the specs, from that of the sources

    ```{beside}
    right = "svt"
    wrong = ["broken/isvt1"]
    start = { D = ["1", "0"], D_prime = ["0", "1"], T = "2", noise = { eta1 = "1/2" } }
    ```

The specs are named by their paths, without `.dp`; `start` gives inputs and noise of a first run (see
`publish.playground.presets`). What `explain` and `compare` say of them is written beside the page.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from aligncheck.commands import CommandError
from aligncheck.commands.publish import judged
from aligncheck.language.source import Source
from aligncheck.meaning.scenario import ScenarioError
from aligncheck.publish import html
from aligncheck.publish.compose import Judged, comparison_sheet, masthead, spec_sheet, try_it
from aligncheck.publish.sheet import Listing, Sheet
from aligncheck.verdict import Error

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_SECONDS = 60.0
"""For each spec."""


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls."""
    app.add_config_value("aligncheck_specs", ".", "env")
    app.add_config_value("aligncheck_pages", "", "")  # where pages are written
    app.add_directive("beside", BesideDirective)
    app.connect("config-inited", _prepare)
    app.add_css_file(html.STYLE.name)
    return {"parallel_read_safe": True}


def _prepare(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(html.STYLE))
    config.aligncheck_pages = str(app.outdir)


class BesideDirective(SphinxDirective):  # type: ignore[misc]
    """Sliders, the specs, their verdicts, and links to all that was found of each."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Raises a docutils error where the content does not name specs."""
        try:
            options = tomllib.loads("\n".join(self.content))
            right, *wrong = pairs = [self._judged(one) for one in (options["right"], *options["wrong"])]
            played = html.html_of(try_it(pairs, options.get("start", {})))
        except (tomllib.TOMLDecodeError, KeyError, ValueError, CommandError, ScenarioError) as error:
            raise self.error(f"beside: {error}") from None
        parts = [*played, *map(self._listed, pairs)]
        parts += [
            '<h2>What is proved, and what is not</h2><ul class="cards">',
            *self._cards(right, wrong),
            "</ul>",
        ]
        text = f'<div class="aligncheck">{"".join(parts)}</div>'
        return [nodes.raw("", text, format="html")]

    def _judged(self, spec: str) -> Judged:
        folder = Path(self.config.aligncheck_specs)
        path = Path(self.env.srcdir, folder, f"{spec}.dp")
        self.env.note_dependency(str(path))
        result, refutation = judged(str(path), _SECONDS)
        if isinstance(result.verdict, Error):
            raise CommandError(f"`{spec}`: {result.verdict.diagnostic.message}")
        return replace(result, path=f"{folder}/{spec}.dp"), refutation

    def _listed(self, pair: Judged) -> str:
        result, _ = pair
        mechanism = None if isinstance(result.verdict, Error) else result.verdict.mechanism
        listing = Listing(Source(result.path, result.text), mechanism)
        title = html.text(_name(pair))
        return f"<div data-played><h2>{title}</h2>{''.join(html.html_of([listing], anchors=False))}</div>"

    def _cards(self, right: Judged, wrong: list[Judged]) -> Iterator[str]:
        for pair in (right, *wrong):
            head, name = masthead(*pair), _name(pair)
            links = [self._page(name, spec_sheet(*pair), f"{head.title} in full")]
            if pair is not right:
                both = comparison_sheet(right, pair)
                links.append(self._page(f"{_name(right)}-{name}", both, "beside the correct one"))
            title, verdict = html.text(head.title), html.text(head.verdict)
            yield (
                f'<li><h3>{title}</h3><p class="verdict {head.tone}">{verdict}</p>'
                f"<p>{html.prose(_remark(pair[0].text))}</p><p>{', '.join(links)}</p></li>"
            )

    def _page(self, name: str, sheet: Sheet, said: str) -> str:
        """Writes a page beside that of the document, and returns a link to it."""
        here = Path(self.config.aligncheck_pages, self.env.docname)
        here.parent.mkdir(parents=True, exist_ok=True)
        back = f'<nav aria-label="Back"><a href="{here.name}.html">{html.text(self.config.project)}</a></nav>'
        (here.parent / f"{name}.html").write_text(html.html_page(sheet, around=back), "utf-8")
        return f'<a href="{html.text(name)}.html">{html.text(said)}</a>'


def _name(pair: Judged) -> str:
    return Path(pair[0].path).stem


def _remark(text: str) -> str:
    """What the first lines of a spec say of it, up to where its source is named."""
    said: list[str] = []
    for line in text.split("\n"):
        if not line.startswith("#") or line.startswith(("# Source", "# Whose")):
            break
        said.append(line.lstrip("# "))
    return " ".join(said)
