"""Random specs, many of them right by design, many nearly so, some made to deceive.

A spec is put together from parts, each with its noise, its alignment and its cost; one change or two then
spoil about half of them. Nothing here says which are private: that is for `contradiction` to find out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from textwrap import indent

from aligncheck.diagnostics import Diagnostic, Label, SpecError
from aligncheck.source import Source, Span

BRANCH, LOOP, STATE, INVARIANT = "branches", "loops", "state through loops", "invariants"
SELECTION, NESTED, CALL, DENSITY = "selections", "nested sets", "calls", "densities"
CANCEL, AHEAD, OWN = "shifts that cancel", "look-ahead shifts", "shifts by own noise"
CONSTRUCTS = (BRANCH, LOOP, STATE, INVARIANT, SELECTION, NESTED, CANCEL, AHEAD, OWN, CALL, DENSITY)


@dataclass(frozen=True, slots=True)
class Spec:
    """The text, the texts of what it calls by file name, and the constructs in it."""

    text: str
    callees: tuple[tuple[str, str], ...]
    constructs: frozenset[str]
    parts: tuple[str, ...] = ()

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


@dataclass(slots=True)
class Draft:
    """A spec in the making; `place` is the number of the next record, None where it is not known."""

    chance: Random
    inputs: dict[str, str] = field(default_factory=dict)
    adjacency: str = "all"
    least: int = 1
    lengths: str = ""
    program: list[str] = field(default_factory=list)
    align: list[str] = field(default_factory=list)
    cost: Fraction = Fraction(0)
    each: Fraction = Fraction(0)
    callees: dict[str, str] = field(default_factory=dict)
    constructs: set[str] = field(default_factory=set)
    names: int = 0
    place: int | None = 0
    continuous: bool = False

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def likely(self, share: float) -> bool:
        return self.chance.random() < share

    def paid(self, share: Fraction | None = None, each: bool = False) -> Fraction:
        """A share of the budget: 1 or 1/2; `each`: for every answer."""
        found = Fraction(1, self.chance.choice((1, 1, 2))) if share is None else share
        if each:
            self.each += found
        else:
            self.cost += found
        return found

    def noise(self, most: int | Fraction, share: Fraction, one_sided: bool = False) -> str:
        """A family, with a scale at which moves of `most` cost `share`."""
        scale = Fraction(most) / share
        text = (
            f"{scale.numerator}/eps"
            if scale.denominator == 1
            else f"{scale.numerator}/({scale.denominator}*eps)"
        )
        if self.continuous:
            return f"{'Exp' if one_sided else 'Lap'}({text})"
        if one_sided and self.likely(0.3):
            return f"Geo(1 - exp(-({1 / scale}*eps)))"
        return f"{'DExp' if one_sided else 'DLap'}({text})"

    def a(self) -> str:
        """A private bit."""
        self.inputs["a"] = "a : query, sensitivity 1, range [0, 1], lattice 1"
        return "a"

    def one(self) -> str:
        """One private answer."""
        if self.likely(0.5):
            return self.a()
        self.q("all")
        return "q[0]"

    def q(self, *adjacencies: str, least: int = 1) -> None:
        """Private answers, with one of these adjacencies."""
        if "q" not in self.inputs:
            self.adjacency = self.pick(*adjacencies)
        self.inputs["q"] = ""
        self.least = max(self.least, least)

    def released(self, records: int) -> None:
        self.place = None if self.place is None else self.place + records

    def guard(self, tag: str, at: int = 0) -> str:
        return f"out[{(self.place or 0) + at}] is {tag}"


Part = Callable[[Draft], None]


def primed(text: str) -> str:
    """On D'."""
    return re.sub(r"\b(a\b(?!')|q(?=\[))", r"\1'", text)


# --- parts that are right ---------------------------------------------------------------------------------


def answer(d: Draft) -> tuple[str, int]:
    """A number computed from one private answer, and how far it may move."""
    x = d.one()
    shape, most = d.chance.choice(
        (
            ("{}", 1),
            ("{}", 1),
            ("2*{}", 2),
            ("-{}", 1),
            ("abs({})", 1),
            ("max({}, 1)", 1),
            ("clip({}, 0, 1)", 1),
        )
    )
    return shape.format(x), most


def value(d: Draft) -> None:
    e, most = answer(d)
    n, share = d.name("n"), d.paid()
    d.program.append(f"{n} ~ {d.noise(most, share)}")
    if d.likely(0.3):
        v = d.name("v")
        d.program.insert(len(d.program) - 1, f"{v} = {e}")
        e, back = v, f"{v}'"
    else:
        back = primed(e)
    d.program.append(f"emit {d.name('value')}({e} + {n})")
    d.align.append(f"{n} += {e} - ({back})" + _redundant(d, n))
    d.released(1)


