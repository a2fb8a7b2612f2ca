"""More parts of random specs: numbers that were released, groups of answers, masks, other loops."""

from __future__ import annotations

from draft import BRANCH, INVARIANT, LOOP, SELECTION, STATE, Draft, answer, invariant, primed, redundant
from parts_calling import PLAIN, use


def tested_release(d: Draft) -> None:
    """A released number decides what happens next, and how the later noise is scaled."""
    e, most = answer(d)
    n, m, v, tag, share = d.name("n"), d.name("m"), d.name("v"), d.name("t"), d.paid() / 2
    d.constructs |= {BRANCH}
    d.program += [f"{n} ~ {d.noise(most, share)}", f"{v} = {e} + {n}", f"emit {d.name('value')}({v})"]
    d.align.append(f"{n} += {e} - ({primed(e)})")
    noise = d.noise(most, share)
    if d.likely(0.3):
        noise = noise.replace("(", f"((1 if {v} > 0 else 2)*", 1)
    d.program += [
        f"{m} ~ {noise}",
        f"if {v} >= {d.pick('0', '1')}:",
        f"  emit more{tag}({e} + {m})",
        "else:",
        f"  emit none{tag}",
    ]
    guard = d.pick("", f" when {d.guard('more' + tag, 1)}", f" when {v} >= 0")
    d.align.append(f"{m} += {e} - ({primed(e)}){guard}")
    d.released(2)


def earlier_noise(d: Draft) -> None:
    """A shift that depends on earlier noise, within bounds."""
    e, most = answer(d)
    n, m, tag, share = d.name("n"), d.name("m"), d.name("t"), d.paid() / 2
    d.constructs |= {BRANCH}
    d.program += [
        f"{n} ~ {d.noise(most, share)}",
        f"emit {d.name('value')}({e} + {n})",
        f"{m} ~ {d.noise(most + 1, share)}",
        f"if {e} + {m} >= 0:",
        f"  emit high{tag}",
        "else:",
        f"  emit low{tag}",
    ]
    d.align += [
        f"{n} += {e} - ({primed(e)})",
        f"{m} += {most} + {d.pick(f'clip({n}, 0, 1)', f'(1 if {n} > 0 else 0)', f'max(min({n}, 1), 0)')}"
        f" when {d.guard('high' + tag, 1)}",
        f"{m} -= {most} when {d.guard('low' + tag, 1)}",
    ]
    d.released(2)


def group(d: Draft) -> None:
    """Two answers that are declared together, one of which moves."""
    way, share = d.pick("one", "one", "l1", "all"), d.paid()
    d.inputs["p"] = f"p, r : int query, sensitivity 1, adjacency {way}"
    n, m = d.name("n"), d.name("m")
    if way == "all":
        d.cost += share
    d.program += [
        f"{n} ~ {d.noise(1, share)}",
        f"{m} ~ {d.noise(1, share)}",
        f"emit {d.name('both')}(first = p + {n}, second = r + {m})",
    ]
    d.align += [f"{n} += p - p'", f"{m} += r - r'"]
    d.released(1)


def rounded(d: Draft) -> None:
    """What is computed from a noisy number is free."""
    e, most = answer(d)
    n, v, share = d.name("n"), d.name("v"), d.paid()
    shown = d.pick(
        f"floor({v}/2)", f"{v} % 2", f"max({v}, 0)", f"({v} if {v} > 0 else 0)", f"clip({v}, 0, 2)"
    )
    d.program += [f"{n} ~ {d.noise(most, share)}", f"{v} = {e} + {n}", f"emit {d.name('v')}({shown})"]
    d.align.append(f"{n} += {e} - ({primed(e)})" + redundant(d, n))
    d.released(1)


def counted_down(d: Draft) -> None:
    """A `while` loop, with a draw in each round."""
    e, most = answer(d)
    c, n, share = d.name("c"), d.name("n"), d.paid()
    d.constructs |= {LOOP, STATE}
    d.program += [
        f"{c} = 0",
        f"while {c} < 2:",
        *invariant(d),
        f"  {n}[{c}] ~ {d.noise(2 * most, share)}",
        f"  emit {d.name('round')}({e} + {n}[{c}])",
        f"  {c} = {c} + 1",
    ]
    d.align.append(f"{n}[i] += {e} - ({primed(e)})")
    d.released(2)


def masked(d: Draft) -> None:
    """A selection among public, or noisy, candidates."""
    d.constructs.add(SELECTION)
    d.q("all", "monotone", "one", least=2)
    n, w, tag, share = d.name("n"), d.name("w"), d.name("t"), d.paid()
    where = d.pick("j != 1", "j < 2", f"{n}[j] > 0", f"q[j] + {n}[j] >= 1", "q[j] >= 0", "j >= len(q) - 2")
    way = d.pick("argmax", "upto", "sum")
    body = f"q[j] + {n}[j] for j in q where {where}"
    d.program += ["for i, x in q:", f"  {n}[i] ~ {d.noise(4 if way == 'upto' else 2, share)}"]
    match way:
        case "argmax":
            d.program += [f"{w} = argmax({body})", f"emit {tag}(index = {w})"]
            d.align.append(f"{n}[i] += 1 + q[i] - q'[i] when i == {w}")
        case "upto":
            d.program += [
                f"{w} = upto(2, {body})",
                f"for r in range(len({w})):",
                f"  emit {tag}(index = {w}[r])",
            ]
            d.align.append(f"{n}[i] += 1 + q[i] - q'[i] when i in {w}")
            d.place = None
        case _:
            d.program.append(f"emit {tag}(sum({body}))")
            d.align.append(f"{n}[i] += q[i] - q'[i]")
    d.released(1)


