"""Parts of random specs that are right by design, most of them: their alignments keep the output, at the cost
that they declare.
"""

from __future__ import annotations

from fractions import Fraction

from draft import (
    AHEAD,
    BRANCH,
    CANCEL,
    INVARIANT,
    LOOP,
    NESTED,
    OWN,
    SELECTION,
    STATE,
    Draft,
    alias,
    answer,
    invariant,
    primed,
    redundant,
    within,
)


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
    d.align.append(f"{n} += {e} - ({back})" + redundant(d, n))
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
        d.align.append(f"{n} += {e} - ({primed(e)})" + redundant(d, n))
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
    d.align += [f"{n} += {e} - ({primed(e)})", f"{m} += {e} - ({primed(e)})" + redundant(d, m)]
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
        *invariant(d),
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
        told = ["  invariant " + d.pick(f"abs({s}' - {s}) <= i", f"{s}' - {s} <= i and {s} - {s}' <= i")]
        noise = f"DLap({most}/({share}*eps))"
    else:
        share = d.paid()
        told = invariant(d)
        noise = d.noise(1, share)
    d.program += [
        f"{s} = 0",
        "for i, x in q:",
        *told,
        f"  {s} = {s} + x",
        f"{n} ~ {noise}",
        f"emit {d.name('total')}({s} + {n})",
    ]
    d.align.append(f"{n} += {s} - {s}'" + redundant(d, n))
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
            *invariant(d),
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
            *invariant(d),
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
        *invariant(d),
        f"  {n}[i] ~ {d.noise(4 * most, share)}",
        f"  if x + {n}[i] >= {t}:",
        f"    emit {up}",
        *stop,
        "  else:",
        f"    emit {down}",
    ]
    place = "i" if not base else f"i + {base}"
    d.align += [
        f"{first} += 1" + redundant(d, first),
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
        d.align.append(f"{n}[i] += q[i] - q'[i]" + redundant(d, f"{n}[i]"))
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
        d.align.append(f"{n}[i] += 1 + q[i] - q'[i]" + redundant(d, f"{n}[i]") + f" {chosen}")
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
    d.align.append(f"{n}[i] += q[i] - q'[i]" + redundant(d, f"{n}[i]"))
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
        f"if ({a} <= 0 and {within(draw, here)}) or ({a} >= 1 and {within(draw, there)}):",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    name = f"{n}[i]" if array else n
    d.align += [
        "case a != a':",
        f"  {name} += {by} when {within(read, here)}",
        f"  {name} -= {by} when {within(read, there)}",
        "otherwise:",
        f"  {name} += 0",
    ]
    d.released(1)


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
