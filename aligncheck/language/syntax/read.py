"""Bytes to text: specs are UTF-8, with any line ends and with or without a byte order mark."""

from __future__ import annotations

from typing import Never

from aligncheck.language.diagnostics import fault
from aligncheck.language.files import opened
from aligncheck.language.source import Source, Span

MAX_BYTES = 256 * 1024

_UTF32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_SAVE_AS = "save the file as UTF-8"


def read_source(path: str) -> Source:
    """The text of a file.

    Raises SpecError where the file cannot be read (`unreadable`), is larger than `MAX_BYTES` (`too-large`),
    or holds no text in UTF-8 (`empty-file`, `binary-file`, `not-utf8`).
    """
    try:
        with opened(path) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        _unreadable(path, f"there is no file `{path}`")
    except IsADirectoryError:
        _unreadable(path, f"`{path}` is a folder, not a file")
    except PermissionError:
        _unreadable(path, f"`{path}` may not be read: permission denied")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        _unreadable(path, f"`{path}` cannot be read: {reason}")
    return decoded(path, data)


def decoded(path: str, data: bytes) -> Source:
    """The text that some bytes hold; `path` is where they come from. Raises SpecError like `read_source`."""
    if len(data) > MAX_BYTES:
        raise fault(
            Source(path, ""),
            "too-large",
            f"this file is larger than {MAX_BYTES // 1024} kB",
            Span(0, 0),
            help="a spec holds one small mechanism",
        )
    _not_utf16(path, data)
    if b"\x00" in data:
        text = _with_line_feeds(data.decode("utf-8-sig", "replace"))
        place = text.index("\0")
        source = Source(path, text.replace("\0", "\N{REPLACEMENT CHARACTER}"))
        raise fault(
            source,
            "binary-file",
            f"this is no text: line {source.position(place)[0]} has a zero byte",
            Span(place, place + 1),
            help="a spec is a text file",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _not_utf8(path, data, error.start)
    source = Source(path, _with_line_feeds(text))
    if not source.text.strip():
        raise fault(
            source, "empty-file", "this file is empty", Span(0, 0), help="a spec begins with `mechanism NAME`"
        )
    return source


def _unreadable(path: str, message: str) -> Never:
    raise fault(Source(path, ""), "unreadable", message, Span(0, 0))


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _not_utf16(path: str, data: bytes) -> None:
    """Raises SpecError for UTF-16 and UTF-32, by their byte order mark or by the zero bytes that Latin text
    has there.
    """
    if data.startswith(_UTF32):
        raise fault(
            Source(path, ""), "not-utf8", "this file is UTF-32, not UTF-8 (line 1)", Span(0, 0), help=_SAVE_AS
        )
    encoding = _UTF16.get(data[:2])
    if encoding is None and len(data) >= 4:
        even, odd = data[0::2].count(0), data[1::2].count(0)
        if odd * 4 > len(data) and even * 20 < len(data):
            encoding = "utf-16-le"
        elif even * 4 > len(data) and odd * 20 < len(data):
            encoding = "utf-16-be"
    if encoding is not None:
        text = _with_line_feeds(data.decode(encoding, "replace").removeprefix("\ufeff"))
        raise fault(
            Source(path, text),
            "not-utf8",
            "this file is UTF-16, not UTF-8 (from line 1 on)",
            Span(0, min(1, len(text))),
            help=_SAVE_AS + "; Windows calls UTF-16 `Unicode`",
        )


def _not_utf8(path: str, data: bytes, offset: int) -> Never:
    """The first bad byte, and what it may have meant: old Windows editors write one byte per character."""
    before = _with_line_feeds(data[:offset].decode("utf-8-sig"))
    source = Source(path, _with_line_feeds(data.decode("utf-8-sig", "replace")))
    byte = data[offset : offset + 1]
    # A lone CR before a bad byte, or an LF after it, cannot shift the offset: a bad byte is neither.
    span = Span(len(before), len(before) + 1)
    line = source.position(span.start)[0]
    meanings = []
    for page in ("1252", "1253"):
        meaning = byte.decode(f"cp{page}", "ignore")
        if meaning and not meaning.isspace() and meaning.isprintable():
            meanings.append(f"`{meaning}` in Windows-{page}")
    guess = f": it looks like a Windows code page ({', '.join(meanings)})" if meanings else ""
    raise fault(
        source,
        "not-utf8",
        f"line {line} has a byte that is no UTF-8: 0x{byte[0]:02X}{guess}",
        span,
        help=_SAVE_AS,
    )
