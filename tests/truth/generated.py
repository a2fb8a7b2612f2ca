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

from draft import DENSITY, LOOP, Draft, Part
from parts_calling import called, called_selection, called_with_answers, called_with_clauses
from parts_deceptive import (
    careless,
    carried,
    crossed,
    exact_difference,
    lied,
    merged,
    tied,
    top_of_some,
)
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


def shared(chance: Random) -> Spec:
    """Two lists that move at one index, or one that moves in the direction of a single answer, or neither."""
    d = Draft(chance)
    tied, claim = d.likely(0.6), chance.choice((1, 1, 2, 3))
    if d.likely(0.5):
        way = d.pick("one", "one", "moved", "two")
        clause = f"adjacency {way}{', same index as q' if tied else ''} where len(s) == len(q)"
        other = f"s : int queries, sensitivity 1, {clause}"
        each = d.pick("q[i] if i == 0 else s[i]", "q[i] + s[i]", "q[i] - s[i]", "max(q[i], s[i])")
    else:
        way = d.pick("one", "monotone")
        other = f"s : int query, sensitivity 1{', same direction as q' if tied else ''}"
        each = d.pick("q[i] - s", "q[i] - s", "q[i] + s", "max(q[i], s) + q[i]", "abs(q[i] - s)")
    on_other = re.sub(r"\b([qs])\b", r"\1'", each)
    text = (
        f"mechanism generated\ninput\n  q : int queries, sensitivity 1, adjacency {way}\n  {other}\n"
        f"  eps : real where eps > 0\nprivacy {claim}*eps{d.pick('', '*len(q)')}\nprogram\n"
        f"  for i in range(len(q)):\n    xi[i] ~ DLap(1/eps)\n    emit a(v = ({each}) + xi[i])\n"
        f"align\n  xi[i] += ({each}) - ({on_other})\n"
    )
    return Spec(text, (), frozenset({LOOP}), ("shared",))


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
    again = d.likely(0.3)
    program = [choose, f"emit chosen({emitted})"]
    if again:
        program += [choose.replace("w ~", "v ~"), "emit again(index = v)"]
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
)
LAST = (sparse, histogram, running, several, weighted, careless, lied)
"""They release as many records as there are answers, so nothing comes after them."""


def generated(seed: int) -> Spec:
    """The spec with this number."""
    chance = Random(seed)
    if seed % 40 == 39:
        return shared(chance)
    if chance.random() < 0.04:
        return density(chance)
    d = Draft(chance, continuous=chance.random() < 0.15)
    parts = [chance.choice(WRONG if chance.random() < 0.3 else RIGHT)]
    if chance.random() < 0.25:
        parts.append(chance.choice(RIGHT))
    parts.sort(key=lambda part: part in LAST)
    for part in parts:
        part(d)
    spec = replace(written(d), parts=tuple(part.__name__ for part in parts))
    if chance.random() < 0.55:
        return replace(spec, is_right=all(part in RIGHT for part in parts))
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
    return _one_of(r"^privacy (.*)$", lambda m, _: f"privacy {factor}*({m[1]})", text, chance)


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


CHANGES: tuple[Change, ...] = (
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
)
