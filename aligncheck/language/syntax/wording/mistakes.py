"""What a person probably meant where the parser had no move: a table of common mistakes, tried in order.

Each entry of `_MISTAKES` looks at the place where parsing stopped and returns a fault, or None if it is
another mistake. The first answer counts; the last resort names what stands there and what could have stood
there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from aligncheck.language.diagnostics import SpecError, fault
from aligncheck.language.families import SPELLINGS
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.layout import SECTIONS, Lexeme
from aligncheck.language.syntax.nodes import GATHERS
from aligncheck.language.syntax.wording.faults import nearest
from aligncheck.language.syntax.wording.idioms import IDIOMS, LIBRARIES, METHODS, WORDS, idiom_of
from aligncheck.language.syntax.wording.refused import JOINT, REFUSED_STATEMENTS, delta_fault, scope_fault

_HEADERS = ("if", "elif", "else", "for", "while", "case", "otherwise")
_OPENERS = {
    "if": "if CONDITION:",
    "elif": "elif CONDITION:",
    "else": "else:",
    "for": "for i, x in q:",
    "while": "while CONDITION:",
    "case": "case CONDITION:",
    "otherwise": "otherwise:",
}
_STATEMENT_WORDS = ("emit", "break", "pass", "if", "for", "while")
_SORTS = ("real", "int", "bool", "vector", "query", "queries")
_QUALIFIERS = ("const", "public", "private", "param", "parameter", "input", "let", "var", "val", "final")
_LISTS = ("list", "lists", "array", "arr", "seq", "sequence", "data", "dataset", "database", "table")
_ATTRIBUTES = ("sensitivity", "adjacency", "same", "lattice", "range", "default", "where")
_OPERAND_ENDS = ("NAME", "NUMBER", "RPAR", "RSQB", "PRIME", "TRUE", "FALSE")
_LINE_ENDS = ("NEWLINE", "DEDENT", "INDENT", "$END")
_FOREIGN_STATEMENTS = {
    "return": "a mechanism releases records as it goes: write `emit tag(…)`; `break` leaves a loop",
    **dict.fromkeys(("stop", "exit", "halt", "quit", "abort"), "to leave a loop write `break`"),
    "foreach": "write `for i, x in q:`",
    "try": "whatever is undefined has to be excluded: by a `where` clause, or by an `if` before it",
    **dict.fromkeys(("print", "output", "release", "yield", "append"), "write `emit tag(…)`"),
    **{word: f"write `x = …` without `{word}`" for word in ("let", "var", "set")},
    "continue": "put what follows under `else`; where nothing follows in the round, leave it out",
    **dict.fromkeys(("sample", "draw"), "write `eta ~ Lap(scale)`"),
    **dict.fromkeys(("elseif", "elsif"), "write `elif`"),
    **dict.fromkeys(("do", "repeat"), "write `while CONDITION:`"),
    "until": "write `while not (CONDITION):`",
    **dict.fromkeys(("switch", "match"), "write `if … elif … else`"),
    "end": "blocks end where the indentation does",
}
_TERMINALS = {
    "NAME": "a name",
    "STRING": 'a text in `"…"`',
    "PHRASE": "a verdict",
    "NEWLINE": "the end of the line",
    "INDENT": "an indented block",
    "COLON": "`:`",
    "COMMA": "`,`",
    "EQUAL": "`=`",
    "TILDE": "`~`",
    "PLUSEQ": "`+=`",
    "MINUSEQ": "`-=`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "DOT": "`.`",
}
_WORDED = {"mod": "write `a % b`", "div": "write `floor(a / b)`", "xor": "write `a != b`"}
_TAG = "write `emit tag(x = …)`, with a tag and field names of your own"
_OPERATORS = (
    *("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "POWER"),
    *("COMPARE", "AND", "OR", "IF", "IS", "PRIME"),
)


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where parsing stopped: at `lexemes[position]`, read as `got`, with a move for `expected` only.

    `line` are the lexemes of the logical line, `place` is the position in it, `section` the section around
    it.
    """

    source: Source
    lexemes: tuple[Lexeme, ...]
    position: int
    got: Lexeme
    expected: frozenset[str]
    line: tuple[Lexeme, ...]
    place: int
    section: str

    @property
    def previous(self) -> Lexeme | None:
        """The lexeme before, on the same line."""
        return self.line[self.place - 1] if self.place > 0 else None

    @property
    def before(self) -> Span:
        """Where the lexeme before stands; the place itself at the start of a line."""
        return self.previous.span if self.previous is not None else self.got.span

    @property
    def statement(self) -> tuple[Lexeme, ...]:
        """The line from where its last statement begins: behind a `;`, or the `:` of its header."""
        before = self.line[: self.place]
        starts = [i + 1 for i, each in enumerate(before) if each.type == "SEMI"]
        if self.first in _HEADERS:
            starts += [i + 1 for i, each in enumerate(before) if each.type == "COLON"]
        return self.line[max(starts, default=0) :]

    @property
    def own(self) -> str:
        """The line as it is written."""
        return self.source.text_of(self.line[0].span.to(self.line[-1].span)) if self.line else ""

    @property
    def first(self) -> str:
        """The word that the line begins with."""
        return self.line[0].text if self.line else ""

    @property
    def wants_operand(self) -> bool:
        return "NUMBER" in self.expected

    @property
    def before_is_map(self) -> bool:
        """Whether a function of one name stands before the `:`."""
        after = [each.type for each in self.line[self.place : self.place + 4]]
        named = self.previous is not None and self.previous.text not in ("len", "range")
        return after == ["LPAR", "NAME", "RPAR", "COLON"] and named

    def written(self, lexeme: Lexeme) -> str:
        return self.source.text_of(lexeme.span)

    def fault(self, code: str, message: str, span: Span | None = None, help: str | None = None) -> SpecError:  # noqa: A002
        return fault(self.source, code, message, span or self.got.span, help=help)


