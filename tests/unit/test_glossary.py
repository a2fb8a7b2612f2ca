"""What `aligncheck explain` says is the reference's text, and knows every word and every error."""

from __future__ import annotations

import pytest

from aligncheck.commands import CommandError
from aligncheck.commands.completion import _FILES
from aligncheck.commands.examples import _used
from aligncheck.commands.explain import explain
from aligncheck.language.adjacencies import Adjacency
from aligncheck.language.conditions import Condition
from aligncheck.language.families import SPELLINGS
from aligncheck.library import library, specs
from aligncheck.report.glossary import codes, explain_code, explain_word


def page(capsys: pytest.CaptureFixture[str], name: str) -> str:
    assert explain(name) == 0
    return capsys.readouterr().out


def test_everything_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    statements = "if for while break pass emit invariant max argmin top upto sum choose logistic logsumexp"
    attributes = "sensitivity lattice range"
    words = [*statements.split(), *attributes.split(), *SPELLINGS, *(a.value for a in Adjacency)]
    assert not [word for word in words if explain_word(word) is None]
    for condition in Condition:
        assert page(capsys, condition.id)
    text = page(capsys, "language")
    assert "\n## Program\n" in text
    assert text == (specs()["svt"].parent / "README.md").read_text("utf-8")
    with pytest.raises(CommandError, match="did you mean `monotone`"):
        explain("monotonous")


def test_every_error_is_explained_by_what_raises_it() -> None:
    assert len(codes()) > 100
    silent = [code for code in codes() if len((explain_code(code) or "").split()) < 5]
    assert not silent


def test_what_is_shipped_is_found() -> None:
    assert library("mistakes.md").is_file()
    assert library("examples/counts.csv").read_text("utf-8").startswith("item,count")
    with pytest.raises(FileNotFoundError, match="missing from this installation"):
        library("nothing.dp")


def test_a_spec_comes_with_all_that_it_calls() -> None:
    assert [path.stem for path in _used(specs()["topk_with_measures"])] == [
        "topk_with_measures",
        "noisy_topk_gap_monotone",
    ]


def test_a_shell_completes_files_where_the_help_says_so() -> None:
    from aligncheck.cli import _parser

    usage = _parser().format_help() + "".join(
        command.format_help()
        for command in _parser()._subparsers._group_actions[0].choices.values()  # type: ignore[union-attr]
    )
    assert {name for name in ("FILE", "PATH", "CSV", "OUT.py", "DIR", "FOLDER") if name in usage} <= _FILES
