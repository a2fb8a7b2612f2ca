"""`aligncheck examples` and `aligncheck new`: the specs that come with the package, and one of your own."""

from __future__ import annotations

import re
from pathlib import Path

from aligncheck.commands import CommandError
from aligncheck.commands.telling import tell
from aligncheck.language.syntax.wording.faults import closest
from aligncheck.library import COPIED, library, specs

_USED = re.compile(r'^use +\w+ +from +"([^"]+)"', re.M)
_FOLDER = re.compile(r'^(use +\w+ +from +")[^"]*/(?=[^"/]+")', re.M)
_NAME = re.compile(r"[A-Za-z]\w*")

_NEW = """\
mechanism {name}
  "Says for each count whether it is large, and stops after k large ones."

input
  q : queries, sensitivity 1, adjacency all
  T : real
  k : int where k >= 1
  eps : real where eps > 0

privacy eps

program
  eta ~ Lap(2/eps)
  count = 0
  for i, x in q:
    xi[i] ~ Lap(4*k/eps)
    if x + xi[i] >= T + eta:
      emit large
      count = count + 1
      if count >= k: break
    else:
      emit small

align
  eta += 1
  xi[i] += 1 + q[i] - q'[i]   when out[i] is large

expect verified
"""

_TEST = '''\
"""The mechanism in `{file}` is what it is expected to be; `pytest` finds this test."""

from pathlib import Path

import aligncheck

SPEC = Path(__file__).parent / "{file}"


def test_it_does_what_its_expect_line_says() -> None:
    found = aligncheck.verify(SPEC)
    assert found.as_expected, found.text
'''


def examples(name: str | None, *, folder: str | None, force: bool) -> int:
    """Lists the specs, prints one, or copies one or all of them, with what they use, into a folder.

    Returns 0. Raises CommandError for a name that no spec has, and where a file cannot be written.
    """
    if folder is not None:
        _copy(Path(folder), None if name is None else _named(name), force)
    elif name is not None:
        tell(*_named(name).read_text("utf-8").removesuffix("\n").split("\n"))
    else:
        for each, path in specs().items():
            tell(f"{each:45} {_expected(path.read_text('utf-8'))}")
        tell("", "`aligncheck examples NAME` prints one; `aligncheck examples --copy .` copies all.")
    return 0


def new(name: str, *, origin: str | None, python: bool, force: bool) -> int:
    """Writes NAME.dp, a spec to start from, and with `python` a test of it. Returns 0.

    Raises CommandError for a name that no mechanism can have, and where another file is in the way.
    """
    if not _NAME.fullmatch(name) or not name.isascii():
        raise CommandError(
            f"`{name}` cannot name a mechanism", "Use letters, digits and `_`, as in `my_svt`."
        )
    file = Path(f"{name}.dp")
    written: dict[Path, str] = {}
    if origin is None:
        written[file] = _NEW.format(name=name)
    else:
        path = _named(origin)
        text, *others = map(_beside, _used(path))
        written[file] = re.sub(r"^mechanism +\w+", f"mechanism {name}", text, count=1, flags=re.M)
        written |= {Path(used.name): each for used, each in zip(_used(path)[1:], others, strict=True)}
    if python:
        written[Path(f"test_{name}.py")] = _TEST.format(file=file)
    _write(written, force)
    for each in written:
        tell(f"written to {each}")
    tell(f"next: aligncheck verify {file}")
    return 0


def _named(name: str) -> Path:
    known = specs()
    key = name.removeprefix("specs/").removesuffix(".dp")
    key = next((each for each in known if key == each or each.endswith(f"/{key}")), key)
    if key not in known:
        hint = closest(key, known) or "see `aligncheck examples`"
        raise CommandError(f"there is no example `{name}`; {hint}")
    return known[key]


def _used(path: Path) -> list[Path]:
    """The spec, and those that it calls, directly or not."""
    found = [path]
    for each in found:
        for used in _USED.findall(each.read_text("utf-8")):
            if (there := (each.parent / used).resolve()) not in (p.resolve() for p in found):
                found.append(there)
    return found


def _beside(path: Path) -> str:
    """The text of a spec for a folder where what it calls lies beside it."""
    return _FOLDER.sub(r"\1", path.read_text("utf-8"))


def _expected(text: str) -> str:
    return "; ".join(re.findall(r"^expect (.+?)\s*(?:#.*)?$", text, re.M))


def _copy(to: Path, spec: Path | None, force: bool) -> None:
    written: dict[Path, str] = {}
    if spec is not None:
        written = {to / each.name: _beside(each) for each in _used(spec)}
    else:
        for part in COPIED:
            place = library(part)
            files = [place] if place.is_file() else sorted(place.rglob("*.*"))
            for each in files:
                if each.is_file() and each.suffix in (".dp", ".py", ".csv", ".md"):
                    name = part.removeprefix("examples/")
                    inside = Path(name) if place.is_file() else Path(name) / each.relative_to(place)
                    written[to / inside] = each.read_text("utf-8")
    _write(written, force)
    tops = dict.fromkeys(path.relative_to(to).parts[0] for path in written)
    tell(f"copied to {to}: {', '.join(tops)}")


def _write(written: dict[Path, str], force: bool) -> None:
    """All or, where one is in the way, none."""
    for path, text in written.items():
        if not force and path.exists() and not (path.is_file() and _holds(path, text)):
            raise CommandError(f"`{path}` is there already, and is another; `--force` overwrites it")
    for path, text in written.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
        except OSError as error:
            raise CommandError(f"cannot write `{path}`: {error.strerror}") from error


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_text("utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False