def diagnosis(
    source: Source, lexemes: tuple[Lexeme, ...], position: int, got: Lexeme, expected: frozenset[str]
) -> SpecError:
    """The error for a text that stops making sense at `lexemes[position]`."""
    stop = _stop(source, lexemes, position, got, expected)
    for mistake in _MISTAKES:
        found = mistake(stop)
        if found is not None:
            return found
    return _last_resort(stop)


def _stop(
    source: Source, lexemes: tuple[Lexeme, ...], position: int, got: Lexeme, expected: frozenset[str]
) -> _Stop:
    start = position
    while start > 0 and lexemes[start - 1].type not in _LINE_ENDS:
        start -= 1
    end = position
    while lexemes[end].type not in _LINE_ENDS:
        end += 1
    section = ""
    for each in lexemes[: position + 1]:
        if each.text in SECTIONS and each.type == "NAME" and source.position(each.start)[1] == 1:
            section = each.text
    return _Stop(source, lexemes, position, got, expected, lexemes[start:end], position - start, section)


# --- refused by name ----------------------------------------------------------------------------------------


def _refused_line(stop: _Stop) -> SpecError | None:
    if not stop.line:
        return None
    first = stop.line[0]
    refused = REFUSED_STATEMENTS.get(first.text.lower())
    if refused is not None and first.type == "NAME" and stop.place <= 2:
        return scope_fault(stop.source, stop.written(first), refused, first.span)
    return None


def _privacy(stop: _Stop) -> SpecError | None:
    if stop.section != "privacy":
        return None
    if stop.got.type in ("EQUAL", "COLON") and stop.place == 1:
        return stop.fault("unexpected-equals", "the claim follows the word", help="write `privacy eps`")
    if stop.got.text == "where":
        advice = "ranges are declared below `input`: `eps : real where eps > 0`"
        return stop.fault("misplaced-where", "the claim has no range", help=advice)
    return _delta(stop)


def _delta(stop: _Stop) -> SpecError | None:
    """A claim `ε, δ` or `(ε, δ)`; or a word `delta` that nothing follows, or that stands elsewhere."""
    words = [word for word in stop.line[1:] if word.type not in ("LPAR", "RPAR", "NEWLINE")]
    comma = next((at for at, word in enumerate(words) if word.type == "COMMA"), None)
    if comma is not None and 0 < comma < len(words) - 1:
        epsilon, delta = words[:comma], words[comma + 1 :]
        spans = [part[0].span.to(part[-1].span) for part in (epsilon, delta)]
        return delta_fault(stop.source, spans[1], *map(stop.source.text_of, spans))
    named = next((word for word in words if word.text in ("delta", "δ")), None)
    return None if named is None else delta_fault(stop.source, named.span)


def _joint_draw(stop: _Stop) -> SpecError | None:
    if stop.section != "program" or stop.got.type not in ("COMMA", "RPAR", "LPAR"):
        return None
    tilde = next((i for i, each in enumerate(stop.line) if each.type == "TILDE"), None)
    if tilde is None or stop.place > tilde or not any(each.type == "COMMA" for each in stop.line[:tilde]):
        return None
    span = stop.line[0].span.to(stop.line[tilde - 1].span)
    kinds = [each.type for each in stop.line[:tilde]]
    if kinds[1] == "LSQB" and "COMMA" in kinds[: kinds.index("RSQB") if "RSQB" in kinds else tilde]:
        one = "number the rounds by one variable, `xi[n] ~ …` and `n = n + 1` below it"
        return stop.fault("syntax", "a draw has one index", span, one)
    return scope_fault(stop.source, "a joint draw", JOINT, span)


def _library(stop: _Stop) -> SpecError | None:
    """`np.random.laplace(…)` and `q.shape[0]`; a plain `np.log(…)` parses as a part of an output."""
    words = stop.line
    for place, word in enumerate(words[:-1]):
        if words[place + 1].type != "DOT" or stop.section not in ("program", "align", "input", "privacy"):
            continue
        if word.text in LIBRARIES:
            end = place + 2
            while words[end + 1 : end + 2] and words[end + 1].type == "DOT":
                end += 2
            last = words[min(end, len(words) - 1)]
            message, span = f"`{word.text}` is no name here: there are no modules", word.span.to(last.span)
            return stop.fault("unknown-name", message, span, idiom_of(last.text, words[end - 2].text))
        called = [each.type for each in words[place + 2 : place + 4]] == ["NAME", "LPAR"]
        if called and words[place + 2].text in (*IDIOMS, *METHODS) and word.type in ("NAME", "RSQB"):
            span, method = word.span.to(words[place + 2].span), words[place + 2].text
            return stop.fault(
                "unknown-name", "nothing has methods", span, METHODS.get(method) or IDIOMS[method]
            )
        if words[place + 2 : place + 3] and words[place + 2].text in ("shape", "size", "length"):
            span = word.span.to(words[place + 2].span)
            return stop.fault("unknown-name", "lists have no attributes", span, f"write `len({word.text})`")
    return None


def _record(stop: _Stop) -> SpecError | None:
    """`emit (x)`, `emit x + 1` and `emit max(x for i, x in q)`: a record without its tag."""
    if stop.first != "emit" or stop.section != "program":
        return None
    if stop.got.type == "FOR" and stop.line[1].text in GATHERS:
        name = stop.line[1]
        advice = f"write `emit answer({name.text}(…))`, with a tag of your own"
        return stop.fault("missing-tag", f"`{name.text}` is a function, and no tag", name.span, advice)
    if stop.place > 2:
        return None
    if stop.got.type in ("LPAR", "LSQB", "NUMBER", "MINUS") and stop.place == 1:
        return stop.fault("missing-tag", "the record has no tag", help=_TAG)
    if stop.place == 2 and stop.got.type not in ("LPAR", "PRIME", "EQUAL"):
        return stop.fault("missing-tag", "a record is a tag and, in brackets, its fields", help=_TAG)
    return None


def _counted(stop: _Stop) -> SpecError | None:
    """`c++` and `++c`."""
    for place in (0, 1):
        signs = stop.line[place : place + 2]
        if stop.section == "program" and [each.text for each in signs] in (["+", "+"], ["-", "-"]):
            names = [each.text for each in stop.line[:3] if each.type == "NAME"]
            name, sign = names[0] if names else "x", signs[0].text
            what = f"there is no `{sign}{sign}`"
            span = signs[0].span.to(signs[1].span)
            return stop.fault("augmented-assignment", what, span, f"write `{name} = {name} {sign} 1`")
    return None