def branch(d: Draft) -> None:
    e, most = answer(d)
    n, share, tag = d.name("n"), d.paid(), d.name("t")
    d.constructs.add(BRANCH)
    d.program.append(f"{n} ~ {d.noise(most, share)}")
    bound = d.pick("0", "1", "2")
    way = d.chance.randrange(3)
    if way == 0:
        d.program += [f"if {e} + {n} >= {bound}:", f"  emit yes{tag}", "else:", f"  emit no{tag}"]
    else:
        d.program += [f"if {e} + {n} < {bound}:", f"  emit no{tag}", "else:", f"  emit yes{tag}"]
    if d.likely(0.5):
        d.align.append(f"{n} += {e} - ({primed(e)})" + _redundant(d, n))
    else:
        d.align.append(f"{n} += {most} when {d.guard('yes' + tag)}")
        d.align.append(f"{n} -= {most} when {d.guard('no' + tag)}")
    d.released(1)


def nested_branch(d: Draft) -> None:
    """A second test where the first one fails."""
    e, most = answer(d)
    n, m, tag, half = d.name("n"), d.name("m"), d.name("t"), d.paid() / 2
    d.constructs.add(BRANCH)
    d.program += [
        f"{n} ~ {d.noise(most, half)}",
        f"if {e} + {n} >= 1:",
        f"  emit high{tag}",
        "else:",
        f"  {m} ~ {d.noise(most, half)}",
        f"  if {e} + {m} >= 0:",
        f"    emit middle{tag}",
        "  else:",
        f"    emit low{tag}",
    ]
    d.align += [f"{n} += {e} - ({primed(e)})", f"{m} += {e} - ({primed(e)})" + _redundant(d, m)]
    d.released(1)


def histogram(d: Draft) -> None:
    d.q("one", "l1", "all", "moved")
    each = d.adjacency in ("all", "monotone")
    share = d.paid(each=each)
    n = d.name("n")
    d.constructs.add(LOOP)
    most = 2 if d.adjacency == "moved" else 1
    d.program += [
        "for i, x in q:",
        *_invariant(d),
        f"  {n}[i] ~ {d.noise(most, share)}",
        f"  emit {d.name('bin')}(x + {n}[i])",
    ]
    d.align.append(f"{n}[i] += q[i] - q'[i]")
    d.place = None


def total(d: Draft) -> None:
    """A sum carried through a loop, released at the end."""
    d.q("one", "l1", "all", "monotone")
    n, s = d.name("n"), d.name("s")
    d.constructs |= {LOOP, STATE}
    if d.adjacency in ("all", "monotone"):
        share, most = d.paid(), "len(q)"
        d.constructs.add(INVARIANT)
        told = [
            "  invariant " + d.pick(f"abs({s}' - {s}) <= i", f"{s}' - {s} <= i and {s} - {s}' <= i"),
        ]
        noise = f"DLap({most}/({share}*eps))"
    else:
        share = d.paid()
        told = _invariant(d)
        noise = d.noise(1, share)
    d.program += [
        f"{s} = 0",
        "for i, x in q:",
        *told,
        f"  {s} = {s} + x",
        f"{n} ~ {noise}",
        f"emit {d.name('total')}({s} + {n})",
    ]
    d.align.append(f"{n} += {s} - {s}'" + _redundant(d, n))
    d.released(1)


def running(d: Draft) -> None:
    """A sum after every answer; the noise may be carried as well."""
    d.q("one", "l1", "all")
    n, s = d.name("n"), d.name("s")
    d.constructs |= {LOOP, STATE}
    if d.likely(0.5):
        share = d.paid(each=d.adjacency == "all")
        d.program += [
            f"{s} = 0",
            "for i, x in q:",
            *_invariant(d),
            f"  {n}[i] ~ {d.noise(1, share)}",
            f"  {s} = {s} + x + {n}[i]",
            f"  emit {d.name('sum')}({s})",
        ]
        d.align.append(f"{n}[i] += q[i] - q'[i]")
    elif d.adjacency == "all":
        return total(d)
    else:
        share = d.paid(each=True)
        d.program += [
            f"{s} = 0",
            "for i, x in q:",
            *_invariant(d),
            f"  {s} = {s} + x",
            f"  {n}[i] ~ {d.noise(1, share)}",
            f"  emit {d.name('sum')}({s} + {n}[i])",
        ]
        d.align.append(f"{n}[i] += {s} - {s}'")
    d.place = None
    return None


def sparse(d: Draft) -> None:
    """The sparse vector, up to the first answers above a noisy threshold."""
    d.q("all", "all", "one", "monotone")
    share, most = d.paid(), d.chance.choice((1, 1, 2))
    t, n, c = d.name("t"), d.name("n"), d.name("c")
    base = d.place
    d.constructs |= {LOOP, BRANCH} | ({STATE} if most > 1 else set())
    up, down, first = d.name("up"), d.name("down"), d.name("e")
    stop = [f"    {c} = {c} + 1", f"    if {c} >= 2: break"] if most > 1 else ["    break"]
    d.program += [
        f"{first} ~ {d.noise(2, share)}",
        f"{t} = {d.pick('0', '1')} + {first}",
        *([f"{c} = 0"] if most > 1 else []),
        "for i, x in q:",
        *_invariant(d),
        f"  {n}[i] ~ {d.noise(4 * most, share)}",
        f"  if x + {n}[i] >= {t}:",
        f"    emit {up}",
        *stop,
        "  else:",
        f"    emit {down}",
    ]
    place = "i" if not base else f"i + {base}"
    d.align += [
        f"{first} += 1" + _redundant(d, first),
        f"{n}[i] += 1 + q[i] - q'[i] when out[{place}] is {up}",
    ]
    d.place = None


