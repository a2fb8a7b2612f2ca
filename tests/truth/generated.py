"""Random specs, many of them right by design, many nearly so, some made to deceive.

A spec is put together from parts, each with its noise, its alignment and its cost; one change or two then
spoil about half of them. Nothing here says which are private: that is for `contradiction` to find out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from textwrap import indent

from draft import DENSITY, Draft, Part
from parts_calling import called, called_selection, called_with_answers, called_with_clauses
from parts_claims import around, claimed_again
from parts_deceptive import careless, carried, crossed, exact_difference, lied, merged, tied, top_of_some
from parts_mixed import (
    called_in_rounds,
    counted_down,
    earlier_noise,
    gap,
    group,
    hidden_by_or,
    masked,
    peak,
    rounded,
    several,
    tested_release,
    weighted,
)
from parts_right import (
    ahead,
    branch,
    histogram,
    largest,
    nested,
    nested_branch,
    release_ahead,
    running,
    sparse,
    sums_of_noise,
    swapped,
    total,
    value,
)
from parts_written import (
    budgeted,
    called_on_the_rest,
    cells,
    counted,
    flagged,
    leader,
    repeated,
    repeated_by_private,
    rounds,
    scaled_by_last,
    search_on,
    shrinking,
    together,
    where_found,
)

from aligncheck.language.diagnostics import Diagnostic, Label, SpecError
from aligncheck.language.source import Source, Span


@dataclass(frozen=True, slots=True)
class Spec:
    """The text, the texts of what it calls by file name, and the constructs in it; `is_right`: made to be
    right, and not spoiled.
    """

    text: str
    callees: tuple[tuple[str, str], ...]
    constructs: frozenset[str]
    parts: tuple[str, ...] = ()
    is_right: bool = False

    @property
    def source(self) -> Source:
        return Source("generated.dp", self.text)

    def read(self, path: str) -> Source:
        """The text of a callee."""
        for name, text in self.callees:
            if name == path:
                return Source(name, text)
        raise SpecError(self.source, Diagnostic("unreadable", f"no {path}", Label(Span(0, 0))))

    def without_alignment(self) -> Spec:
        """No noise moves, in what it calls neither; where densities bound the loss, the claim is 0."""
        return replace(
            self,
            text=_emptied(self.text),
            callees=tuple((name, _emptied(text)) for name, text in self.callees),
        )

    def __str__(self) -> str:
        return "\n".join((self.text, *(f"# {name}\n{text}" for name, text in self.callees)))


def _emptied(text: str) -> str:
    if "\nalign\n" in text:
        return text[: text.index("\nalign\n") + 1]
    if " ~ Choose(" in text:
        return re.sub(r"^privacy .*$", "privacy 0", text, flags=re.MULTILINE)
    return text


# --- densities --------------------------------------------------------------------------------------------


def density(chance: Random) -> Spec:
    """The exponential mechanism, with weights and claims that fit or not."""
    d = Draft(chance)
    adjacency = d.pick("all", "all", "monotone", "one")
    share = Fraction(chance.choice((1, 1, 2)), chance.choice((1, 2)))
    factor = chance.choice((1, 2, 2, 2, 4))
    weight = d.pick("q[j]", "q[j]", "q[j] + j", "-q[j]", "max(q[j], 1)", "2*q[j]", "abs(q[j])")
    over = d.pick("q", "q", "q where j != 0", "range(2)", "q where j >= 1 or len(q) <= 2")
    claim = d.pick(f"{share}*eps", f"{share}*eps", f"{share}*eps/2", f"2*{share}*eps")
    emitted = d.pick("index = w", "index = w", "index = 2*w + 1", "index = w, first = w == 0")
    choose = f"w ~ Choose(exp({share}*eps*({weight})/{factor}) for j in {over})"
    if d.likely(0.4):
        low = d.pick("", "", " where g > 0", " where g > q[0]")
        scale = d.pick(
            f"1/({share}*eps)", f"1/({share}*eps)", "1/eps", f"2/({share}*eps)", "(1 + abs(q[0]))/eps"
        )
        choose, emitted = f"g ~ Logistic({weight.replace('j', '0')}, {scale}){low}", "number = g"
    again = d.likely(0.3)
    program = [choose, f"emit chosen({emitted})"]
    if again:
        second = re.sub(r"^[wg] ~", "v ~", choose).replace("where g", "where v")
        program += [second, "emit again(index = v)"]
        claim = f"2*({claim})"
    text = (
        f"mechanism generated\ninput\n  q : int queries, sensitivity 1, adjacency {adjacency}\n"
        f"  eps : real where eps > 0 and len(q) >= 2\nprivacy {claim}\nprogram\n{_block(program)}\n"
    )
    return Spec(text, (), frozenset({DENSITY}), ("density",))


# --- whole specs ------------------------------------------------------------------------------------------

RIGHT: tuple[Part, ...] = (
    value,
    branch,
    nested_branch,
    histogram,
    total,
    running,
    sparse,
    largest,
    largest,
    nested,
    nested,
    sums_of_noise,
    swapped,
    swapped,
    ahead,
    ahead,
    release_ahead,
    called,
    called_selection,
    called_with_clauses,
    called_with_answers,
    tested_release,
    earlier_noise,
    group,
    rounded,
    counted_down,
    masked,
    gap,
    peak,
    several,
    weighted,
    hidden_by_or,
    called_in_rounds,
)
WRITTEN: tuple[Part, ...] = (
    search_on,
    flagged,
    where_found,
    budgeted,
    shrinking,
    scaled_by_last,
    leader,
    leader,
    leader,
    counted,
    called_on_the_rest,
    cells,
    together,
    repeated,
)
WRONG: tuple[Part, ...] = (
    merged,
    merged,
    crossed,
    carried,
    carried,
    tied,
    tied,
    exact_difference,
    top_of_some,
    top_of_some,
    careless,
    careless,
    lied,
    repeated_by_private,
)
LAST = (
    *(sparse, histogram, running, several, weighted, careless, lied),
    *(flagged, budgeted, scaled_by_last, counted, cells, together),
)
"""They release as many records as there are answers, so nothing comes after them."""
LATER, NEWER = 1_000_000, (rounds,)
"""From this number on half of the specs begin with a part of these; what has a smaller one stays as it is."""


def generated(seed: int) -> Spec:
    """The spec with this number."""
    chance = Random(seed)
    if chance.random() < 0.04:
        return density(chance)
    d = Draft(chance, continuous=chance.random() < 0.15)
    newer = seed >= LATER and chance.random() < 0.5
    parts = [chance.choice(NEWER if newer else chance.choice((RIGHT, RIGHT, WRITTEN, WRITTEN, WRONG)))]
    if chance.random() < 0.25:
        parts.append(chance.choice(chance.choice((RIGHT, WRITTEN))))
    wraps = chance.random() < 0.12
    parts = parts[:1] if wraps else parts
    parts.sort(key=lambda part: part in LAST)
    placed = True
    for part in parts:
        placed = placed and d.place is not None
        part(d)
    spec = replace(written(d), parts=tuple(part.__name__ for part in parts))
    if wraps:
        text = around(d, spec.text)
        names = (*spec.parts, around.__name__)
        spec = Spec(text, tuple(d.callees.items()), frozenset(d.constructs), names)
    if chance.random() < 0.55:
        return replace(spec, is_right=placed and not any(part in WRONG for part in parts))
    return spoiled(spec, chance)


def written(d: Draft) -> Spec:
    inputs = {**d.inputs}
    if "q" in inputs:
        kind = "queries" if d.continuous and d.likely(0.5) else "int queries"
        inputs["q"] = f"q : {kind}, sensitivity 1, adjacency {d.adjacency}"
    at_least = f" and len(q) >= {d.least}" if "q" in inputs else ""
    inputs["eps"] = f"eps : real where eps > 0{at_least}"
    terms = [f"{d.cost}*eps" if d.cost != 1 else "eps"] if d.cost else []
    if d.each:
        terms.append(f"{d.each}*eps*len(q)")
    if d.plus:
        terms.append(f"{d.plus}")
    uses = "".join(f'use {name.removesuffix(".dp")} from "{name}"\n' for name in d.callees)
    text = (
        f"mechanism generated\n{uses}input\n{_block(list(inputs.values()))}\n"
        f"privacy {' + '.join(terms) or '0'}\n"
        f"program\n{_block(d.program)}\n" + (f"align\n{_block(d.align)}\n" if d.align else "")
    )
    return Spec(text, tuple(d.callees.items()), frozenset(d.constructs))


def _block(lines: list[str]) -> str:
    return indent("\n".join(lines), "  ")


def spoiled(spec: Spec, chance: Random) -> Spec:
    """One change, or two."""
    for _ in range(chance.choice((1, 1, 2))):
        change = chance.choice(CHANGES)
        spec = replace(spec, text=change(spec.text, chance))
    return spec


Change = Callable[[str, Random], str]


def _one_of(pattern: str, put: Callable[[re.Match[str], Random], str], text: str, chance: Random) -> str:
    found = list(re.finditer(pattern, text, flags=re.MULTILINE))
    if not found:
        return text
    m = chance.choice(found)
    return text[: m.start()] + put(m, chance) + text[m.end() :]


def _scale(text: str, chance: Random) -> str:
    """Half the noise, or twice; stairs that are twice as high, or half as wide."""
    factor = chance.choice(("1/2", "1/2", "2"))
    if "Staircase" in text and chance.random() < 0.5:
        other = chance.choice(("2*({}), {}", "{}, ({})/2"))
        pattern = r"(Staircase\()([^,\n]*), ([^,\n]*)"
        return _one_of(pattern, lambda m, _: m[1] + other.format(m[2], m[3]), text, chance)
    return _one_of(
        r"(DLap|Lap|DExp|Exp|Logistic)\(([^~\n]*)\)$", lambda m, _: f"{m[1]}({factor}*({m[2]}))", text, chance
    )


def _claim(text: str, chance: Random) -> str:
    factor = chance.choice(("1/2", "1/2", "3/4", "2"))
    pattern = r"^privacy (.*?)( zcdp| delta .*|)$"
    return _one_of(pattern, lambda m, _: f"privacy {factor}*({m[1]}){m[2]}", text, chance)


def _align_line(text: str, chance: Random, put: Callable[[str], str]) -> str:
    if "\nalign\n" not in text:
        return text
    head, align = text.split("\nalign\n")
    lines = align.splitlines()
    places = [place for place, line in enumerate(lines) if "+=" in line or "-=" in line]
    if places:
        place = chance.choice(places)
        lines[place] = put(lines[place])
    return head + "\nalign\n" + "\n".join(lines) + "\n"


def no_guard(text: str, chance: Random) -> str:
    return _align_line(text, chance, lambda line: line.split(" when ")[0])


def no_shift(text: str, chance: Random) -> str:
    return _align_line(text, chance, lambda line: re.sub(r"([+-]=) .*?( when |$)", r"\1 0\2", line))


def other_sign(text: str, chance: Random) -> str:
    return _align_line(
        text, chance, lambda line: line.replace("+=", "-=") if "+=" in line else line.replace("-=", "+=")
    )


def other_shift(text: str, chance: Random) -> str:
    more = chance.choice((" + 1", " - 1", "*2"))
    return _align_line(
        text,
        chance,
        lambda line: re.sub(
            r"([+-]= )(.*?)( when |$)", lambda m: f"{m[1]}({m[2]}){more}{m[3]}", line, count=1
        ),
    )


def _adjacency(text: str, chance: Random) -> str:
    way = chance.choice(("all", "all", "one", "monotone", "moved", "l1"))
    return _one_of(r"adjacency \w+", lambda m, _: f"adjacency {way}", text, chance)


def _comparison(text: str, chance: Random) -> str:
    other = {">=": ">", "<=": "<", "==": "!=", ">": ">=", "<": "<="}
    head, *rest = re.split(r"(?=\nprogram\n)", text)
    return head + _one_of(r"(?<= )(>=|<=|==|>|<)(?= )", lambda m, _: other[m[1]], "".join(rest), chance)


def _family(text: str, chance: Random) -> str:
    other = {"DLap": ("Lap", "DExp"), "Lap": ("DLap", "Exp"), "DExp": ("Exp", "DLap"), "Exp": ("DExp", "Lap")}
    other["Logistic"] = ("Lap", "Exp")
    return _one_of(r"\b(DLap|Lap|DExp|Exp|Logistic)\b", lambda m, c: c.choice(other[m[1]]), text, chance)


def _answers(text: str, chance: Random) -> str:
    return _one_of(
        r"emit (\w+)\(([^=\n]*)\)$",
        lambda m, c: f"emit {m[1]}({m[2]} + {c.choice(('a', 'q[0]', '1'))})",
        text,
        chance,
    )


def _clause(text: str, chance: Random) -> str:
    return _one_of(
        r"where (\w+ [<>=]+ [^\n]*)$", lambda m, _: f"where {m[1].split(' and ')[0]}", text, chance
    )


def _real(text: str, chance: Random) -> str:
    return _one_of(
        r"(int queries|, lattice 1)",
        lambda m, _: m[1].removeprefix("int ").replace(", lattice 1", ""),
        text,
        chance,
    )


def _swap(text: str, chance: Random) -> str:
    """Two lines of the program, one after the other."""
    head, _, rest = text.partition("\nprogram\n")
    program, align, tail = rest.partition("\nalign\n")
    lines = program.split("\n")
    flat = [
        k
        for k in range(len(lines) - 1)
        if re.match(r"  \S", lines[k])
        and re.match(r"  \S", lines[k + 1])
        and not re.search(r":$|else", lines[k] + lines[k + 1])
    ]
    if flat:
        k = chance.choice(flat)
        lines[k], lines[k + 1] = lines[k + 1], lines[k]
    return head + "\nprogram\n" + "\n".join(lines) + align + tail


def _apart(text: str, chance: Random) -> str:
    """Lines that shared an index, or a direction, share none."""
    return _one_of(r", same (index|direction) as \w+", lambda m, _: "", text, chance)


def _program(text: str, chance: Random, change: Callable[[list[str]], None]) -> str:
    """The lines of the program, changed."""
    head, _, rest = text.partition("\nprogram\n")
    program, sep, align = rest.partition("\nalign\n")
    lines = program.rstrip("\n").split("\n")
    change(lines)
    return head + "\nprogram\n" + "\n".join(lines) + ("" if sep else "\n") + sep + align


def _drop(text: str, chance: Random) -> str:
    """A statement that gives a value, or leaves a loop, is left out."""

    def change(lines: list[str]) -> None:
        found = [k for k, line in enumerate(lines) if re.match(r" {4,}(\w+ = .*|break)$", line)]
        if found:
            k = chance.choice(found)
            lines[k] = re.sub(r"\S.*", "pass", lines[k])

    return _program(text, chance, change)


def _turn(text: str, chance: Random) -> str:
    """Two statements of a block change places."""

    def change(lines: list[str]) -> None:
        found = [
            k
            for k in range(len(lines) - 1)
            if re.match(r" {4,}\S", lines[k])
            and len(lines[k]) - len(lines[k].lstrip()) == len(lines[k + 1]) - len(lines[k + 1].lstrip())
            and not re.search(r":$|else|invariant", lines[k] + "\n" + lines[k + 1])
        ]
        if found:
            k = chance.choice(found)
            lines[k], lines[k + 1] = lines[k + 1], lines[k]

    return _program(text, chance, change)


def _index(text: str, chance: Random) -> str:
    """An index is one more, or one less, or the first."""
    head, sep, rest = text.partition("\nprogram\n")
    put = chance.choice(("{} + 1", "{} - 1", "0", "{}"))
    return head + sep + _one_of(r"\[([^\[\]\n]+)\]", lambda m, _: f"[{put.format(m[1])}]", rest, chance)


def _and(text: str, chance: Random) -> str:
    """`or` for `and`, a test turned around, or a truth value."""
    other = {"and": "or", "or": "and", "true": "false", "false": "true", "if not": "if", "if": "if not"}
    head, sep, rest = text.partition("\nprogram\n")
    words = r"\b(and|or|true|false)\b|(?<= )(if not)(?= \w+:)|(?<= )(if)(?= \w+:)"
    return head + sep + _one_of(words, lambda m, _: other[m[0]], rest, chance)


def _number(text: str, chance: Random) -> str:
    """A number that a variable starts with, or is given."""
    head, sep, rest = text.partition("\nprogram\n")
    put = chance.choice(("1", "0", "2"))
    return head + sep + _one_of(r"(?<= = )\d+$", lambda m, _: put, rest, chance)


def _value(text: str, chance: Random) -> str:
    """One variable of the program in place of another one."""
    head, sep, rest = text.partition("\nprogram\n")
    names = sorted(set(re.findall(r"^ +(\w+) = ", rest, flags=re.MULTILINE)))
    if len(names) < 2:
        return text
    there = chance.choice(names)
    pattern = r"\b(" + "|".join(names) + r")\b(?! =)"
    return head + sep + _one_of(pattern, lambda m, _: there, rest, chance)


CHANGES: tuple[Change, ...] = (
    *(_apart, _drop, _drop, _turn, _turn, _index, _index, _and, _number, _value, _value),
    _scale,
    _claim,
    _claim,
    no_guard,
    no_shift,
    other_sign,
    other_shift,
    _adjacency,
    _comparison,
    _family,
    _answers,
    _clause,
    _real,
    _swap,
    claimed_again,
)