def _appended(stop: _Stop) -> SpecError | None:
    """`out.append(x)`."""
    if [each.text for each in stop.line[1:3]] not in ([".", "append"], [".", "add"], [".", "extend"]):
        return None
    return stop.fault(
        "no-statement",
        "lists are inputs: nothing is appended",
        stop.line[0].span.to(stop.line[2].span),
        "write `emit tag(…)` to release a record",
    )


def _attribute(stop: _Stop) -> SpecError | None:
    """`sensitivity=1`, and `q.length` or `q.shape[0]`; `same index` without its list."""
    if stop.section == "input" and "same" in [
        each.text for each in stop.line[max(0, stop.place - 3) : stop.place]
    ]:
        advice = "write `same index as q` or `same direction as q`, with the name of a line above"
        return stop.fault("incomplete", "what is shared with another line is not said", help=advice)
    if stop.section != "input" or stop.previous is None or stop.previous.text not in _ATTRIBUTES:
        return None
    word, other = stop.previous.text, stop.written(stop.got)
    if stop.got.type in ("EQUAL", "COLON"):
        message = f"the value of `{word}` follows it"
        return stop.fault("unexpected-equals", message, help=f"leave the `{other}` out: `{word} …`")
    if word == "range" and stop.got.type in ("LPAR", "NUMBER"):
        return stop.fault("bad-range", "a range has its ends in brackets", help="write `range [low, high]`")
    if word == "where" and stop.got.type == "COMPARE":
        advice = f"write `where {stop.first} {other} …`"
        return stop.fault("incomplete", f"what is compared by `{other}` is missing", help=advice)
    return None


def _interval(stop: _Stop) -> SpecError | None:
    """`eps in (0, 1)`."""
    words = [each.text for each in stop.line[: stop.place]]
    if stop.section != "input" or "in" not in words or "for" in words:
        return None
    name = words[max(0, words.index("in") - 1)]
    return stop.fault(
        "bad-range",
        "a range is written by comparisons",
        stop.line[words.index("in")].span,
        f"write `0 < {name} < 1`, with ends of your own",
    )


def _function(stop: _Stop) -> SpecError | None:
    """`lambda y: …`."""
    found = next((each for each in stop.line[: stop.place + 1] if each.text == "lambda"), None)
    if found is None or stop.section != "program":
        return None
    body = stop.own.partition("lambda")[2].partition(":")[2].strip()
    advice = f"write `{body}` where it is used, as in `emit tag({body})`; {WORDS['lambda']}"
    return stop.fault("no-statement", "functions are not made here", found.span, advice)


# --- blocks and lines ---------------------------------------------------------------------------------------


def _indentation(stop: _Stop) -> SpecError | None:
    if stop.got.type == "INDENT":
        return stop.fault(
            "unexpected-indent",
            "this line is indented further than the line before it, which opens no block",
            help="only a section or a line that ends with `:` opens a block",
        )
    if "INDENT" in stop.expected and "NAME" not in stop.expected and stop.got.type != "COLON":
        header = next(each for each in reversed(stop.lexemes[: stop.position]) if each.type not in _LINE_ENDS)
        return stop.fault(
            "missing-indent",
            "an indented block is missing after this",
            header.span,
            help="indent the lines that belong to it; where there is nothing to do, write `pass`",
        )
    return None


def _section_colon(stop: _Stop) -> SpecError | None:
    if stop.got.type == "COLON" and stop.place == 1 and stop.first in SECTIONS and stop.section == stop.first:
        return stop.fault(
            "unexpected-colon", f"`{stop.first}` stands alone on its line", help="delete the `:`"
        )
    return None


def _foreign_statement(stop: _Stop) -> SpecError | None:
    words = stop.statement
    if not words or stop.section not in ("program", "align"):
        return None
    first = words[0]
    advice = _FOREIGN_STATEMENTS.get(first.text.lower())
    if advice is None or first.type != "NAME" or stop.place - (len(stop.line) - len(words)) > 2:
        return None
    return stop.fault("unknown-statement", f"there is no statement `{first.text}`", first.span, advice)


def _else(stop: _Stop) -> SpecError | None:
    previous = stop.previous
    if previous is not None and previous.text == "else" and stop.got.type == "IF":
        return stop.fault(
            "missing-colon", "`else if` is one word here", previous.span.to(stop.got.span), "write `elif`"
        )
    if stop.got.type in ("ELSE", "ELIF") and stop.place == 0:
        if stop.section == "align":
            return stop.fault(
                "misplaced-else", "`align` has no `else`", help="write `case …:` and `otherwise:`"
            )
        return stop.fault(
            "misplaced-else",
            f"this `{stop.got.text}` belongs to no `if`",
            help="indent it as far as its `if`, and let no other line stand between them",
        )
    if stop.first == "otherwise" and stop.section == "program":
        message = "`otherwise` belongs to `case`, in `align`"
        return stop.fault("misplaced-else", message, stop.line[0].span, "write `else:`")
    return None


def _control_in_align(stop: _Stop) -> SpecError | None:
    if stop.section != "align" or stop.place != 0:
        return None
    advice = {
        "IF": "write `case CONDITION:`, or put `when CONDITION` after a single line",
        "FOR": "a line for `xi[i]` speaks about every `i` already",
        "WHILE": "a line for `xi[i]` speaks about every `i` already",
    }.get(stop.got.type)
    if advice is None:
        return None
    return stop.fault("unknown-statement", f"there is no `{stop.got.text}` in `align`", help=advice)


