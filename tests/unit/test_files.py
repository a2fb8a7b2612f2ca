"""What is read of a file, and what a terminal is shown of text from elsewhere."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from aligncheck.language.files import exists, opened
from aligncheck.language.printable import printable


def test_a_file_is_read_and_a_pipe_is_not(tmp_path: Path) -> None:
    (tmp_path / "spec.dp").write_bytes(b"mechanism m\n")
    with opened(str(tmp_path / "spec.dp")) as file:
        assert file.read() == b"mechanism m\n"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe"):
        opened(str(tmp_path / "pipe"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(OSError, match="it is a pipe"):
            opened(str(tmp_path / "s"))


def test_what_cannot_be_read_is_there(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    (tmp_path / "nowhere").symlink_to("nothing")
    (tmp_path / "file").touch()
    assert exists(str(tmp_path / "one"))
    assert exists(str(tmp_path / "file"))
    for name in ("nowhere", "none", "file/below", "a\0b"):
        assert not exists(f"{tmp_path}/{name}")


def test_what_moves_the_cursor_or_turns_the_line_is_made_visible() -> None:
    assert printable("ε <= 1/2, ρ; naïve 漢字") == "ε <= 1/2, ρ; naïve 漢字"
    shown = printable("a\x1b[2Jb\u202ec\u2028d\u200be\x00f\ud800\rg")
    assert shown == "a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf\ufffd\ufffdg"