def largest(d: Draft) -> None:
    """The index of the greatest noisy answer, or of the greatest ones, or of the least."""
    d.constructs.add(SELECTION)
    way = d.pick("argmax", "argmax", "argmin", "top", "upto", "value")
    n, w, tag = d.name("n"), d.name("w"), d.name("t")
    d.q(*(("one", "l1") if way == "value" else ("all", "all", "one", "monotone")), least=2)
    count = 2 if way in ("top", "upto") else 1
    share = d.paid()
    monotone = d.adjacency == "monotone" and way != "argmin"
    most = 1 if way == "value" or monotone else 2
    one_sided = way != "argmin" and way != "value" and d.likely(0.3)
    d.program += ["for i, x in q:", f"  {n}[i] ~ {d.noise(most * count, share, one_sided)}"]
    body = f"q[j] + {n}[j] for j in q"
    match way:
        case "argmax" | "argmin":
            d.program += [f"{w} = {way}({body})", f"emit {tag}(index = {w})"]
        case "top" | "upto":
            d.program += [
                f"{w} = {way}(2, {body})",
                f"for r in range(len({w})):",
                f"  emit {tag}(index = {w}[r])",
            ]
        case _:
            d.program += [f"{w} = {d.pick('max', 'min')}({body})", f"emit {tag}({w})"]
    chosen = f"when i {'in' if count > 1 else '=='} {w}"
    if way == "value":
        d.align.append(f"{n}[i] += q[i] - q'[i]" + _redundant(d, f"{n}[i]"))
    elif monotone:
        d.align += [
            "case q <= q':",
            f"  {n}[i] += 1 + q[i] - q'[i] {chosen}",
            "otherwise:",
            f"  {n}[i] += q[i] - q'[i] {chosen}",
        ]
        if d.likely(0.5):
            d.align[-4:] = [f"{n}[i] += 1 {chosen}"]
    elif way == "argmin":
        d.align.append(f"{n}[i] -= 1 + q'[i] - q[i] {chosen}")
    else:
        d.align.append(f"{n}[i] += 1 + q[i] - q'[i]" + _redundant(d, f"{n}[i]") + f" {chosen}")
    d.released(1)
    if count > 1:
        d.place = None


def nested(d: Draft) -> None:
    """Sets within sets; the inner one may depend on the index of the outer one."""
    d.constructs |= {NESTED, SELECTION}
    d.q("all", "all", "monotone", "one", least=2)
    n, w, tag, share = d.name("n"), d.name("w"), d.name("t"), d.paid()
    inner, over, windows = d.chance.choice(
        (
            ("{f}({q}[l] for l in range({j}, {j} + 2))", "range(len(q) - 1)", True),
            ("{f}({q}[l] for l in range(0, {j} + 1))", "q", False),
            ("{f}({q}[l] for l in range({j}, {j} + 1))", "q", False),
            ("{f}({q}[l] for l in q where l != {j})", "q", False),
            ("{f}({q}[l] for l in q where l <= {j})", "q", False),
            *[("{q}[{j}] + {f}({q}[l] for l in q)", "q", False)] * 2,
            *[("{q}[{j}] - {f}({q}[l] for l in range(2))", "q", False)] * 2,
            *[("max({q}[{j}], {f}({q}[l] for l in range(1, 2)))", "q", False)] * 2,
        )
    )
    d.least = max(d.least, 3 if windows else 2)
    f = d.pick("max", "max", "min")

    def of(q: str, j: str) -> str:
        return inner.format(f=f, q=q, j=j)

    most, shift = d.chance.choice(
        (
            (4 if inner.startswith("{q}[") else 2, f"1 + {of('q', 'i')} - ({primed(of('q', 'i'))})"),
            *[(2, "1 + q[i] - q'[i]")] * 3,
            (2, "2"),
            (1, "1"),
        )
    )
    loop = "for i in range(len(q) - 1):" if windows else "for i, x in q:"
    d.program += [loop, f"  {n}[i] ~ {d.noise(most, share)}"]
    j = d.name("j")
    d.program += [f"{w} = argmax({of('q', j)} + {n}[{j}] for {j} in {over})", f"emit {tag}(index = {w})"]
    if d.likely(0.85):
        d.align.append(f"{n}[i] += {shift} when i == {w}")
    d.released(1)