def _colon(stop: _Stop) -> SpecError | None:
    if "COLON" not in stop.expected or stop.first not in _HEADERS or stop.previous is None:
        return None
    starts = stop.got.text in _STATEMENT_WORDS or (
        stop.got.type == "NAME"
        and stop.place + 1 < len(stop.line)
        and stop.line[stop.place + 1].type in ("EQUAL", "TILDE")
    )
    if stop.got.type != "NEWLINE" and not starts and stop.previous.text not in ("else", "otherwise"):
        return None
    end = stop.previous.end
    return stop.fault(
        "missing-colon",
        f"the `:` after this `{stop.first}` is missing",
        Span(end, min(end + 1, len(stop.source.text))),
        f"write `{stop.source.text_of(stop.line[0].span.to(stop.previous.span))}:`"
        if stop.got.type == "NEWLINE"
        else f"write `{_OPENERS[stop.first]}`",
    )


def _loop_header(stop: _Stop) -> SpecError | None:
    if stop.first != "for" or stop.place == 0 or stop.section != "program" or stop.wants_operand:
        return None
    words = [each.text for each in stop.line]
    advice = "write `for i, x in q:`, `for x in q:` or `for i in range(n):`"
    if "enumerate" in words or words[1:2] == ["("]:
        names = [
            each.text
            for each in stop.line
            if each.type == "NAME" and each.text not in ("for", "in", "enumerate")
        ]
        if len(names) > 1:
            advice = f"write `for {', '.join(names[:-1])} in {names[-1]}:`"
    elif stop.before_is_map:
        whole = " ".join(words[: stop.place - 1]).replace(" ,", ",")
        advice = f"write `{whole} {words[stop.place + 1]}:`"
    elif stop.got.text == "and" and words[-1] == ":":
        test = stop.source.text_of(stop.line[stop.place + 1].span.to(stop.line[-2].span))
        header = stop.source.text_of(stop.line[0].span.to(stop.before))
        advice = f"write `{header}:`, and in its body `if not ({test}): break`"
    elif words[-3:-2] == [")"] or "len" in words:
        named = words[words.index("len") + 2 :][:1] if "len" in words else []
        advice = f"write `for i in range(len({(named or ['q'])[0]})):`"
    return stop.fault("bad-loop", "this is no header of a loop", help=advice)


def _draws_in_align(stop: _Stop) -> SpecError | None:
    if stop.got.type == "TILDE" and stop.section == "align":
        return stop.fault("bad-shift", "noise is drawn in `program`", help="here write `eta += …`")
    if stop.got.text == "when" and stop.section == "program":
        return stop.fault("unknown-statement", "`when` belongs to the lines of `align`", help="write `if …:`")
    return None


# --- statements ---------------------------------------------------------------------------------------------


def _equals(stop: _Stop) -> SpecError | None:
    if stop.got.type != "EQUAL":
        return None
    before = [each.text for each in stop.line[: stop.place]]
    if stop.first == "for":
        return None
    tests = {"if", "elif", "while", "case", "invariant", "when", "where", "and", "or", "not"}
    if tests & set(before):
        after = stop.line[stop.place + 1 : stop.place + 2]
        if after and after[0].text in ("<", ">") and after[0].start == stop.got.end:
            message, span = "this is no comparison", stop.got.span.to(after[0].span)
            return stop.fault("equals-in-condition", message, span, f"write `{after[0].text}=`")
        return stop.fault("equals-in-condition", "`=` gives a value; it does not compare", help="write `==`")
    if "(" in before and stop.section == "program":
        keyed = stop.previous is not None and stop.previous.text == "key"
        advice = "write `argmax(E for j in q)`" if keyed else "leave the name out"
        return stop.fault("unexpected-equals", "only records and draws have named arguments", help=advice)
    if "=" in before:
        return stop.fault("unexpected-equals", "a line gives one value to one name", help="use two lines")
    if stop.section == "input":
        return stop.fault(
            "unexpected-equals", "an input has no value here", help="write `name : sort`, as in `k : int`"
        )
    if stop.section == "program" and stop.place > 0:
        name, _, value = (part.strip() for part in stop.own.partition("="))
        instead = None
        if stop.line[1].type == "LSQB" and value.split("(")[0] in SPELLINGS:
            instead = f"noise is drawn by `~`: write `{name} ~ {value}`"
        elif stop.line[1].type == "LSQB":
            instead = (
                "only noise has an index: leave the line out, and write "
                f"`{value}` where it is used; to release it, `emit TAG({value})`"
            )
        return stop.fault(
            "bad-target",
            "only a plain name can get a value",
            stop.line[0].span.to(stop.line[stop.place - 1].span),
            instead,
        )
    return None


def _augmented(stop: _Stop) -> SpecError | None:
    if stop.got.type not in ("PLUSEQ", "MINUSEQ") or stop.section != "program":
        return None
    name, sign = stop.first, stop.got.text[0]
    return stop.fault(
        "augmented-assignment",
        f"`{stop.got.text}` belongs to `align`",
        help=f"write `{name} = {name} {sign} …`",
    )


def _prime(stop: _Stop) -> SpecError | None:
    if stop.got.type != "PRIME":
        return None
    advice = "a prime stands behind a name, where both runs are spoken of; there are no texts in a program"
    if stop.previous is not None and stop.previous.type == "RSQB":
        advice = "the prime stands before the index: `q'[i]`"
    elif stop.previous is not None and stop.previous.type == "LSQB":
        advice = "there are no texts: an answer is read by its number, `q[i]`, or by its name in the loop"
    elif stop.wants_operand:
        advice = "there are no texts: write a number here; what a record is called is its tag, `emit tag(…)`"
    elif stop.first == "emit" and stop.place <= 1:
        advice = "a tag is a plain name: `emit tag(x = …)`"
    elif stop.place == 1:
        advice = "what a line gives or moves is the value in its own run: leave the prime out"
    return stop.fault("bad-prime", "a prime cannot stand here", help=advice)


# --- inputs -------------------------------------------------------------------------------------------------


