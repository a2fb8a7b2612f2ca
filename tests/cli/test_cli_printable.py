"""Whatever files hold, and are called: nothing in it reaches the terminal as a command."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from aligncheck.cli import main
from aligncheck.language.printable import printable

EVIL = "\x1b[2J\x1b]0;x\x07\u202e\u2028\x9b1m\u200b"
STRANGE = "\u200b[2J\xad]0;x\u2060"
"""What may stand in comments and titles: it has no width, and neither breaks a line nor turns it round."""
SPEC = f"""\
mechanism noisy_answer   # {STRANGE}
  "Releases {STRANGE} one answer."

input
  q : query, sensitivity 1
  eps : real where eps > 0

privacy eps

program
  eta ~ Lap(1/eps)  # {STRANGE}
  emit answer(q + eta)

align
  eta += q - q'
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[2J\r\u202e\nVERIFIED  b.dp"
    Path(name).write_text(SPEC, newline="")
    return name


def commands_in(text: str) -> set[str]:
    return {
        character
        for character in text
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(list(arguments))
    out, err = capsys.readouterr()
    assert commands_in(out + err) == set(), arguments
    assert "\nVERIFIED  b.dp" not in out + err, "a name is no line of ours"
    return status, out + err


def test_titles_names_and_comments(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = f"{spec}.py"
    assert printed(capsys, "verify", spec)[0] == 0
    assert printed(capsys, "show", spec)[0] == 0
    assert printed(capsys, "show", "--mode", "refined", spec)[0] == 0
    assert printed(capsys, "compile", spec, module, "--mode", "refined")[0] == 0
    status, text = printed(capsys, "check", module)
    assert status == 0
    assert "title   Releases \ufffd[2J" in text
    arguments = ("run", module, "--set", "q=1", "--set", "eps=1")
    assert printed(capsys, *arguments)[0] == 0
    Path(module).write_text(Path(module).read_text().replace("1 / eps", "2 / eps"))
    assert printed(capsys, "check", module)[0] == 1
    assert printed(capsys, *arguments)[0] == 2
    assert printed(capsys, "compile", "--check", spec, module, "--mode", "refined")[0] == 1


def test_a_module_is_not_printed_on_a_terminal_that_would_obey_it(
    spec: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    status, text = printed(capsys, "compile", spec, "--mode", "float")
    assert (status, "name a file: -o" in text) == (2, True)


def test_no_name_of_a_file_becomes_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a b\nraise SystemExit(9)\n#.dp"
    Path(name).write_text(SPEC)
    assert main(["compile", name, "out.py", "--mode", "refined"]) == 0
    assert not [line for line in Path("out.py").read_text().splitlines() if line.startswith("raise")]
    assert main(["check", "out.py"]) == 0
    assert main(["run", "out.py", "--set", "q=1", "--set", "eps=1"]) == 0


@pytest.mark.parametrize("character", sorted(commands_in(EVIL) - {"\u200b"}))
def test_a_text_is_shown_as_it_is_read(spec: str, capsys: pytest.CaptureFixture[str], character: str) -> None:
    """No comment or title breaks a line, or turns it round, for editors and terminals only."""
    for place in ("noisy_answer   # ", "Releases ", "eta ~ Lap(1/eps)  # "):
        Path(spec).write_text(SPEC.replace(place, f"{place}x{character}  eta ~ Lap(5)"), newline="")
        status, text = printed(capsys, "verify", spec)
        assert (status, "invisible" in text) == (2, True)


def test_what_a_caret_stands_under(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(spec).write_text(SPEC.replace("Lap(1/eps)", "Lap(1/epsilom)"), newline="")
    status, text = printed(capsys, "verify", spec)
    assert status == 2
    line, caret = (next(line for line in text.splitlines() if mark in line) for mark in ("epsilom)", "^"))
    assert "\ufffd" in line
    assert line[caret.index("^") :].startswith("epsilom")
    Path(spec).write_text(SPEC.replace("eta += q - q'", "eta += 0"), newline="")
    assert printed(capsys, "verify", "-v", spec)[0] == 1
    assert printed(capsys, "compile", spec)[0] == 1


@pytest.mark.parametrize(
    "command", ["verify", "refute", "compile", "check", "run", "show", "test", "explain"]
)
def test_arguments(capsys: pytest.CaptureFixture[str], command: str) -> None:
    more = ["--eps", "1"] if command == "test" else []
    status, text = printed(capsys, command, f"{EVIL}\nVERIFIED  b.dp", *more)
    assert status == 2
    assert "\ufffd" in text


def test_ordinary_letters_stay() -> None:
    for text in ("", "α ε′ λ₁ 日本 é", "no-break\u00a0space", "\U0001f512"):
        assert printable(text) == text
    assert printable("a\tb\r\n\x00") == "a\ufffdb\ufffd\ufffd\ufffd"
