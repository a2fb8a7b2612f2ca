"""Random specs around others: what calls them, once, twice or until it fits, and claims ε, δ or ρ."""

from __future__ import annotations

import re
from fractions import Fraction
from random import Random

from draft import APPROXIMATE, CALL, CONCENTRATED, REPEAT, Draft

SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 3))


def records(text: str) -> dict[str, tuple[str, ...]]:
    """The tags that a text releases, with their fields."""
    found: dict[str, tuple[str, ...]] = {}
    for m in re.finditer(r"emit (\w+)(?:\((.*)\))?$", text, flags=re.MULTILINE):
        names = tuple(re.findall(r"(?:^|, )(\w+) = ", m[2] or ""))
        found[m[1]] = names or (("value",) if m[2] else ())
    return found


def passed_on(text: str, of: str) -> list[str]:
    """The lines that release all that a call released."""
    lines = [f"for at_{of} in range(len({of})):"]
    for place, (tag, names) in enumerate(records(text).items()):
        fields = ", ".join(f"{name} = {of}[at_{of}].{name}" for name in names)
        lines.append(f"  {'if' if place == 0 else 'elif'} {of}[at_{of}] is {tag}:")
        lines.append(f"    emit {of}_{tag}{f'({fields})' if fields else ''}")
    return lines


def around(d: Draft, text: str) -> str:
    """The text of what calls a mechanism, here `text`, whose draft is `d`."""
    chance = d.chance
    inner = re.search(r"^privacy (.*)$", text, flags=re.MULTILINE)
    assert inner is not None, "every spec claims something"
    way = d.pick("rho", "rho", "delta", "repeat", "repeat", "repeat rho")
    program: list[str] = []
    spent: list[str] = []
    deltas: list[str] = []
    align: list[str] = []
    tags = list(records(text))
    inputs = text[text.index("\ninput\n") + 1 : text.index("\nprivacy ")]
    names = [x for line in inputs.splitlines()[1:] for x in line.strip().split(" : ")[0].split(", ")]

    def cost(share: str) -> str:
        return re.sub(r"\beps\b", f"({share})", inner[1])

    def call(of: str, share: str) -> str:
        given = ", ".join(f"{x} = {x}" if x != "eps" else f"eps = {share}" for x in names)
        return f"{of} = {'repeat ' if 'repeat' in way else ''}inner({given})"

    def until(of: str) -> tuple[str, str]:
        tag = chance.choice(tags)
        test = d.pick(
            f"{of}.count({tag}) > 0", f"{of}[0] is {tag}", f"len({of}) >= 1", f"{of}.count({tag}) <= 1"
        )
        stop, most = (
            chance.choice((Fraction(1), Fraction(1, 2), Fraction(1, 16))),
            chance.choice((0, 0, 1, 2, 4)),
        )
        s = stop * most
        cap, more = (
            f" at most {most} rounds" if most else "",
            f" + {Fraction(2) / (s * (2 + s))}" if most else "",
        )
        return f" until {test} stop with probability {stop}{cap}", more

    d.constructs.add(CALL)
    for place in range(chance.choice((1, 1, 2)) if "repeat" not in way else 1):
        of, share = f"call{place}", f"{chance.choice(SHARES)}*eps"
        if place and d.likely(0.4):
            other = f"{chance.choice(SHARES)}*eps"
            program.append(f"share = {share} if call0.count({chance.choice(tags)}) > 0 else {other}")
            most = f"max({share}, {other})"
            share = "share"
        else:
            most = share
        if "repeat" in way:
            d.constructs.add(REPEAT)
            ends, more = until(of)
            program.append(call(of, share) + ends)
            spent.append(f"2*({cost(most)}){more}")
            program += [f"if len({of}) == 0: emit none"]
        else:
            program.append(call(of, share))
            spent.append(cost(most))
        program += passed_on(text, of)
    if "rho" in way:
        d.constructs.add(CONCENTRATED)
        spent = [f"({each})**2/2" for each in spent]
        if "q" in d.inputs and d.likely(0.5):
            program, align = _also(d, program, align, spent)
        claim = f"{' + '.join(spent)} zcdp"
    elif way == "delta":
        d.constructs.add(APPROXIMATE)
        if d.likely(0.5):
            text = text.replace(f"\n{inner[0]}\n", f"\nprivacy {inner[1]} delta 1/1000\n")
            deltas = ["1/1000"] * len(spent)
        claim = f"{' + '.join(spent)} delta {' + '.join(deltas) or '1/1000'}"
    else:
        claim = " + ".join(spent)
    d.callees["inner.dp"] = text.replace("mechanism generated", "mechanism inner")
    block = "\n".join(f"  {line}" for line in program)
    lines = "\n".join(f"  {line}" for line in align)
    return (
        f'mechanism generated\nuse inner from "inner.dp"\n{inputs}\nprivacy {claim}\nprogram\n{block}\n'
        + (f"align\n{lines}\n" if align else "")
    )


def _also(d: Draft, program: list[str], align: list[str], spent: list[str]) -> tuple[list[str], list[str]]:
    """Gaussian noise, or an index by its weight, besides."""
    one = d.adjacency in ("one", "l1")
    match d.chance.randrange(3):
        case 0:
            sigma = d.chance.choice((1, 2))
            family = "Gauss" if d.continuous else "DGauss"
            program = [*program, f"g ~ {family}({sigma})", "emit more(q[0] + g)"]
            align = [*align, "g += q[0] - q'[0]"]
            spent.append(f"1/{2 * sigma**2}")
        case 1:
            draws = ["for z in range(len(q)):", f"  g[z] ~ Gumbel({1 if one else 2}/eps)"]
            program = [*program, *draws, "w = argmax(q[z] + g[z] for z in q)", "emit more(w)"]
            spent.append("eps**2/8")
        case _:
            way = d.pick("", " when q[0] != q'[0]")
            program = [*program, "g ~ Gauss(1)", "emit more(2*q[0] + g)"]
            align = [*align, f"g += 2*(q[0] - q'[0]){way}"]
            spent.append("2")
    return program, align


def claimed_again(text: str, chance: Random) -> str:
    """A claim that is less than what the calls come to, or an argument that is more."""
    factor = chance.choice(("1/2", "1/4", "3/4", "1/2"))
    if chance.random() < 0.6:
        return re.sub(
            r"^privacy (.*?)( zcdp| delta .*|)$",
            rf"privacy {factor}*(\1)\2",
            text,
            count=1,
            flags=re.MULTILINE,
        )
    return re.sub(r"eps = ([^)\n]*)\)", r"eps = 2*(\1))", text, count=1)