def _inputs(stop: _Stop) -> SpecError | None:
    if stop.section != "input" or not stop.line:
        return None
    got = stop.got
    if "REAL" in stop.expected:
        if got.type == "NAME":
            advice = nearest(got.text, _SORTS) or "the sorts are " + ", ".join(f"`{each}`" for each in _SORTS)
            if got.text.lower() in _LISTS:
                advice = "a list of private answers is `queries`, a public one `vector`"
            return stop.fault("unknown-sort", f"unknown sort `{stop.written(got)}`", help=advice)
        advice = "write `name : real`"
        if got.type in ("LSQB", "LPAR"):
            advice = "a list of private answers is `queries`, a public one `vector`"
        return stop.fault("missing-sort", "the sort of this input is missing", stop.line[0].span, advice)
    if got.text == "of":
        advice = "write `queries`, `int queries`, `vector` or `int vector`"
        return stop.fault("unknown-sort", "a sort is one of a few", help=advice)
    if "COLON" in stop.expected and got.type == "NAME":
        return _sort_first(stop)
    if got.type == "SEMI" and any(each.type == "COMPARE" for each in stop.line[stop.place :]):
        rest = stop.source.text_of(stop.line[stop.place + 1].span.to(stop.line[-1].span))
        declared = stop.source.text_of(stop.line[0].span.to(stop.before))
        joined = "and" if "where" in [each.text for each in stop.line[: stop.place]] else "where"
        return stop.fault(
            "syntax", "nothing is declared after a `;`", help=f"write `{declared} {joined} {rest}`"
        )
    if got.text in _ATTRIBUTES and got.type == "NAME":
        return stop.fault(
            "missing-comma", f"the `,` before `{got.text}` is missing", help=f"write `, {got.text} …`"
        )
    if "WHERE" in stop.expected and got.type == "NAME" and nearest(got.text, _ATTRIBUTES) is None:
        return _missing_where(stop)
    if "SENSITIVITY" in stop.expected and got.type == "NAME":
        known = "the attributes are " + ", ".join(f"`{each}`" for each in _ATTRIBUTES)
        advice = nearest(got.text, _ATTRIBUTES) or known
        if got.text in ("delta", "gs", "bound"):
            advice = "how far an answer may move is its `sensitivity`"
        return stop.fault("unknown-attribute", f"unknown attribute `{stop.written(got)}`", help=advice)
    if "WHERE" in stop.expected and got.type in ("COMPARE", "IF", "IN", "LSQB", "LPAR"):
        return _missing_where(stop)
    if "COLON" in stop.expected and got.type == "COMPARE" and stop.place == 1:
        advice = f"write `{stop.first} : real where {stop.own}`"
        return stop.fault("missing-colon", "the sort of this input is missing", help=advice)
    if got.type == "COMMA" and "where" in [each.text for each in stop.line[: stop.place]]:
        advice = "join conditions by `and`; attributes stand before `where`"
        return stop.fault("missing-operator", "conditions are not listed", help=advice)
    return None


def _sort_first(stop: _Stop) -> SpecError:
    """`real eps` and `const eps : real`, where a name and its `:` should be."""
    if stop.place == 1 and stop.first in _QUALIFIERS:
        advice = f"inputs are declared without `{stop.first}`: leave it out"
        return stop.fault("missing-colon", "a declaration begins with its name", stop.line[0].span, advice)
    sort = list(takewhile(lambda each: each.text in _SORTS, stop.line))
    rest = stop.line[len(sort) :]
    if stop.place == 1 and sort and rest and rest[0].type == "NAME":
        own = f"{stop.written(rest[0])} : {' '.join(each.text for each in sort)}"
        if rest[1:]:
            own += (
                f" {stop.source.text_of(rest[1].span.to(rest[-1].span))}" if rest[1].text == "where" else " …"
            )
        advice = f"the name comes first: `{own}`"
        return stop.fault("missing-colon", "the `:` before the sort is missing", help=advice)
    return stop.fault("missing-colon", "the `:` before the sort is missing", help="write `name : sort`")


def _missing_where(stop: _Stop) -> SpecError:
    words = [each.text for each in stop.line]
    declared = stop.source.text_of(stop.line[0].span.to(stop.before)).rstrip(", ")
    if "queries" in words[:4] or "query" in words[:4]:
        if stop.got.type == "LPAR":
            return stop.fault(
                "missing-comma", "attributes follow a `,`", help=f"write `{declared}, sensitivity …`"
            )
        word = "adjacency" if stop.got.text.startswith("neighb") else "sensitivity"
        advice = f"the attributes are {', '.join(f'`{each}`' for each in _ATTRIBUTES)}, each after a `,`"
        if stop.got.text.startswith("neighb") or stop.got.text == "with":
            advice = f"write `{declared}, {word} …`"
        return stop.fault("unknown-attribute", f"unknown attribute `{stop.written(stop.got)}`", help=advice)
    if stop.got.type == "LSQB":
        advice = "a list of private answers is `queries`, a public one `vector`; lengths are not declared"
        return stop.fault("missing-sort", "no sort has a length", help=advice)
    rest = stop.source.text_of(stop.got.span.to(stop.line[-1].span))
    clause = f"{stop.first} {rest}" if stop.got.type == "COMPARE" else f"{stop.first} > 0"
    advice = f"write `{declared} where {clause}`"
    return stop.fault("missing-where", "a range needs `where` before it", help=advice)


def _head(stop: _Stop) -> SpecError | None:
    if stop.section == "mechanism" and stop.first == "mechanism":
        if stop.got.type == "LPAR":
            return stop.fault(
                "bad-name", "the inputs have a section of their own", help="declare them below `input`"
            )
        return stop.fault(
            "bad-name",
            "a mechanism's name is one word",
            help="use letters, digits and `_`, as in `svt_with_gap`",
        )
    if stop.section == "expect" and "PHRASE" in stop.expected:
        return stop.fault(
            "bad-expect", "`expect` says what the verdict should be", help="write `expect verified`"
        )
    if stop.got.type == "STRING" and stop.section == "mechanism":
        advice = 'write it in one pair of quotes, which may hold several lines: `"What it does."`'
        return stop.fault("unexpected-string", "one text follows another", help=advice)
    if stop.got.type == "STRING":
        return stop.fault(
            "unexpected-string", "a text can stand only below `mechanism NAME`", help="use a comment: `# …`"
        )
    if stop.section == "mechanism":
        return stop.fault(
            "unexpected-line", "only the description stands here", help='put it in quotes: `"What it does."`'
        )
    return None