def sums_of_noise(d: Draft) -> None:
    """Numbers of sets over noise: a released maximum or sum of noisy answers, sets within sets."""
    d.constructs |= {NESTED}
    d.q("one", "l1", least=2)
    n, share = d.name("n"), d.paid()
    body = d.pick(
        "sum(max(q[l] + {n}[l], 0) for l in q)",
        "max(sum(q[l] + {n}[l] for l in range(0, j + 1)) for j in q)",
        "max(max(q[l] + {n}[l] for l in range(0, j + 1)) for j in q)",
        "sum(q[l] + {n}[l] for l in q) + max(q[l] + {n}[l] for l in q)",
        "max(q[j] + {n}[j] + max(q[l] + {n}[l] for l in q) for j in q)",
    )
    d.program += [
        "for i, x in q:",
        f"  {n}[i] ~ {d.noise(1, share)}",
        f"emit {d.name('v')}({body.format(n=n)})",
    ]
    d.align.append(f"{n}[i] += q[i] - q'[i]" + _redundant(d, f"{n}[i]"))
    d.released(1)


def exact_difference(d: Draft) -> None:
    """A difference of private numbers that is always 0, or not; with noise or without."""
    d.constructs |= {NESTED}
    d.q("all", least=2)
    peak = "max(max(q[l] for l in range(0, {j} + 1)) for {j} in {over})"
    first = peak.format(j="j", over="q")
    second = d.pick(
        "max(q[l] for l in q)",
        peak.format(j="j", over="range(2)"),
        peak.format(j="j", over="range(1)"),
        peak.format(j="k", over="q"),
        "max(q[l] for l in range(1))",
    )
    n, share = d.name("n"), d.paid()
    d.program += [f"{n} ~ {d.noise(1, share)}"]
    other = d.pick("", f" + q[0] + {n}")
    d.program.append(f"emit {d.name('v')}({first} - {second}{other})")
    if other:
        d.align.append(f"{n} += q[0] - q'[0]")
    d.released(1)


