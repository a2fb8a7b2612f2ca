"""What `aligncheck explain` says of words of the language and of errors: from the text of the reference, and
from the places that raise the errors, so that nothing is written twice.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import fill

from aligncheck.language.families import SPELLINGS
from aligncheck.library import library, reference

_RAISING = {"fail", "fault", "Diagnostic"}
_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ROW = re.compile(r"^\| (?P<first>.+?) \| (?P<second>.*) \|$", re.M)
_MISTAKE = re.compile(
    r"^\| (?P<spec>\S+) \| (?P<written>.+?) \| (?P<instead>.+?) \| `(?P<code>[a-z0-9-]+)` (?P<said>.+?) "
    r"\| (?P<help>.*?) \| \w+ \|$",
    re.M,
)
_EXAMPLES = 3
_WIDTH = 100


@cache
def words() -> dict[str, tuple[str, ...]]:
    """Each word that a table of the reference explains, in lower case, with the rows that do: what is
    written, and its meaning. `adjacency one` is found under both of its words.
    """
    found: dict[str, list[str]] = {}
    for row in _ROW.finditer(reference()):
        spans = re.findall(r"`([^`]+)`", row["first"])
        says = fill(_plain(row["second"]), _WIDTH, initial_indent="  ", subsequent_indent="  ")
        text = f"{', '.join(spans)}\n{says}"
        for word in {w for span in spans for w in re.findall(r"[A-Za-z_]\w*", span) if len(w) > 1}:
            found.setdefault(word.lower(), []).append(text)
    return {word: tuple(dict.fromkeys(texts)) for word, texts in found.items()}


@cache
def sections() -> dict[str, str]:
    """The reference's sections by their titles in lower case."""
    parts = re.split(r"^## (.+)\n", reference(), flags=re.M)
    return {title.lower(): text.strip() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def explain_word(name: str) -> str | None:
    """What the reference says of a word (a statement, an adjacency, a noise family, a function), or a section
    of it; None where it says nothing.
    """
    low = name.lower()
    if low == "language":
        return reference().strip()
    if low in sections():
        return f"{name}\n\n{sections()[low]}"
    family = next((each for word, each in SPELLINGS.items() if word.lower() == low), None)
    if family is not None:
        low = family.value.lower()
    if low in words():
        return "\n".join(words()[low]) + "\n\nmore: `aligncheck explain language`"
    return None


@cache
def codes() -> dict[str, tuple[tuple[str, str | None], ...]]:
    """The codes of errors, each with the messages that it has, and what helps; `…` is filled in."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    for path in sorted((Path(__file__).parents[1]).rglob("*.py")):
        for code, message, help_ in _raised(ast.parse(path.read_text("utf-8"))):
            found.setdefault(code, []).append((message, help_))
    return {code: tuple(dict.fromkeys(texts)) for code, texts in sorted(found.items())}


def explain_code(code: str) -> str | None:
    """An error: its messages, what to do, and slips that lead to it; None where there is no such code."""
    if code not in codes():
        return None
    lines = [f"error[{code}]", ""]
    for message, help_ in codes()[code]:
        if message:
            lines.append(fill(message, _WIDTH, initial_indent="  ", subsequent_indent="    "))
        if help_:
            lines.append(
                fill(f"help: {help_}", _WIDTH, initial_indent="    ", subsequent_indent="          ")
            )
    for row in list(_mistakes(code))[:_EXAMPLES]:
        written, instead = (_plain(row[key]).replace("⏎", "\n     ") for key in ("written", "instead"))
        lines += ["", f"in `{row['spec']}`:", f"     {written}", "instead of", f"     {instead}"]
        lines += [f"is told: {_plain(row['said'])}", f"help: {_plain(row['help'])}"]
    return "\n".join(lines)


def _mistakes(code: str) -> Iterator[re.Match[str]]:
    text = library("mistakes.md").read_text("utf-8")
    return (row for row in _MISTAKE.finditer(text) if row["code"] == code)


def _plain(cell: str) -> str:
    """A cell of a Markdown table as text: bars unescaped, the marks of code around double ticks left out."""
    return re.sub(r"`` (.*?) ``", r"\1", cell).replace("\\|", "|").strip()


def _raised(tree: ast.Module) -> Iterator[tuple[str, str, str | None]]:
    """Code, message and help, where they are written out beside what raises them."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        made = {
            node.targets[0].id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            if ast.unparse(call.func).rpartition(".")[2].lstrip("_") not in _RAISING:
                continue
            at = next((i for i, a in enumerate(call.args[:2]) if _is_code(a)), None)
            if at is not None:
                texts = [_looked_up(node, made) for node in call.args[at + 1 : at + 2]]
                helps = [k.value for k in call.keywords if k.arg == "help"] + call.args[at + 3 : at + 4]
                code = ast.literal_eval(call.args[at])
                yield (
                    code,
                    next((text for node in texts if (text := _text(node))), ""),
                    _text(_looked_up(helps[0], made)) if helps else None,
                )


def _looked_up(node: ast.expr, made: dict[str, ast.expr]) -> ast.expr:
    """What a name was given in the same function."""
    return made.get(node.id, node) if isinstance(node, ast.Name) else node


def _is_code(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return _CODE.fullmatch(text) is not None
        case _:
            return False


def _text(node: ast.expr) -> str | None:
    """A message as it is written in the source; None where all of it is made elsewhere."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in values)
        case ast.BinOp(left=left, right=right):
            return f"{_text(left) or '…'}{_text(right) or '…'}"
        case ast.IfExp(body=body, orelse=other):
            return f"{_text(body) or '…'} / {_text(other) or '…'}"
        case _:
            return None