# --- sets of indices ----------------------------------------------------------------------------------------


def _set(stop: _Stop) -> SpecError | None:
    """A slip in `for j in q where …`, inside a function's brackets."""
    clause = _open_set(stop)
    if clause is None or stop.previous is None:
        return None
    place = len(clause)
    if place == 0:
        return stop.fault("bad-set", "the index of the set has no name", help="write `for j in q`")
    if stop.expected <= {"COMMA", "IN"} and stop.previous.text != "not":
        message = f"`in` is missing after `{stop.written(stop.previous)}`"
        return stop.fault("bad-set", message, help="write `for j in q` or `for j in range(n)`")
    if "RANGE" in stop.expected:
        return stop.fault(
            "bad-set", "after `in` stands a list or a range", help="write `for j in q` or `for j in range(n)`"
        )
    if "WHERE" in stop.expected:
        return _after_set(stop, stop.previous)
    return None


def _open_set(stop: _Stop) -> tuple[Lexeme, ...] | None:
    """What stands so far after the `for` of the innermost set that is still open."""
    closed = 0
    for place in reversed(range(1, stop.place)):
        lexeme = stop.line[place]
        if lexeme.type in ("LPAR", "LSQB"):
            closed -= 1
        elif lexeme.type in ("RPAR", "RSQB"):
            closed += 1
        elif lexeme.text == "for" and closed <= 0:
            return stop.line[place + 1 : stop.place] if closed == 0 else None
    return None


def _after_set(stop: _Stop, previous: Lexeme) -> SpecError:
    """Where the set may end, or go on with `where`."""
    match stop.got.type:
        case "PRIME":
            message = "the indices of a list are the same on D and D'"
            return stop.fault("bad-set", message, help="leave the prime out")
        case "COMMA":
            return stop.fault("bad-set", "nothing stands after a set", help="close the bracket first")
        case "FOR":
            return stop.fault("bad-set", "a set has one index", help="write one set inside the other")
        case "LPAR":
            message = f"`{stop.written(previous)}(…)` is no set of indices"
            return stop.fault(
                "bad-set", message, previous.span, "write `for j in q` or `for j in range(len(q))`"
            )
        case _:
            return stop.fault(
                "bad-set",
                "only `where CONDITION` may follow a set",
                help="write `for j in q where CONDITION`",
            )


def _set_alone(stop: _Stop) -> SpecError | None:
    """A set, or its clause, where none may stand."""
    if stop.place == 0 or stop.section == "expect":
        return None
    if stop.got.type == "FOR":
        return stop.fault(
            "bad-set",
            "a set of indices stands only in `max(…)`, `min(…)`, `argmax(…)`, `argmin(…)` and `top(k, …)`",
            help="write `max(q[j] for j in q)`",
        )
    if stop.got.text == "where" and stop.section in ("align", "program"):
        held = "a line holds `when CONDITION`"
        advice = held if stop.section == "align" else "write `max(q[j] for j in q where CONDITION)`"
        return stop.fault("bad-set", "`where` stands at the end of a set", help=advice)
    if stop.got.type == "LSQB" and stop.wants_operand:
        advice = (
            "say what is wanted at each index where it is used: `max(q[j] for j in q)`, `sum(…)`, `top(…)`"
        )
        if stop.line[stop.place - 1].type == "LPAR":
            advice = "leave the `[` and the `]` out"
        elif stop.first == "emit":
            advice = (
                "a field is one number: release a record a round, `for i, x in q:` and `emit tag(x + eta[i])`"
            )
        return stop.fault("bad-set", "no list is written out", help=advice)
    if stop.expected == {"IN"} and stop.previous is not None and stop.previous.text == "not":
        advice = "write `j not in winners`, or `… and not …`"
        return stop.fault("missing-operator", "`in` is missing after this `not`", stop.previous.span, advice)
    return None


# --- expressions --------------------------------------------------------------------------------------------


def _no_statement(stop: _Stop) -> SpecError | None:
    """A lone expression, such as a call, where a statement should be."""
    if stop.place == 0 or "NUMBER" in stop.expected:
        return None
    words = stop.statement
    span = words[0].span.to(stop.before) if words else stop.before
    if {"EQUAL", "TILDE"} <= stop.expected:
        advice = "a line gives a value (`x = …`), draws noise (`eta ~ …`) or emits (`emit tag(…)`)"
        name = words[0].text if words else ""
        if stop.got.type == "LPAR" and len(words) > 1 and words[1] is stop.got:
            advice = f"to release a record write `emit {name}(…)`, to call a mechanism `x = {name}(…)`"
            if "~" in [each.text for each in words]:
                advice = f"an index stands in brackets: write `{name}[…] ~ …`"
        elif stop.got.type == "COMMA" and "=" in [each.text for each in words]:
            advice = "give each variable its value on a line of its own, or behind a `;`"
        elif stop.got.type == "COMPARE" and stop.got.text == "==":
            return stop.fault("no-statement", "`==` compares; it gives no value", help="write `=`")
        elif stop.got.type == "NAME" and name in _SORTS:
            return stop.fault(
                "no-statement", "a variable is not declared", words[0].span, f"leave `{name}` out"
            )
    elif {"EQUAL", "PLUSEQ"} <= stop.expected:
        target = stop.source.text_of(span).partition("-")[0].strip()
        advice = f"a line moves noise: write `{target} += …`, with what is added to it"
        arrow = stop.own.partition("->")[2].strip().removeprefix(target).lstrip()
        if arrow.startswith("+"):
            advice = f"write `{target} += {arrow[1:].strip()}`"
    else:
        return None
    return stop.fault("no-statement", "this is no statement", span, advice)


