"""Files as people have them: which of them read alike, and what is said of the rest."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aligncheck.language.diagnostics import SpecError
from aligncheck.language.syntax.parse import parse, read_source
from aligncheck.language.syntax.read import MAX_BYTES, decoded

SPEC = (Path(__file__).parents[2] / "specs/adaptive_svt.dp").read_text("utf-8")
# A blank line inside a block, which CRLF turns into a line that holds a CR.
TEXT = SPEC.replace("    if cost", "\n    if cost")
GREEK = {"eps": "ε", "sigma": "σ", "eta": "η", "xi": "ξ", "zeta": "ζ"}


def fault(data: bytes) -> SpecError:
    with pytest.raises(SpecError) as caught:
        parse(decoded("m.dp", data))
    return caught.value


ALIKE: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "lone CR": lambda text: text.replace("\n", "\r").encode(),
    "a mixture": lambda text: text.replace("\n", "\r\n", 7).encode(),
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
    "a byte order mark and CRLF": lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
    "no final line end": lambda text: text.rstrip().encode(),
    "many final line ends": lambda text: (text + "\n\n  \n").encode(),
    "Greek": lambda text: re.sub(r"\b(eps|sigma|eta|xi|zeta)\b", lambda m: GREEK[m[0]], text).encode(),
    "signs": lambda text: text.replace(">=", "≥").replace("'", "′").replace(" - ", " − ").encode(),
    "trailing spaces": lambda text: text.replace("\n", "  \t\n").encode(),
}


@pytest.mark.parametrize("name", ALIKE)
def test_these_read_alike(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.dp"
    data = ALIKE[name](TEXT)
    assert data != TEXT.encode()
    path.write_bytes(data)
    read, plain = parse(read_source(str(path))), parse(decoded("m.dp", TEXT.encode()))
    # Comments keep the spelling that they have.
    assert replace(read, remarks=()) == replace(plain, remarks=())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_encodings(encoding: str) -> None:
    error = fault(TEXT.encode(encoding))
    assert error.diagnostic.code == "not-utf8"
    assert encoding[:6].upper() in error.diagnostic.message
    assert error.source.position(error.diagnostic.primary.span.start) == (1, 1)
    assert error.diagnostic.help is not None
    assert "UTF-8" in error.diagnostic.help


@pytest.mark.parametrize(
    ("encoding", "text", "meaning"),
    [
        ("cp1252", "mechanism m\n  # d\u00e9j\u00e0 vu\n", "`é` in Windows-1252"),
        ("cp1253", "mechanism m\n\t# \u03b5 > 0\n", "`ε` in Windows-1253"),
        ("cp1251", "mechanism m\n  # \u044f\n", "0xFF"),
    ],
)
def test_code_pages(encoding: str, text: str, meaning: str) -> None:
    for line_end in ("\n", "\r\n", "\r"):
        data = text.replace("\n", line_end).encode(encoding)
        error = fault(data)
        assert error.diagnostic.code == "not-utf8"
        assert meaning in error.diagnostic.message
        assert "line 2" in error.diagnostic.message
        first = next(i for i, character in enumerate(text.splitlines()[1]) if ord(character) > 127)
        assert error.source.position(error.diagnostic.primary.span.start) == (2, first + 1)


def test_utf8_before_a_bad_byte_counts_characters() -> None:
    error = fault("mechanism m # εεε漢".encode() + b"\xe9\n")
    assert error.source.position(error.diagnostic.primary.span.start) == (1, 19)


def test_binary_files() -> None:
    assert fault(b"\x7fELF\x02\x01\x01\x00").diagnostic.code == "binary-file"
    assert fault(b"mechanism m\nprivacy\x00 eps\n").diagnostic.message.endswith("line 2 has a zero byte")
    noise = random.Random(0).randbytes(5000)
    assert fault(noise).diagnostic.code in ("binary-file", "not-utf8")


@pytest.mark.parametrize("data", [b"", b"\n", b" \t\r\n", b"\xef\xbb\xbf", b"# only this\n"])
def test_empty_files(data: bytes) -> None:
    assert fault(data).diagnostic.code == "empty-file"


def test_large_files(tmp_path: Path) -> None:
    path = tmp_path / "m.dp"
    path.write_bytes(TEXT.encode() + b"#" * MAX_BYTES)
    with pytest.raises(SpecError) as caught:
        read_source(str(path))
    assert caught.value.diagnostic.code == "too-large"
    path.write_bytes(TEXT.encode() + b"#" * (MAX_BYTES - len(TEXT.encode())))
    assert parse(read_source(str(path))).name == "adaptive_svt_with_gap"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    closed = tmp_path / "closed.dp"
    closed.write_text(TEXT)
    closed.chmod(0)
    loop = tmp_path / "loop.dp"
    loop.symlink_to(loop)
    paths = [
        str(tmp_path),
        str(tmp_path / "none.dp"),
        str(closed / "below.dp"),
        str(loop),
        "nul\0.dp",
        "x" * 5000,
    ]
    if os.geteuid() != 0:
        paths.append(str(closed))
    for path in paths:
        with pytest.raises(SpecError) as caught:
            read_source(path)
        assert caught.value.diagnostic.code == "unreadable", path
        assert caught.value.source.path == path


def test_an_endless_file_is_too_large() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no such device")
    with pytest.raises(SpecError) as caught:
        read_source("/dev/zero")
    assert caught.value.diagnostic.code == "too-large"
