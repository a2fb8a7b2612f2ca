"""Reading a spec: bytes to text, text to AST."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from aligncheck.language.diagnostics import fault
from aligncheck.language.source import Source, Span
from aligncheck.language.syntax.build import Builder
from aligncheck.language.syntax.counting import counted
from aligncheck.language.syntax.grammar import grammar
from aligncheck.language.syntax.layout import SECTIONS, Layout, Lexeme, layout
from aligncheck.language.syntax.lengths import with_lengths_apart
from aligncheck.language.syntax.limits import check_limits
from aligncheck.language.syntax.nodes import Mechanism
from aligncheck.language.syntax.read import read_source
from aligncheck.language.syntax.sections import check_sections
from aligncheck.language.syntax.tables import flat
from aligncheck.language.syntax.wording.mistakes import diagnosis

if TYPE_CHECKING:
    from lark.parsers.lalr_interactive_parser import InteractiveParser

__all__ = ["parse", "read_source"]

# Always keywords.
_RESERVED = frozenset(
    (
        *("if", "elif", "else", "for", "while", "break", "pass"),
        *("in", "and", "or", "not", "is", "true", "false"),
    )
)
# Keywords where the grammar has no place for a name, names elsewhere.
_BY_PLACE = frozenset(
    (
        *SECTIONS,
        *("real", "int", "bool", "vector", "query", "queries"),
        *("sensitivity", "adjacency", "lattice", "range", "default", "where", "same", "as"),
        *("when", "from", "at", "most", "delta", "zcdp"),
        *("until", "stop", "with", "probability", "rounds"),
    )
)
# Keywords at the start of a statement, unless they are being assigned to.
_BY_FOLLOWER = frozenset(("emit", "invariant", "case", "otherwise"))
_ASSIGNING = frozenset(("EQUAL", "TILDE", "PLUSEQ", "MINUSEQ", "PRIME", "LSQB"))


def parse(source: Source) -> Mechanism:
    """The AST of a spec, loops that count read as `for` (`counting`), clauses on lengths apart (`lengths`),
    tables as lists (`tables`).

    Raises SpecError, with the smallest span at fault, for anything that is no spec.
    """
    laid_out = layout(source)
    lexemes = laid_out.lexemes
    if len(lexemes) == 1 and laid_out.fault is None:
        raise fault(
            source,
            "empty-file",
            "this file holds nothing" + (" but comments" if laid_out.comments else ""),
            Span(0, 0),
            help="a spec begins with `mechanism NAME`",
        )
    check_sections(source, lexemes, whole=laid_out.fault is None)
    builder = Builder(source, _remarks(laid_out, source))
    tree = _tree(source, laid_out, builder)
    mechanism: Mechanism = builder.built(tree)
    check_limits(source, mechanism)
    return with_lengths_apart(counted(flat(counted(mechanism), source)))


def _tree(source: Source, laid_out: Layout, builder: Builder) -> Any:
    """The tree of a whole text. Raises SpecError where it is at fault first."""
    from lark import UnexpectedToken

    lexemes, parser, fed, tree = laid_out.lexemes, grammar().parse_interactive(), [], None
    for position in range(len(lexemes) - (laid_out.fault is not None)):
        fed.append(_in_context(lexemes, position, parser.choices()))
        try:
            tree = _feed(parser, fed[-1])
        except UnexpectedToken:
            before = _parser_after(fed[:-1])
            _check_parts(before, builder)
            expected = frozenset(before.accepts())
            raise diagnosis(source, lexemes, position, fed[-1], expected) from None
    if laid_out.fault is not None:
        _check_parts(parser, builder)
        raise laid_out.fault
    return tree


def _feed(parser: InteractiveParser, lexeme: Lexeme) -> Any:
    """The whole tree after the last lexeme. Lark asks a token for nothing but its type."""
    token: Any = lexeme
    return parser.feed_token(token)


def _parser_after(lexemes: Iterable[Lexeme]) -> InteractiveParser:
    """One that was fed these and no more: it may have gone on a step before it found the next one wrong."""
    parser = grammar().parse_interactive()
    for lexeme in lexemes:
        _feed(parser, lexeme)
    return parser


def _check_parts(parser: InteractiveParser, builder: Builder) -> None:
    """Raises SpecError for what is at fault in the parts that are complete: it stands further up."""
    for part in parser.parser_state.value_stack:
        builder.built(part)


def _in_context(lexemes: tuple[Lexeme, ...], position: int, choices: Container[str]) -> Lexeme:
    """The lexeme, as a keyword where its word is one at this place."""
    lexeme = lexemes[position]
    if lexeme.type != "NAME":
        return lexeme
    word = lexeme.text
    keyword = Lexeme(word.upper(), word, lexeme.start, lexeme.end)
    if word in _RESERVED:
        return keyword
    if keyword.type not in choices:
        return lexeme
    follower = lexemes[position + 1].type
    if word == "out":
        return keyword if _is_output(lexemes, position) else lexeme
    if word == "range" and "NAME" in choices:
        return keyword if follower == "LPAR" else lexeme
    if word == "repeat":
        called = follower == "NAME" and lexemes[position + 1].text not in _RESERVED
        return keyword if called and lexemes[position + 2].type == "LPAR" else lexeme
    if word in _BY_FOLLOWER:
        return lexeme if "NAME" in choices and follower in _ASSIGNING else keyword
    if word in _BY_PLACE:
        return lexeme if "NAME" in choices else keyword
    return lexeme


def _is_output(lexemes: tuple[Lexeme, ...], position: int) -> bool:
    """Whether the word `out` here is the output: `out is`, `out.`, `len(out)`, `out[…] is` or `out[…].`."""
    position += 1
    if lexemes[position].type == "RPAR":
        return [each.text for each in lexemes[max(0, position - 3) : position - 1]] == ["len", "("]
    if lexemes[position].type == "LSQB":
        depth = 1
        while depth and position + 2 < len(lexemes):
            position += 1
            depth += {"LSQB": 1, "RSQB": -1}.get(lexemes[position].type, 0)
        position += 1
    return lexemes[position].type == "DOT" or lexemes[position].text == "is"


def _remarks(laid_out: Layout, source: Source) -> tuple[str, ...]:
    """The comments about the whole: the lines directly above the head, beside it, and directly below it."""
    head = source.position(laid_out.lexemes[0].start)[0] - 1
    at = {comment.line: comment for comment in laid_out.comments}
    first = last = head
    while first - 1 in at and at[first - 1].alone:
        first -= 1
    while last + 1 in at and at[last + 1].alone:
        last += 1
    return tuple(at[line].text for line in range(first, last + 1) if line in at)
