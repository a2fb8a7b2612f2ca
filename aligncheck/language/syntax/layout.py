"""Text to lexemes: words, numbers, operators, and the layout (NEWLINE, INDENT, DEDENT) that makes blocks.

Spellings are made canonical here (`ε` becomes `eps`, `≥` becomes `>=`), while spans always refer to the text
as it was written. Blank lines and comments may stand anywhere and make no lexeme. Inside brackets line ends
mean nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from aligncheck.language.diagnostics import Faults, Label, SpecError
from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source, Span

MAX_BRACKETS = 40
MAX_BLOCKS = 20
MAX_LEXEMES = 20_000
MAX_LINE = 2_000
MAX_WORD = 100

SECTIONS = ("mechanism", "use", "fun", "input", "privacy", "program", "align", "expect")
"""The words that open a section, in the order in which the sections stand."""

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lam", "μ": "mu", "ν": "nu", "ξ": "xi", "ο": "omicron", "π": "pi",
    "ρ": "rho", "σ": "sigma", "ς": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi",
    "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lam", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma",
    "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
    "ϵ": "eps", "ϑ": "theta", "ϕ": "phi", "ϱ": "rho",
    "\N{MICRO SIGN}": "mu", "\N{INCREMENT}": "Delta", "\N{OHM SIGN}": "Omega",
}  # fmt: skip
"""How Greek letters are spelt out, look-alikes (lunate epsilon, micro sign, increment) included."""

SUBSCRIPTS = {chr(0x2080 + digit): str(digit) for digit in range(10)}

_SPELLING = str.maketrans(GREEK | SUBSCRIPTS)

_OPERATORS = {
    "**": "POWER", "+=": "PLUSEQ", "-=": "MINUSEQ", "−=": "MINUSEQ",
    "==": "COMPARE", "!=": "COMPARE", "<=": "COMPARE", ">=": "COMPARE", "<": "COMPARE", ">": "COMPARE",
    "≤": "COMPARE", "≥": "COMPARE", "⩽": "COMPARE", "⩾": "COMPARE", "≠": "COMPARE",
    "+": "PLUS", "-": "MINUS", "−": "MINUS", "*": "STAR", "×": "STAR", "·": "STAR", "⋅": "STAR",
    "/": "SLASH", "%": "PERCENT", "=": "EQUAL", "~": "TILDE", "∼": "TILDE", ":": "COLON", ",": "COMMA",
    ";": "SEMI", ".": "DOT", "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB",
    "'": "PRIME", "′": "PRIME", "’": "PRIME",
}  # fmt: skip
_CANONICAL = {
    "≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", "≠": "!=", "−": "-", "−=": "-=", "×": "*", "·": "*", "⋅": "*",
    "∼": "~", "′": "'", "’": "'",
}  # fmt: skip
_CLOSER = {"(": ")", "[": "]"}

# Spellings of other languages that are no lexemes here, and what to write instead.
_FOREIGN = {
    "&&": "write `and`",
    "||": "write `or`",
    "&": "write `and`",
    "|": "write `or`, or `abs(x)` for an absolute value",
    "∧": "write `and`",
    "∨": "write `or`",
    "¬": "write `not`",
    "!": "write `not`",
    "//": "write `floor(a / b)`",
    "^": "write `**` for a power",
    ":=": "write `=`, or `~` to draw noise",
    "←": "write `=`, or `~` to draw noise",
    "*=": "write `x = x * …`; in `align` say what is added, as in `eta[i] += q[i] - q'[i]`",
    "/=": "write `x = x / …`; in `align` a line adds: `eta += …`",
    "%=": "write `x = x % …`; in `align` a line adds: `eta += …`",
    "?": "write `a if CONDITION else b`",
    "√": "write `sqrt(x)`",
    "÷": "write `/`",
    "∞": "ranges are open by default: leave the bound out",
    "∈": "write `in`",
    "⊤": "give the record a tag in letters, such as `top`",
    "⊥": "give the record a tag in letters, such as `below`",
    "{": "blocks are made by indentation, not by braces; no set is written out: lists are inputs",
    "}": "blocks are made by indentation, not by braces; no set is written out: lists are inputs",
    "“": 'write straight quotes: "…"',
    "”": 'write straight quotes: "…"',
    "…": "write it out",
    "\\": "put a long expression in parentheses; it may then go on in the next line",
}

_WORD_START = "A-Za-z_" + "".join(GREEK)
_WORD = f"[{_WORD_START}][0-9{_WORD_START}{''.join(SUBSCRIPTS)}]*"


def _any_of(spellings: Iterable[str]) -> str:
    """A pattern for any of these, the longest first."""
    return "|".join(re.escape(each) for each in sorted(spellings, key=len, reverse=True))


_LEXEME = re.compile(
    r"(?P<space>[ \t]+)"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<newline>\n)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<word>{_WORD})"
    r'|(?P<string>"[^"]*")'
    rf"|(?P<foreign>{_any_of(each for each in _FOREIGN if each != '!')}|!(?!=))"
    rf"|(?P<operator>{_any_of(_OPERATORS)})"
)


def spelled_plainly(line: str) -> str:
    """A line without comments and superfluous spaces, in plain ASCII: lines that are the same by this are
    the same to `aligncheck compare`.
    """
    found = (f for f in _LEXEME.finditer(line) if f.lastgroup not in ("space", "comment", "newline"))
    return " ".join(_CANONICAL.get(f.group(), f.group().translate(_SPELLING)) for f in found)


_HIDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What breaks a line, or puts it in another order, where a text is shown and not where it is read."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A terminal of the grammar: its type, its canonical text, and where it stands (`end` is exclusive).

    Words all have the type NAME; the parser decides which of them are keywords where they stand.
    """

    type: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment without its `#`; `alone` where nothing else stands on its line (lines count from 0)."""

    text: str
    line: int
    alone: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The lexemes of a source in order, the last one of type `$END`, and its comments.

    Where the text breaks a rule of the layout, `fault` says so and the lexemes end before it: whatever is
    wrong further up is to be reported first.
    """

    lexemes: tuple[Lexeme, ...]
    comments: tuple[Comment, ...]
    fault: SpecError | None = None