def _draw(stop: _Stop) -> SpecError | None:
    """A draw that is a part of something, or has its scale elsewhere."""
    tilde = next((i for i, each in enumerate(stop.line) if each.type == "TILDE"), None)
    if tilde is None or stop.place <= tilde or stop.section != "program":
        return None
    name, words = stop.line[0].text, stop.line[tilde + 1 :]
    if stop.place == tilde + 2 and words[0].text in SPELLINGS:
        return stop.fault("bad-draw", "the scale stands in brackets", help=f"write `{words[0].text}(…)`")
    if stop.place == tilde + 1 and stop.got.type in ("NUMBER", "MINUS", "LPAR"):
        advice = f"draw `{name} ~ Lap(scale)`, with the factor in the scale or where `{name}` is used"
        return stop.fault("bad-draw", "a draw is noise alone", help=advice)
    if stop.previous is not None and stop.previous.type == "RPAR" and stop.got.type in _OPERATORS:
        advice = f"draw `{name}` alone, and add what is to be added where it is used"
        return stop.fault("bad-draw", "a draw is noise alone", help=advice)
    return None


def _no_else(stop: _Stop) -> SpecError | None:
    if "ELSE" not in stop.expected or stop.got.type not in ("NEWLINE", "RPAR", "COMMA", "SEMI"):
        return None
    if "if" not in [each.text for each in stop.line[1 : stop.place]]:
        return None
    advice = "write `… when CONDITION`" if stop.section == "align" else "write `a if CONDITION else b`"
    return stop.fault("missing-else", "this choice has no `else`", help=advice)


def _nested_block(stop: _Stop) -> SpecError | None:
    if stop.previous is None or stop.previous.type != "COLON" or stop.got.text not in _HEADERS:
        return None
    return stop.fault(
        "nested-block",
        "a block that stands on the line of its `:` holds simple statements only",
        help="start a new line, and indent it",
    )


def _keyword(stop: _Stop) -> SpecError | None:
    """A keyword where a name or an operand should be."""
    wanted = "NAME" in stop.expected
    if not (wanted and stop.got.type == stop.got.text.upper() and stop.got.text.isalpha()):
        return None
    return stop.fault(
        "keyword-as-name", f"`{stop.got.text}` is a keyword, not a name", help="choose another name"
    )


def _incomplete(stop: _Stop) -> SpecError | None:
    if not stop.wants_operand:
        return None
    previous = stop.previous
    after = f" after `{stop.written(previous)}`" if previous is not None else ""
    if stop.got.type in _LINE_ENDS:
        span = stop.got.span
        if previous is not None:
            span = Span(previous.end, min(previous.end + 1, len(stop.source.text)))
        return stop.fault(
            "incomplete",
            f"the line ends where an expression should follow{after}",
            span,
            "an expression goes on in the next line inside parentheses only",
        )
    if (
        stop.got.type in ("EQUAL", "COMPARE")
        and previous is not None
        and previous.text in ("=", "<", ">", "==")
    ):
        return stop.fault(
            "incomplete", f"`{stop.written(previous)} {stop.written(stop.got)}` compares nothing"
        )
    advice = None
    if stop.got.type == "COLON":
        advice = "leave the `:` out"
    elif stop.got.type == "COMPARE" and previous is not None and previous.text in ("and", "or"):
        left = stop.line[max(0, stop.place - 4)].text
        other = stop.source.text_of(stop.got.span.to(stop.line[-1].span))
        advice = f"say again what is compared: `{previous.text} {left} {other}`"
    return stop.fault("incomplete", f"an expression is missing{after}", help=advice)


def _condition_behind(stop: _Stop) -> SpecError | None:
    """`emit tag if test` and `break if test`."""
    if stop.got.type != "IF" or stop.section != "program" or "IF" in stop.expected or stop.place == 0:
        return None
    if stop.previous is not None and stop.previous.type == "COLON":
        return None
    test = stop.source.text_of(stop.line[min(stop.place + 1, len(stop.line) - 1)].span.to(stop.line[-1].span))
    done = stop.source.text_of(stop.line[0].span.to(stop.before))
    return stop.fault(
        "syntax", "a condition stands before what it decides", help=f"write `if {test}: {done}`"
    )


def _part_of_output(stop: _Stop) -> SpecError | None:
    """`out.above`: which record?"""
    if stop.previous is None or stop.expected != {"LPAR"} or stop.previous.type != "NAME":
        return None
    if [each.text for each in stop.line[stop.place - 3 : stop.place - 1]] != ["out", "."]:
        return None
    field = stop.previous.text
    if field == "count":
        return None
    span = stop.line[stop.place - 3].span.to(stop.previous.span)
    advice = f"write `out[i].{field}`, or `out[0].{field}`"
    return stop.fault("bad-output", "a field is one of a record", span, advice)


def _two_operands(stop: _Stop) -> SpecError | None:
    previous = stop.previous
    advice: str | None
    if previous is None or stop.wants_operand or previous.type not in _OPERAND_ENDS:
        return None
    if stop.got.type not in ("NAME", "NUMBER", "LPAR", "LSQB", "NOT", "TRUE", "FALSE", "OUT"):
        return None
    other = stop.written(stop.got)
    if {"WITH", "PROBABILITY", "STOP", "ROUNDS"} & stop.expected:
        advice = "write `until TEST stop with probability E`, and `at most E rounds` after it if need be"
        return stop.fault("bad-repeat", "what ends the rounds is said in other words", help=advice)
    if other in ("then", "do") and stop.first in _HEADERS:
        return stop.fault("missing-colon", f"there is no `{other}`", help=f"write `{_OPENERS[stop.first]}`")
    if other in _WORDED:
        return stop.fault("missing-operator", f"`{other}` is no operator", help=_WORDED[other])
    if previous.text == "arg" and other in ("max", "min"):
        return stop.fault(
            "missing-operator", f"`arg{other}` is one word", help=f"write `arg{other}(E for j in q)`"
        )
    if stop.got.type == "LSQB":
        advice = (
            "only a name has an index: give the value a name, or leave the index out where it is one number"
        )
        return stop.fault("missing-operator", "what stands here has no index", help=advice)
    if stop.section == "privacy" and previous.type == stop.got.type == "NAME":
        return stop.fault("missing-operator", "the claim is one expression", help=f"write `privacy {other}`")
    if previous.type == stop.got.type == "NUMBER":
        message = f"nothing joins `{stop.written(previous)}` and `{other}`"
        return stop.fault("missing-operator", message, help="write one number")
    if previous.type in ("NAME", "NUMBER"):
        one = stop.written(previous)
        numbers = "NUMBER" in (previous.type, stop.got.type)
        advice = f"for a product write `{one} * {other}`" if numbers and stop.got.type != "NOT" else None
        if previous.type == stop.got.type == "NAME":
            advice = "an operator is a sign: `+`, `-`, `*`, `/`, `%`, or `and`, `or`; a name is one word"
        return stop.fault("missing-operator", f"nothing joins `{one}` and `{other}`", help=advice)
    advice = "for a product write `*`" if stop.got.type in ("NUMBER", "LPAR") else None
    if stop.got.type == "NAME":
        advice = f"`{other}` joins nothing: write a sign (`+`, `-`, `*`, `/`, `%`), `and` or `or`"
    if other == "as":
        advice = "the name of a field stands before its value: `emit tag(x = …)`"
    elif "divisible" in other:
        advice = "write `a % b == 0`"
    return stop.fault("missing-operator", f"an operator is missing before `{other}`", help=advice)