def gap(d: Draft) -> None:
    """The winner and its lead."""
    d.constructs.add(SELECTION)
    d.q("all", "one", "monotone", least=2)
    n, w, b, share = d.name("n"), d.name("w"), d.name("best"), d.paid()
    family = "Lap" if d.likely(0.6) else "DLap"
    d.program += [
        "for i, x in q:",
        f"  {n}[i] ~ {family}(2/({share}*eps))",
        f"{w} = argmax(q[j] + {n}[j] for j in q)",
        f"{b} = max(q[j] + {n}[j] for j in q where j != {w})",
        f"emit {d.name('lead')}(index = {w}, gap = q[{w}] + {n}[{w}] - {b})",
    ]
    d.align.append(f"{n}[i] += q[i] - q'[i] + {b}' - {b} when i == {w}")
    d.released(1)


def peak(d: Draft) -> None:
    """The greatest answer, found by a loop, with noise."""
    d.q("all", "one", least=1)
    n, s, tag, share = d.name("n"), d.name("s"), d.name("t"), d.paid()
    d.constructs |= {LOOP, STATE, BRANCH, INVARIANT}
    told = d.pick(f"abs({s}' - {s}) <= 1", f"abs({s}' - {s}) <= 1", f"{s}' - {s} <= 1", f"{s}' == {s}")
    d.program += [
        f"{s} = q[0]",
        "for i, x in q:",
        f"  invariant {told}",
        f"  {s} = max({s}, x)",
        f"{n} ~ {d.noise(1, share)}",
        f"if {s} + {n} >= {d.pick('0', '1')}:",
        f"  emit yes{tag}",
        "else:",
        f"  emit no{tag}",
    ]
    d.align.append(f"{n} += {s} - {s}'")
    d.released(1)


def several(d: Draft) -> None:
    """Draws made in one loop, used in another one."""
    d.q("one", "l1", "all")
    n, m, share = d.name("n"), d.name("m"), d.paid(each=d.adjacency == "all")
    d.constructs |= {LOOP}
    shifted = d.pick("i", "i", "i + 1")
    d.program += [
        "for i, x in q:",
        f"  {n}[{shifted}] ~ {d.noise(1, share)}",
        "for i, x in q:",
        f"  {m} = x + {n}[{d.pick(shifted, shifted, shifted, 'i')}]",
        f"  emit {d.name('bin')}({m})",
    ]
    d.align.append(f"{n}[i] += q[i] - q'[i]" if shifted == "i" else f"{n}[i] += q[i - 1] - q'[i - 1]")
    d.place = None


def weighted(d: Draft) -> None:
    """Answers with sensitivities of their own, scales that fit."""
    share = d.paid()
    d.inputs["b"] = "b : int vector where b[i] >= 1"
    d.inputs["u"] = "u : int queries, sensitivity b[i], adjacency one"
    n = d.name("n")
    d.constructs |= {LOOP}
    scale = d.pick("b[i]", "b[i]", "max(b[i], 1)", "b[0]", "1")
    d.program += [
        "for i in range(len(u)):",
        f"  {n}[i] ~ DLap({scale}/({share}*eps))",
        f"  emit {d.name('bin')}(u[i] + {n}[i])",
    ]
    d.align.append(f"{n}[i] += u[i] - u'[i]")
    d.place = None


def hidden_by_or(d: Draft) -> None:
    """Tells that one of two noisy tests succeeded, but not which."""
    e, most = answer(d)
    n, m, tag, half = d.name("n"), d.name("m"), d.name("t"), d.paid() / 2
    d.constructs |= {BRANCH}
    d.program += [
        f"{n} ~ {d.noise(most, half)}",
        f"{m} ~ {d.noise(most, half)}",
        f"emit {tag}(yes = {e} + {n} >= 1 {d.pick('or', 'or', 'and')} {e} + {m} >= 0)",
    ]
    place = d.place or 0
    for x in (n, m):
        d.align += [f"{x} += {most} when out[{place}].yes", f"{x} -= {most} when not out[{place}].yes"]
    d.released(1)


def called_in_rounds(d: Draft) -> None:
    """A call for each answer, or two calls."""
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    use(d, "plain", PLAIN.format(lattice=lattice, noise=f"{family}(1/eps)"))
    r = d.name("r")
    if d.likely(0.5):
        d.q("all")
        share = d.paid(each=True)
        d.constructs |= {LOOP}
        d.program += [
            "for i, x in q:",
            *invariant(d),
            f"  {r} = plain(a = x, eps = {share}*eps)",
            f"  emit {d.name('v')}(x = {r}.x)",
        ]
        d.place = None
    else:
        a, share = d.a(), d.paid()
        s = d.name("r")
        d.program += [
            f"{r} = plain(a = {a}, eps = {share}/2*eps)",
            f"{s} = plain(a = {a}, eps = {d.pick('eps', f'(eps if {r}.x > 0 else eps/2)')}*{share}/2)",
            f"emit {d.name('v')}(x = {r}.x {d.pick('+', '-')} {s}.x)",
        ]
        d.released(1)