def layout(source: Source) -> Layout:
    """The lexemes and comments of a source.

    Faults are characters and numbers that mean nothing, brackets and quotes that do not match, and
    indentation that does not nest.
    """
    scanner = _Scanner(source)
    try:
        scanner.run()
    except SpecError as error:
        where = error.diagnostic.primary.span.start
        sound = tuple(each for each in scanner.lexemes if each.end <= where)
        return Layout((*sound, Lexeme("$END", "", where, where)), tuple(scanner.comments), error)
    return Layout(tuple(scanner.lexemes), tuple(scanner.comments))


def spelt_out(word: str) -> str:
    """The canonical spelling of a name: `eps` for `ε`, `q1` for `q₁`."""
    return word.translate(_SPELLING)


def word_in(source: Source, span: Span, name: str, *, last: bool = False) -> Span:
    """Where a name first (or `last`) stands in a span, however it is spelt; the whole span if it does not."""
    found = span
    for match in re.finditer(_WORD, source.text_of(span)):
        if spelt_out(match.group()) == name:
            found = Span(span.start + match.start(), span.start + match.end())
            if not last:
                break
    return found


class _Scanner(Faults):
    """One pass over the text. Line structure is decided at the first lexeme of each logical line."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.text = source.text
        self.lexemes: list[Lexeme] = []
        self.comments: list[Comment] = []
        self.brackets: list[Lexeme] = []
        self.indents: list[str] = [""]
        self.first_indent: tuple[str, Span] | None = None
        self.at_line_start = True
        self.line = 0
        self.line_start = 0
        self.line_lexemes = 0

    def run(self) -> None:
        text = self.text
        offset = 0
        while offset < len(text):
            match = _LEXEME.match(text, offset)
            if match is None:
                raise self._stray(offset)
            kind = match.lastgroup
            offset = match.end()
            if kind == "space":
                continue
            if kind == "newline":
                self._end_line(match.start())
                self.line += 1
                self.line_start = offset
                continue
            if kind in ("comment", "string") and (hiding := _HIDING.search(match.group())):
                raise self._stray(match.start() + hiding.start())
            if kind == "comment":
                alone = not text[self.line_start : match.start()].strip()
                self.comments.append(Comment(match.group()[1:].strip(), self.line, alone))
                self._not_too_many(match)
                continue
            self._begin_line(match)
            if kind is None:
                raise InternalError("a token of no kind")
            if kind == "word" and self._opens_expectation(match):
                offset = self._expectation(match)
                continue
            self._lexeme(kind, match)
            self._not_too_many(match)
        self._end_line(len(text))
        if self.brackets:
            raise self._unclosed()
        self._dedent_to("", Span(len(text), len(text)))
        self._add("$END", "", len(text), len(text))

    def _not_too_many(self, match: re.Match[str]) -> None:
        """Stops early, so that no later stage meets a line or a file of any length."""
        count = len(self.lexemes)
        if count + len(self.comments) > MAX_LEXEMES:
            self.fail(
                "too-large",
                f"this file has more than {MAX_LEXEMES} words, symbols and comments",
                match_span(match),
                help="a spec holds one small mechanism; a real one has a few hundred",
            )
        if count - self.line_lexemes > MAX_LINE:
            self.fail(
                "too-many-terms",
                f"this line has more than {MAX_LINE} words and symbols",
                match_span(match),
                help="give parts of it names of their own",
            )

    # --- lines ---

    def _begin_line(self, match: re.Match[str]) -> None:
        """At the first lexeme of a line: compare its indentation with that of the blocks around it."""
        start = match.start()
        if self.brackets:
            if start == self.line_start and match.group() in SECTIONS:
                raise self._unclosed()
            return
        if not self.at_line_start:
            return
        self.at_line_start = False
        self.line_lexemes = len(self.lexemes)
        indent = self.text[self.line_start : start]
        span = Span(self.line_start, start)
        if indent:
            self._check_indent(indent, span)
        if not self.lexemes and indent:
            self.fail(
                "unexpected-indent",
                "the first line is indented",
                span,
                help="`mechanism NAME` starts in the first column"
                + ("" if "mechanism " in self.text else f": write `mechanism {self._stem}` above this line"),
            )
        if len(indent) > len(self.indents[-1]):
            self.indents.append(indent)
            if len(self.indents) - 1 > MAX_BLOCKS:
                self.fail("too-deep", f"blocks are nested more than {MAX_BLOCKS} deep", match_span(match))
            self._add("INDENT", "", self.line_start, start)
        else:
            self._dedent_to(indent, span)

    def _check_indent(self, indent: str, span: Span) -> None:
        style = indent[0]
        if self.first_indent is None:
            self.first_indent = (style, span)
        first, where = self.first_indent
        if set(indent) == {first}:
            return
        names = {" ": "spaces", "\t": "tabs"}
        if where == span:
            self.fail(
                "mixed-indentation",
                "this indentation mixes tabs and spaces",
                span,
                help="indent the whole file with spaces, or the whole file with tabs",
            )
        other = "\t" if first == " " else " "
        self.fail(
            "mixed-indentation",
            f"this line is indented with {names[other]}, lines before it with {names[first]}",
            span,
            related=(Label(where, f"{names[first]} here"),),
            help="indent the whole file with spaces, or the whole file with tabs",
        )

    def _dedent_to(self, indent: str, span: Span) -> None:
        while len(self.indents[-1]) > len(indent):
            self.indents.pop()
            self._add("DEDENT", "", span.end, span.end)
        if len(self.indents[-1]) != len(indent):
            depths = ", ".join(str(len(each)) for each in self.indents)
            self.fail(
                "inconsistent-indentation",
                f"this line is indented by {len(indent)}, which matches no block that is open here",
                span,
                help=f"lines that may follow here are indented by {depths}",
            )

    def _end_line(self, offset: int) -> None:
        if self.brackets or self.at_line_start:
            return
        self.at_line_start = True
        self._add("NEWLINE", "", offset, min(offset + 1, len(self.text)))

    # --- lexemes ---

    def _add(self, kind: str, text: str, start: int, end: int) -> None:
        self.lexemes.append(Lexeme(kind, text, start, end))

    def _lexeme(self, kind: str, match: re.Match[str]) -> None:
        text, start, end = match.group(), match.start(), match.end()
        match kind:
            case "number":
                self._number(match)
            case "word":
                if len(text) > MAX_WORD:
                    self.fail("too-large", f"a name has at most {MAX_WORD} characters", Span(start, end))
                self._add("NAME", spelt_out(text), start, end)
            case "string":
                self._string(match)
            case "foreign":
                message, span = f"`{text}` means nothing here", Span(start, end)
                self.fail("unexpected-character", message, span, help=_FOREIGN[text])
            case _:
                self._add(_OPERATORS[text], _CANONICAL.get(text, text), start, end)
                self._bracket(self.lexemes[-1])

    def _bracket(self, lexeme: Lexeme) -> None:
        if lexeme.text in _CLOSER:
            self.brackets.append(lexeme)
            if len(self.brackets) > MAX_BRACKETS:
                self.fail(
                    "too-deep",
                    f"brackets are nested more than {MAX_BRACKETS} deep",
                    lexeme.span,
                    help="give a part of the expression a name of its own",
                )
        elif lexeme.text in (")", "]"):
            if not self.brackets:
                self.fail("unmatched-bracket", f"this `{lexeme.text}` closes nothing", lexeme.span)
            opener = self.brackets.pop()
            if _CLOSER[opener.text] != lexeme.text:
                self.fail(
                    "unmatched-bracket",
                    f"`{opener.text}` is closed by `{lexeme.text}`",
                    lexeme.span,
                    related=(Label(opener.span, "opened here"),),
                    help=f"write `{_CLOSER[opener.text]}`",
                )

    def _unclosed(self) -> SpecError:
        opener = self.brackets[-1]
        return self.fault(
            "unclosed-bracket",
            f"this `{opener.text}` is never closed",
            opener.span,
            help=f"add `{_CLOSER[opener.text]}`",
        )

    def _number(self, match: re.Match[str]) -> None:
        end = match.end()
        follower = re.compile(_WORD).match(self.text, end)
        if follower is None:
            self._add("NUMBER", match.group(), match.start(), end)
            return
        span = Span(match.start(), follower.end())
        if follower.group().startswith("_"):
            self.fail("bad-number", "numbers are written without `_`", span, help="write 1000, not 1_000")
        self.fail(
            "bad-number",
            "a number is followed directly by a name",
            span,
            help=f"for a product write `{match.group()[:20]} * {follower.group()[:20]}`",
        )

    def _string(self, match: re.Match[str]) -> None:
        """A docstring. A line in it that starts in the first column means that its end was forgotten."""
        text = match.group()
        if re.search(r"\n[^\s\"]", text):
            raise self._unterminated(match.start())
        self._add("STRING", " ".join(text[1:-1].split()), match.start(), match.end())
        last_break = text.rfind("\n")
        if last_break >= 0:
            self.line += text.count("\n")
            self.line_start = match.start() + last_break + 1

    def _unterminated(self, offset: int) -> SpecError:
        return self.fault(
            "unclosed-string", "this text is never closed", Span(offset, offset + 1), help='add `"`'
        )

    # --- expectation ---

    def _opens_expectation(self, match: re.Match[str]) -> bool:
        return match.group() == "expect" and match.start() == self.line_start and not self.brackets

    @property
    def _stem(self) -> str:
        stem = PurePath(self.source.path).stem
        return stem if stem.isidentifier() else "NAME"

    def _expectation(self, match: re.Match[str]) -> int:
        """`expect` takes the rest of its line as it stands: condition ids and codes are no expressions."""
        self._add("NAME", "expect", match.start(), match.end())
        rest = re.compile(r"[ \t]*([^\n#]*)").match(self.text, match.end())
        if rest is None:
            raise InternalError("a line that no pattern matches")
        phrase = rest.group(1).rstrip()
        if phrase:
            self._add("PHRASE", phrase, rest.start(1), rest.start(1) + len(phrase))
        return rest.end()

    # --- faults ---

    def _stray(self, offset: int) -> SpecError:
        character = self.text[offset]
        span = Span(offset, offset + 1)
        if character == '"':
            return self._unterminated(offset)
        code = f"U+{ord(character):04X}"
        name = unicodedata.name(character, "").lower()
        if character.isspace() or unicodedata.category(character) in ("Cf", "Cc", "Zs"):
            return self.fault(
                "unexpected-character",
                f"an invisible character stands here: {name or 'control character'} ({code})",
                span,
                help="replace it by a plain space, or delete it",
            )
        if character.isalpha():
            message = f"the letter `{character}` ({code}) cannot stand here"
            advice = "names are made of the letters A-Z and a-z, Greek letters, digits and `_`"
            return self.fault("unexpected-character", message, span, help=advice)
        message = f"the character `{character}` ({code}{', ' * bool(name)}{name}) cannot stand here"
        return self.fault("unexpected-character", message, span)


def match_span(match: re.Match[str]) -> Span:
    """Where a match stands."""
    return Span(match.start(), match.end())
