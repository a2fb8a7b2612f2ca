"""The commands as functions: the same verdicts, as values that show themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import aligncheck
from aligncheck.api import Finding, load_ipython_extension

PROJECT = Path(__file__).parents[2]
SPECS = PROJECT / "specs"
SMALL = """\
mechanism small
  "A count with noise."

input
  q : query, sensitivity 1
  eps : real where eps > 0

privacy eps

program
  eta ~ Lap(1/eps)
  emit noisy(q + eta)

align
  eta += q - q'

expect verified
"""


def test_a_text_is_verified_and_shows_itself() -> None:
    found = aligncheck.verify(SMALL)
    assert repr(found) == "<VERIFIED: small>"
    assert (found.verified, found.refuted, found.status, found.as_expected) == (True, False, 0, True)
    assert found.text.startswith("VERIFIED   spec.dp   small")
    assert "<pre" in found._repr_html_()
    assert "VERIFIED" in found._repr_html_()
    assert json.loads(found.to_json())["results"][0]["verdict"] == "VERIFIED"
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(found)


def test_a_document_is_what_the_command_writes() -> None:
    document = aligncheck.explain(SMALL)
    assert repr(document) == "<small: VERIFIED>"
    assert document.to_markdown().startswith("# small: VERIFIED\n\n`spec.dp`")
    assert "\\begin{theorem}" in document.to_latex()
    assert document._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert aligncheck.compare(SMALL, SMALL.replace("small", "other")).title == "small beside other"


def test_what_fails_says_where_and_what_is_expected() -> None:
    found = aligncheck.verify(SPECS / "broken" / "isvt1.dp")
    assert (found.verdict, found.status, found.as_expected) == ("ALIGNMENT FAILS", 1, True)
    assert "failed[output]" in str(found)
    wrong = aligncheck.verify(SMALL.replace("q + eta", "q + zeta"))
    assert (wrong.verdict, wrong.status, wrong.as_expected) == ("ERROR", 2, False)
    assert aligncheck.verify(SMALL.partition("expect")[0]).as_expected is None


def test_a_violation_is_a_value() -> None:
    found = aligncheck.refute(SMALL.replace("Lap(1/eps)", "Lap(1/(2*eps))"), eps=1)
    assert (found.verdict, found.refuted, found.mechanism) == ("REFUTED", True, "small")
    with pytest.raises(aligncheck.CommandError, match="`k`"):
        aligncheck.refute(SMALL, settings={"k": 1})


def test_a_verified_spec_is_loaded_compiled_and_checked(tmp_path: Path) -> None:
    small = aligncheck.load(SMALL)
    result = small(eps=1)(10)  # type: ignore[call-arg,operator]
    assert (result.spent, result.private) == (1, True)
    module = tmp_path / "small.py"
    text = aligncheck.compile(SMALL, module)
    assert module.read_text("utf-8") == text
    found = aligncheck.check(module)
    assert (found.verdict, found.status) == ("CHECKED", 0)
    assert aligncheck.load(module).__name__ == "Small"
    module.write_text(text.replace("Lap", "Lip"), "utf-8")
    assert aligncheck.check(module).verdict == "FAILED"
    with pytest.raises(aligncheck.CommandError, match="changed"):
        aligncheck.load(module)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: aligncheck.verify("nothing.dp"), "no such file"),
        (lambda: aligncheck.load(SPECS / "broken" / "isvt1.dp"), "ALIGNMENT FAILS"),
        (lambda: aligncheck.compile(SPECS / "broken" / "isvt1.dp"), "ALIGNMENT FAILS"),
        (lambda: aligncheck.compile(SMALL, mode="other"), "no mode `other`"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_done_is_an_error(use: Any, message: str) -> None:
    with pytest.raises(aligncheck.CommandError, match=message):
        use()


def test_a_cell_of_a_notebook_is_a_spec() -> None:
    magics: dict[str, Any] = {}
    pushed: dict[str, Any] = {}

    def register(function: Any, kind: str, name: str) -> None:
        magics[name] = function

    load_ipython_extension(SimpleNamespace(register_magic_function=register, push=pushed.update))
    found = magics["aligncheck"]("Count", SMALL)
    assert isinstance(found, Finding)
    assert pushed["Count"].__name__ == "Small"
    assert magics["aligncheck"]("refute", SMALL).verdict == "NO VIOLATION FOUND"


def test_importing_loads_next_to_nothing() -> None:
    """Modules are counted, since seconds depend on the machine: it takes 10 ms where `argparse` takes 8."""
    code = "import sys; a = set(sys.modules); import aligncheck; print(len(set(sys.modules) - a))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 2
    assert "verify" in dir(aligncheck)
    with pytest.raises(AttributeError, match="verfy"):
        aligncheck.verfy  # noqa: B018