def _last_resort(stop: _Stop) -> SpecError:
    advice = None
    if stop.got.type == "COMMA" and stop.got is stop.line[-1]:
        advice = "leave the `,` out"
    elif stop.got.type == "COLON" and stop.previous is not None and "(" in stop.own[: stop.own.find(":")]:
        advice = f"write `{stop.written(stop.previous)} = …`" if "EQUAL" in stop.expected else None
    elif stop.got.type == "IS" and stop.section == "program":
        after = "".join(each.text for each in stop.line[stop.place + 1 : stop.place + 2])
        sign = {"above": ">=", "over": ">=", "below": "<=", "under": "<=", "not": "!="}.get(after, "==")
        advice = f"write `{sign}` to compare" + f", in place of `is {after}`" * (sign != "==")
    if advice is not None:
        return stop.fault("syntax", f"`{stop.written(stop.got)}` cannot stand here", help=advice)
    what = {
        "NEWLINE": "the line ends too early",
        "$END": "the file ends too early",
        "DEDENT": "the block ends too early",
    }.get(stop.got.type, f"`{stop.written(stop.got)}` cannot stand here")
    expected = stop.expected - {"LSQB" if stop.previous is not None and stop.previous.type == "RSQB" else ""}
    names = [text for terminal, text in _TERMINALS.items() if terminal in expected]
    if stop.wants_operand:
        names = ["an expression", *(each for each in names if each not in ("a name", "`(`"))]
    elif "NAME" not in stop.expected and any(each in stop.expected for each in _OPERATORS):
        names.append("an operator")
    if not stop.wants_operand:
        keywords = (*_STATEMENT_WORDS, *_ATTRIBUTES, *SECTIONS)
        names += [f"`{word}`" for word in keywords if word.upper() in stop.expected]
    return stop.fault("syntax", what, help=_choice_of(names[:4]))


def _choice_of(names: list[str]) -> str | None:
    if len(names) < 2:
        return f"here may stand {names[0]}" if names else None
    return f"here may stand {', '.join(names[:-1])} or {names[-1]}"


_MISTAKES: tuple[Callable[[_Stop], SpecError | None], ...] = (
    _privacy,
    _library,
    _record,
    _counted,
    _appended,
    _attribute,
    _interval,
    _function,
    _indentation,
    _section_colon,
    _refused_line,
    _joint_draw,
    _else,
    _control_in_align,
    _foreign_statement,
    _head,
    _set,
    _set_alone,
    _equals,
    _augmented,
    _prime,
    _part_of_output,
    _condition_behind,
    _inputs,
    _draws_in_align,
    _colon,
    _nested_block,
    _draw,
    _no_statement,
    _no_else,
    _loop_header,
    _keyword,
    _incomplete,
    _two_operands,
)


# --- sections ----------------------------------------------------------------------------------------------

ORDER = "the sections are, in this order: " + ", ".join(f"`{name}`" for name in SECTIONS)
HEADS = frozenset(("def", "function", "func", "fn", "algorithm", "procedure", "proc", "class", "module"))
"""What opens a program elsewhere."""
_INDENTED = ("mechanism", "input", "program", "align")


def other_head(source: Source, first: Lexeme, second: Lexeme) -> SpecError:
    """`def NAME(…):` where `mechanism NAME` should be."""
    what = "a spec begins with `mechanism NAME`"
    advice = f"write `mechanism {source.text_of(second.span)}` in its place, alone on the line"
    return fault(source, "missing-section", what, first.span, help=advice)


def no_section(source: Source, first: Lexeme, second: Lexeme, last: str | None) -> SpecError:
    """A line that is not indented and opens no section: a misspelt section, or a line that lost its
    indentation.
    """
    refused = REFUSED_STATEMENTS.get(first.text.lower())
    if refused is not None and last is not None and second.type not in ("EQUAL", "TILDE", "COLON"):
        return scope_fault(source, first.text, refused, first.span)
    statement = second.type in ("EQUAL", "TILDE", "PLUSEQ", "MINUSEQ", "LSQB", "COMMA") or (
        second.type == "COLON" and last == "input"
    )
    hint = nearest(first.text, SECTIONS)
    if last is not None and (statement or first.type != "NAME" or (hint is None and last in _INDENTED)):
        return fault(
            source,
            "missing-indent",
            f"this line is not indented, so it does not belong to `{last}`",
            first.span,
            help="indent it as far as the other lines of its block" if last in _INDENTED else ORDER,
        )
    if last is None:
        headed = re.search(r"^mechanism\b", source.text, re.MULTILINE)
        below = "make this line a comment, `# …`, or put it in quotes below `mechanism NAME`"
        return fault(
            source,
            "missing-section",
            "a spec begins with `mechanism NAME`",
            first.span,
            help=below if headed else hint or "add it as the first line",
        )
    return fault(
        source,
        "unknown-section",
        f"`{source.text_of(first.span)}` opens no section",
        first.span,
        help=hint or ORDER,
    )
