"""Parts of random specs that are not private, most of them, in ways that deserve a proof's attention."""

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
    nothing,
    within,
)


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
        f"if ({a} <= 0 and {within(draw, (1, size))}) or ({a} >= 1 and {draw} == 1):",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    yes, no = d.guard("yes" + tag), d.guard("no" + tag)
    d.align += [
        "case a < a':",
        *(f"  {name} -= {k - 1} when {yes} and {read} == {k}" for k in range(2, size + 1)),
        "case a > a':",
        f"  {name} += {size} when {no} and {within(read, (1, size))}",
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
        d.align.append(f"{z} += {nothing(d, x)}")


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
    one = within(f"{b}[0]", (1, size))
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
        f"  {c}[i] += {size} when {no} and {within(best, (2, size))}",
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
    also = (
        f"{w} {d.pick('>= 0', '>= 0', f'== {second}', f'== {first}')}"
        if way in ("argmax", "argmin")
        else "0 <= 1"
    )
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


def careless(d: Draft) -> None:
    """What a beginner might write: something private where it must not be."""
    a = d.a()
    n, tag, share = d.name("n"), d.name("t"), d.paid()
    noise, way = d.noise(1, share), d.chance.randrange(10)
    released = f"emit {tag}({a} + {n})"
    match way:
        case 0:  # the scale
            d.program += [f"{n} ~ DLap((1 + {a})/({share}*eps))", released]
        case 1:  # how many draws there are
            more = [f"if {a} >= 1:", f"  {n}more ~ {noise}"]
            d.program += [f"{n} ~ {noise}", *more, released]
        case 2:  # how many rounds
            d.program += [f"{n} ~ {noise}", f"for i in range({a} + 1):", f"  {released}"]
        case 3:  # an index
            d.program += ["for i in range(2):", f"  {n}[i] ~ {noise}", f"emit {tag}({a} + {n}[{a}])"]
        case 4:  # a divisor
            d.program += [f"{n} ~ {noise}", f"emit {tag}(1/{a} + {n})"]
        case 5:  # a draw twice
            d.program += ["for i in range(2):", f"  {n}[i*{a}] ~ {noise}", f"emit {tag}({a} + {n}[0])"]
        case 6:  # one draw for two answers
            d.program += [f"{n} ~ {noise}", released, f"emit again{tag}({n})"]
        case 7:  # the test before the noise
            d.program += [f"{n} ~ {noise}", f"if {a} >= 1:", f"  {released}", "else:", f"  emit {tag}({n})"]
        case 8:  # noise that is not always there
            d.program += [f"{n} ~ {noise}", f"emit {tag}({a} + ({n} if {n} > 0 else 0))"]
        case _:  # a variable that remembers
            s = d.name("s")
            d.program += [
                f"{s} = {a}",
                f"{n} ~ {noise}",
                released,
                f"{s} = {s} - {n}",
                f"emit rest{tag}({s})",
            ]
    name = f"{n}[i]" if "[i" in d.program[-2] else n
    d.align.append(f"{name} += {a} - {a}'")
    d.place = None


def lied(d: Draft) -> None:
    """A loop whose invariant would be enough, if it were true."""
    d.q("all", "monotone", least=2)
    n, s, share = d.name("n"), d.name("s"), d.paid()
    d.constructs |= {LOOP, STATE, INVARIANT}
    if d.likely(0.6):
        lie = d.pick(
            f"{s}' == {s}", f"abs({s}' - {s}) <= 1", f"{s} == 0 and {s}' == 0", f"{s}' - {s} == q'[0] - q[0]"
        )
        more = d.pick(f"{s} + x", f"{s} + x", f"max({s} + x, x)", f"x - {s}")
        d.program += [f"{s} = 0", "for i, x in q:", f"  invariant {lie}", f"  {s} = {more}"]
        d.program += [f"{n} ~ {d.noise(1, share)}", f"emit {d.name('total')}({s} + {n})"]
        d.align.append(f"{n} += {s} - {s}'")
        d.released(1)
        return
    rounds = d.pick("1", "i/len(q)", "(1 if i > 0 else 0)")
    spent = f"alignment_cost <= {rounds}*{share}*eps"
    d.program += [f"{s} = 0", "for i, x in q:", f"  invariant {spent}", f"  {n}[i] ~ {d.noise(1, share)}"]
    d.program += [f"  {s} = {s} + x + {n}[i]", f"  emit {d.name('sum')}({s})"]
    d.align.append(f"{n}[i] += q[i] - q'[i]")
    d.place = None