def swapped(d: Draft) -> None:
    """Two sets of values of the noise change places: the shift depends on the draw itself, one-to-one.

    The draw is read by its name, or by something that is computed from it.
    """
    a = d.a()
    size, by = d.chance.randint(1, 2), d.chance.randint(1, 3)
    by = max(by, size)
    low = d.chance.randint(-1, 1)
    n, tag, share = d.name("n"), d.name("t"), d.paid()
    array = d.likely(0.6)
    draw = f"{n}[0]" if array else n
    here = (low, low + size - 1)
    there = (here[0] + by, here[1] + by)
    d.constructs |= {OWN, BRANCH}
    noise = d.noise(by, share)
    d.program += ["for i in range(1):", f"  {n}[i] ~ {noise}"] if array else [f"{n} ~ {noise}"]
    read = alias(d, draw, n if array else None)
    d.program += [
        f"if ({a} <= 0 and {_within(draw, here)}) or ({a} >= 1 and {_within(draw, there)}):",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    name = f"{n}[i]" if array else n
    d.align += [
        "case a != a':",
        f"  {name} += {by} when {_within(read, here)}",
        f"  {name} -= {by} when {_within(read, there)}",
        "otherwise:",
        f"  {name} += 0",
    ]
    d.released(1)


def _within(x: str, ends: tuple[int, int]) -> str:
    low, high = ends
    return f"{x} == {low}" if low == high else f"{x} >= {low} and {x} <= {high}"


def alias(d: Draft, draw: str, array: str | None) -> str:
    """Another way to say what a draw is, by a maximum, a sum or a variable; or the draw itself."""
    b = d.name("best")
    over = f"{array}[j] for j in range(1)" if array else f"{draw} for j in range(1)"
    match d.chance.randrange(8):
        case 0 | 1:
            d.program.append(f"{b} = {d.pick('max', 'min')}({over})")
        case 2 if array:
            d.program += [f"{b} = max(max({array}[l] for l in range(0, j + 1)) for j in range(1))"]
            d.constructs.add(NESTED)
        case _:
            return draw
    d.constructs.add(SELECTION)
    return b


def ahead(d: Draft) -> None:
    """A shift that reads noise drawn later: one-to-one, since what it reads does not move by it."""
    e, most = answer(d)
    c, b, share, tag = d.name("c"), d.name("b"), d.paid(), d.name("t")
    d.constructs |= {AHEAD, BRANCH}
    d.program += [f"{c} ~ {d.noise(most, share)}", f"{b} ~ {d.noise(1, Fraction(1))}"]
    d.program += [
        f"if {e} + {c} >= {d.pick('0', '1')} {d.pick('and', 'or')} {b} > {d.pick('0', '1')}:",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    reads = d.pick(f"({b} if {b} > 0 else {b})", f"{b}", f"max({b}, 0)")
    shift = f"{e} - ({primed(e)})"
    match d.chance.randrange(3):
        case 0:
            d.align.append(f"{c} += {shift} when {b} <= {d.pick('0', '1', '2')}")
            d.align.append(f"{c} += {shift} when not {d.align[-1].split(' when ')[1]}")
        case 1:
            d.align.append(f"{c} += {shift} + {reads} - {reads}")
            d.constructs.add(CANCEL)
        case _:
            d.align.append(f"{c} += ({shift} if {b} > 0 else {shift})")
    d.released(1)


def release_ahead(d: Draft) -> None:
    """The first draw moves by what the second one is; what is released is a sum of both."""
    a = d.a()
    c, b, share = d.name("c"), d.name("b"), d.paid()
    d.constructs |= {AHEAD}
    d.program += [f"{c} ~ {d.noise(1, share)}", f"{b} ~ {d.noise(1, share)}"]
    d.program.append(f"emit {d.name('v')}({a} + {c} + {b})")
    low = d.pick("0", "1")
    d.align += [f"{c} += a - a' when {b} >= {low}", f"{b} += a - a' when {c} {d.pick('>=', '<')} {low}"]
    if d.likely(0.6):
        d.align[-1] = f"{b} += 0"
        d.align.append(f"{c} += a - a' when {b} < {low}")
    d.released(1)


def _redundant(d: Draft, own: str) -> str:
    """Nothing, or a term that cancels: of this draw, of another one, or of one that is yet to come."""
    if not d.likely(0.3):
        return ""
    d.constructs.add(CANCEL)
    drawn = re.findall(r"^(\w+) ~", "\n".join(d.program), flags=re.MULTILINE)
    x = d.chance.choice(drawn) if drawn and d.likely(0.7) else own
    if x.endswith("[i]") and "[i]" not in own:
        return ""
    if x != own and drawn.index(x) > (drawn.index(own) if own in drawn else len(drawn)):
        d.constructs.add(AHEAD)
    return " + " + _nothing(d, x)


def _nothing(d: Draft, x: str) -> str:
    return d.pick(
        f"{x} - {x}",
        f"{x}*(eps + 1) - {x}*eps - {x}",
        f"2*{x} - {x} - {x}",
        f"0*{x}",
        f"({x} + 1)*({x} - 1) - {x}*{x} + 1",
    )


def _invariant(d: Draft) -> list[str]:
    """A line of the author's: true, or not."""
    if not d.likely(0.35):
        return []
    d.constructs.add(INVARIANT)
    kept = [line.split(" = ")[0] for line in d.program if re.match(r"[a-z]\w* = 0$", line)]
    s = d.chance.choice(kept) if kept else "i"
    told = [
        f"{s} >= 0",
        f"{s} <= i",
        "i >= 0",
        "alignment_cost >= 0",
        "alignment_cost <= eps",
        "alignment_cost <= (i + 1)*eps",
        f"{s} == {s}",
    ]
    if kept:
        told += [f"{s}' == {s}", f"{s} == 0", f"abs({s}' - {s}) <= 1"]
    return [f"  invariant {d.chance.choice(told)}"]


# --- calls ------------------------------------------------------------------------------------------------

_PLAIN = """mechanism plain
input
  a : query, sensitivity 1{lattice}
  eps : real where eps > 0
privacy eps
program
  n ~ {noise}
  emit v(x = a + n)
align
  n += a - a'
"""
_CLAUSED = """mechanism claused
input
  d : real where d > 0
  eps : real where eps > 0{in_eps}
  a : query, sensitivity 1{lattice}{in_a}
  b : {vector}{in_b}
privacy eps
program
  n ~ {noise}
  emit v(x = a + n)
align
  n += a - a'
"""
_COUNTED = """mechanism counted
input
  eps : real where eps > 0{in_eps}
  q : queries, sensitivity 1, adjacency {adjacency}{in_q}
  a : query, sensitivity 1{lattice}
privacy {claim}
program
  n ~ {noise}
  emit v(x = a + n)
align
  n += a - a'
"""
_PICKED = """mechanism picked
input
  q : queries, sensitivity 1, adjacency {adjacency}{lattice}
  eps : real where eps > 0 and len(q) >= 1
privacy {claim}
program
  for i, x in q:
    eta[i] ~ {noise}
  w = argmax(q[i] + eta[i] for i in q)
  emit chosen(index = w)
align
  eta[i] += {shift} when i == w
"""


def _use(d: Draft, name: str, text: str) -> None:
    d.callees[name + ".dp"] = text
    d.constructs.add(CALL)


def called(d: Draft) -> None:
    """A noisy answer by another mechanism."""
    e, most = answer(d)
    r = d.name("r")
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    _use(d, "plain", _PLAIN.format(lattice=lattice, noise=f"{family}(1/eps)"))
    share = d.paid()
    if most == 2:
        e = e.removeprefix("2*")
    d.program += [
        f"{r} = plain(a = {e}, eps = {share}*eps)",
        f"emit {d.name('v')}(x = {r}.x{d.pick('', ' + 1', '*2')})",
    ]
    d.released(1)


def called_selection(d: Draft) -> None:
    """A selection by another mechanism, then perhaps a measurement of what it selected."""
    way = d.pick("all", "monotone")
    d.q("all", "monotone", "one", least=2)
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    _use(
        d,
        "picked",
        _PICKED.format(
            lattice=lattice,
            adjacency=way,
            claim="eps/2" if way == "monotone" else "eps",
            noise=f"{family}(2/eps)",
            shift="1" if way == "monotone" else "1 + q[i] - q'[i]",
        ),
    )
    r, share = d.name("r"), d.paid()
    passed = d.pick(
        "q",
        "q",
        "list(q[j] for j in q)",
        "list(max(q[l] for l in range(j, j + 1)) for j in q)",
        "list(max(q[j], 0) for j in q)",
    )
    if "max(q[l]" in passed:
        d.constructs.add(NESTED)
    given = 2 * share if way == "monotone" else share
    d.program += [f"{r} = picked(q = {passed}, eps = {given}*eps)", f"emit {d.name('t')}(index = {r}.index)"]
    d.released(1)
    if d.likely(0.4):
        n, more = d.name("n"), d.paid()
        d.program += [f"{n} ~ {d.noise(1, more)}", f"emit {d.name('m')}(q[{r}.index] + {n})"]
        d.align.append(f"{n} += q[{r}.index] - q'[{r}.index]")
        d.released(1)


def called_with_clauses(d: Draft) -> None:
    """The callee's proof rests on a clause; where it stands and whether the caller keeps it varies."""
    a = d.a()
    clauses = {"in_eps": "", "in_a": "", "in_b": ""}
    where = d.pick("in_eps", "in_a", "in_b", "in_b")
    clauses[where] = {"in_eps": " and d <= eps", "in_a": " where d <= eps", "in_b": " where d <= eps"}[where]
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    _use(
        d,
        "claused",
        _CLAUSED.format(
            **clauses, lattice=lattice, vector=d.pick("vector", "int vector"), noise=f"{family}(1/d)"
        ),
    )
    size = d.pick("0, 0", "0, 0", "0, 1", "0, 2")
    r, share = d.name("r"), d.paid()
    big = d.pick("1", "1", "100", "4")
    d.program += [
        f"{r} = claused(d = {big}*{share}*eps, eps = {share}*eps, a = {a}, "
        f"b = list({d.pick('0', '1')} for j in range({size})))",
        f"emit {d.name('v')}(x = {r}.x)",
    ]
    d.released(1)


def called_with_answers(d: Draft) -> None:
    """A callee whose claim counts answers, with none, one or two of them."""
    a = d.a()
    clauses = {"in_eps": "", "in_q": ""}
    where = d.pick("in_eps", "in_q", "in_q", "none")
    if where != "none":
        clauses[where] = {"in_eps": " and len(q) >= 1", "in_q": " where len(q) >= 1"}[where]
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    claim = d.pick("eps*len(q)", "eps*max(len(q), 1)", "eps + eps*len(q)", "eps*(2*len(q) - 1)")
    _use(
        d,
        "counted",
        _COUNTED.format(
            **clauses, lattice=lattice, adjacency=d.pick("all", "one"), claim=claim, noise=f"{family}(1/eps)"
        ),
    )
    count = d.chance.choice((0, 0, 1, 2))
    r = d.name("r")
    d.program += [
        f"{r} = counted(eps = eps, q = list({d.pick('0', a)} for j in range(0, {count})), a = {a})",
        f"emit {d.name('v')}(x = {r}.x)",
    ]
    d.cost += {"eps*len(q)": count, "eps*max(len(q), 1)": max(count, 1), "eps + eps*len(q)": 1 + count}.get(
        claim, 2 * count - 1
    )
    d.released(1)


# --- parts that are wrong, in ways that deserve a proof's attention ---------------------------------------


def merged(d: Draft) -> None:
    """Several values of the noise go to one: never private for small ε, whatever the guards read."""
    a = d.a()
    size = d.chance.randint(2, 4)
    n, tag, share = d.name("n"), d.name("t"), d.paid()
    array = d.likely(0.6)
    draw = f"{n}[0]" if array else n
    noise = d.noise(size + 1, share)
    if d.likely(0.4):
        trigger(d, n if not array else None)
    d.program += ["for i in range(1):", f"  {n}[i] ~ {noise}"] if array else [f"{n} ~ {noise}"]
    if d.likely(0.4):
        echo(d, draw)
    read = alias(d, draw, n if array else None)
    name = f"{n}[i]" if array else n
    d.constructs |= {OWN, BRANCH}
    d.program += [
        f"if ({a} <= 0 and {_within(draw, (1, size))}) or ({a} >= 1 and {draw} == 1):",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    yes, no = d.guard("yes" + tag), d.guard("no" + tag)
    d.align += [
        "case a < a':",
        *(f"  {name} -= {k - 1} when {yes} and {read} == {k}" for k in range(2, size + 1)),
        "case a > a':",
        f"  {name} += {size} when {no} and {_within(read, (1, size))}",
        "otherwise:",
        f"  {name} += 0",
    ]
    d.released(1)


def echo(d: Draft, draw: str) -> None:
    """A test, always true, of the draw against a set's value that is the draw."""
    b, tag = d.name("best"), d.name("t")
    d.constructs |= {SELECTION, BRANCH}
    body = d.pick(f"{draw} + j", draw)
    d.program += [
        f"{b} = {d.pick('max', 'max', 'sum')}({body} for j in range(1))",
        f"if {b} == {draw}:",
        f"  emit ok{tag}",
        "else:",
        f"  emit bad{tag}",
    ]
    d.released(1)


def trigger(d: Draft, x: str | None) -> None:
    """A draw of its own whose shift mentions others, but does not move."""
    z = d.name("z")
    d.constructs |= {CANCEL, AHEAD}
    d.program.append(f"{z} ~ {d.noise(1, Fraction(1))}")
    if x is not None:
        d.align.append(f"{z} += {_nothing(d, x)}")


def crossed(d: Draft) -> None:
    """Two draws that move by what the other one is: a square goes to a line."""
    a = d.a()
    r = d.chance.randint(1, 2)
    c, b, tag, share = d.name("c"), d.name("b"), d.name("t"), d.paid()
    far = 4 * r + 1
    noise = d.noise(2 * far, share)
    if d.likely(0.8):
        trigger(d, d.pick(c, b))
    d.constructs |= {AHEAD, BRANCH}
    d.program += [
        f"{c} ~ {noise}",
        f"{b} ~ {noise}",
        f"if ({a} <= 0 and abs({c}) <= {r} and abs({b}) <= {r})"
        f" or ({a} >= 1 and abs({c}) <= {2 * r} and abs({b}) <= {2 * r} and {c} + {b} == 0):",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    yes, no = d.guard("yes" + tag), d.guard("no" + tag)
    away = 2 * r + 1
    d.align += [
        "case a < a':",
        f"  {c} -= clip({b}, -{r}, {r}) when {yes}",
        f"  {b} -= clip({c}, -{r}, {r}) when {yes}",
        f"  {c} += {far} when {no} and abs({b}) <= {2 * r}",
        f"  {b} += {far} when {no} and {c} >= {-far - 2 * r} and {c} <= {2 * r - far}",
        "case a > a':",
        f"  {c} += clip({b}, -{2 * r}, {2 * r}) when {yes}",
        f"  {b} += clip({c}, -{2 * r}, {2 * r}) when {yes}",
        f"  {c} += {away} when {no} and abs({b}) <= {r}",
        f"  {b} += {away} when {no} and {c} >= {-away - r} and {c} <= {r - away}",
        "otherwise:",
        f"  {c} += 0",
    ]
    d.released(1)


def carried(d: Draft) -> None:
    """One draw tells the other by way of a variable, its value or its distance, what it was itself."""
    a = d.a()
    size, right = d.chance.randint(2, 4), d.likely(0.3)
    c, b, s, best, tag, share = (*map(d.name, ("c", "b", "s", "best", "t")), d.paid())
    half = share / 2
    by_value = d.likely(0.3)
    noise = d.noise(size, half)
    spent = f"{half}*eps"
    d.constructs |= {LOOP, STATE, INVARIANT, BRANCH, SELECTION, OWN, AHEAD}
    same = (
        d.pick(f"{s} == {c}[0] and {s}' - {s} == {c}'[0] - {c}[0]", f"{s} == {c}[0]")
        if not by_value
        else f"{s} == {c}[0]"
    )
    d.program += [
        f"{s} = 0",
        "for i in range(1):",
        f"  invariant alignment_cost <= i*{spent}",
        f"  {c}[i] ~ {noise}",
        "for r in range(1):",
        f"  invariant r == 0 or {same}",
        f"  invariant alignment_cost <= {spent}",
        f"  {s} = {c}[0]",
        "for j in range(1):",
        *([f"  invariant {same}"] if d.likely(0.7) else []),
        f"  invariant alignment_cost <= {spent} + j*{spent}",
        f"  {b}[j] ~ {noise}",
    ]
    if d.likely(0.75):
        d.program.append(f"{best} = max({b}[j] for j in range(1))")
    else:
        best = f"{b}[0]"
    yes, no = d.guard("yes" + tag), d.guard("no" + tag)
    one = _within(f"{b}[0]", (1, size))
    other = one if right else f"{b}[0] == 1"
    d.program += [
        f"if ({a} <= 0 and {one}) or ({a} >= 1 and {other}):",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    told = s if by_value else f"{s}' - {s}"
    d.align += [
        "case a < a':",
        *(f"  {c}[i] += {k} when {yes} and {best} == {k + 1}" for k in range(1, size)),
        *(f"  {b}[j] -= {k} when {yes} and {told} == {k}" for k in range(1, size)),
        "case a > a':",
        f"  {c}[i] += {size} when {no} and {_within(best, (2, size))}",
        f"  {b}[j] += {size} when {no} and {told} == {size}",
        "otherwise:",
        f"  {c}[i] += 0",
    ]
    d.released(1)


def tied(d: Draft) -> None:
    """A selection, then a test that is true in a tie alone: what it releases then is bare."""
    a = d.a()
    d.constructs |= {SELECTION, BRANCH}
    n, w, tag = d.name("n"), d.name("w"), d.name("t")
    count = d.chance.choice((2, 2, 3))
    noise = d.noise(1, Fraction(1))
    body = d.pick(
        "{n}[{j}]",
        "sum({n}[l] for l in range(0, {j}))",
        "sum({n}[l] for l in range(0, {j} + 1))",
        "sum({n}[l] for l in range(0, {j}) where l >= 1)",
        "sum(max({n}[l], 0) for l in range(0, {j} + 1))",
        "max({n}[l] for l in range(0, {j} + 1))",
        "{n}[{j}] + {n}[0]",
    )
    if "for l" in body:
        d.constructs.add(NESTED)
    low, high = (0, count) if d.likely(0.7) else (1, count)
    way = d.pick("argmax", "argmin", "top", "max")
    d.program += [f"for i in range({count}):", f"  {n}[i] ~ {noise}"]
    of = f"{body.format(n=n, j='j')} for j in range({low}, {high})"
    d.program.append(f"{w} = {'top(1, ' if way == 'top' else way + '('}{of})")
    first, second = low, high - 1
    if d.likely(0.6):
        m, k = d.name("m"), d.name("m")
        d.inputs[m] = f"{m} : int where {m} == {first}"
        d.inputs[k] = f"{k} : int where {k} == {second}"
        left, right = body.format(n=n, j=m), body.format(n=n, j=k)
    else:
        left, right = body.format(n=n, j=first), body.format(n=n, j=second)
    also = f"{w} >= 0" if way in ("argmax", "argmin") else "0 <= 1"
    d.program += [f"if {left} == {right} and {also}:", f"  emit v{tag}(x = {a})", "else:", f"  emit no{tag}"]
    d.cost += d.chance.choice((0, 0, 1))
    d.released(1)


def top_of_some(d: Draft) -> None:
    """As many as a parameter says, which may be too many or less than none."""
    d.constructs |= {SELECTION}
    d.q("all", least=d.chance.randint(1, 2))
    d.inputs["k"] = "k : int where " + d.pick(
        "k >= 1 and k <= len(q)",
        "k >= 0 and k <= len(q)",
        "k <= len(q)",
        "k <= -1",
        "k <= 1",
        "k >= 1",
        "k == 1",
        "k >= 1 and k <= 2",
        "k == -1 or k == 1",
    )
    n, w, tag, share = d.name("n"), d.name("w"), d.name("t"), d.paid()
    way = d.pick("top", "top", "upto")
    scale = f"2*{d.pick('max(k, 1)', 'max(k, 1)', 'k')}/({share}*eps)"
    bare = d.likely(0.3)
    d.program += [
        "for i, x in q:",
        f"  {n}[i] ~ DLap({scale})",
        *([f"emit bare{tag}(q[0])"] if bare else []),
        f"{w} = {way}(k, q[i] + {n}[i] for i in q)",
        f"for r in range(len({w})):",
        f"  emit {tag}(index = {w}[r])",
    ]
    d.align.append(f"{n}[i] += 1 + q[i] - q'[i] when i in {w}")
    d.place = None


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
)
LAST = (sparse, histogram, running)
"""They release as many records as there are answers, so nothing comes after them."""


def generated(seed: int) -> Spec:
    """The spec with this number."""
    chance = Random(seed)
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
    return spec if chance.random() < 0.55 else spoiled(spec, chance)


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
    """Half the noise, or twice."""
    factor = chance.choice(("1/2", "1/2", "2"))
    return _one_of(
        r"(DLap|Lap|DExp|Exp)\(([^~\n]*)\)$", lambda m, _: f"{m[1]}({factor}*({m[2]}))", text, chance
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


def _no_guard(text: str, chance: Random) -> str:
    return _align_line(text, chance, lambda line: line.split(" when ")[0])


def _no_shift(text: str, chance: Random) -> str:
    return _align_line(text, chance, lambda line: re.sub(r"([+-]=) .*?( when |$)", r"\1 0\2", line))


def _other_sign(text: str, chance: Random) -> str:
    return _align_line(
        text, chance, lambda line: line.replace("+=", "-=") if "+=" in line else line.replace("-=", "+=")
    )


def _other_shift(text: str, chance: Random) -> str:
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
    return _one_of(r"\b(DLap|Lap|DExp|Exp)\b", lambda m, c: c.choice(other[m[1]]), text, chance)


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
    _no_guard,
    _no_shift,
    _other_sign,
    _other_shift,
    _adjacency,
    _comparison,
    _family,
    _answers,
    _clause,
    _real,
    _swap,
)
