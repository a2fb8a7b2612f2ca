"""Parts of random specs as people write them: searches that go on, flags, budgets in the head of a loop,
scales by what came last, the greatest so far and the second, what is called by what was released.
"""

from __future__ import annotations

import re
from fractions import Fraction

from draft import (
    BRANCH,
    BUDGET,
    CALL,
    FLAG,
    LEADER,
    LOOP,
    REPEAT,
    SEARCH,
    SELECTION,
    STATE,
    TABLE,
    Draft,
    answer,
    primed,
)
from parts_calling import PLAIN, use

OTHER = r"\1'"
"""On D'."""
SPARSE = """mechanism sparse
input
  q : queries, sensitivity 1, adjacency all{lattice}
  k : int where k >= 1
  eps : real where eps > 0
privacy eps
program
  s ~ {family}(2/eps)
  hits = 0
  for i, x in q:
    n[i] ~ {family}(4*k/eps)
    if x + n[i] >= s:
      emit top
      hits = hits + 1
      if hits >= k: break
    else:
      emit bottom
align
  s += 1
  n[i] += 1 + q[i] - q'[i] when out[i] is top
"""


def _crossing(d: Draft, x: str, noise: str, threshold: str, at: str) -> tuple[str, str, str]:
    """A noisy test of an answer, how its threshold moves, and how its noise does where it holds."""
    level = d.pick("", "", " + 1")
    if d.likely(0.75):
        test = f"{x} + {noise} {d.pick('>=', '>=', '>')} {threshold}{level}"
        return test, "+= 1", f"+= 1 + q[{at}] - q'[{at}]"
    return f"{x} + {noise} {d.pick('<', '<=')} {threshold}{level}", "-= 1", f"-= 1 + q'[{at}] - q[{at}]"


def search_on(d: Draft) -> None:
    """Searches, each of which goes on where the last one stopped."""
    d.q("all", "all", "one", "monotone")
    d.constructs |= {SEARCH, LOOP, STATE}
    share, base = d.paid(), d.place
    b, y, at, first, hit, t, tag = (d.name(x) for x in ("b", "y", "at", "start", "hit", "t", "stop"))
    lasting, by_for = d.likely(0.3), d.likely(0.4)
    threshold = b if lasting else f"{b}[{t}]"
    index = f"{t}*len(q) + {at}"
    test, of_b, of_y = _crossing(d, f"q[{at}]", f"{y}[{index}]", threshold, at)
    own = d.noise(1, share / 2 if lasting else share / 4)
    further = d.pick("", "", " + 1")
    d.program += ([f"{b} ~ {own}"] if lasting else []) + [f"{first} = 0", f"for {t} in range(2):"]
    d.program += [] if lasting else [f"  {b}[{t}] ~ {own}"]
    draw = f"{y}[{index}] ~ {d.noise(2, share / 4)}"
    if by_for:
        d.program += [
            f"  {hit} = len(q)",
            f"  for {at} in range({first}, len(q)):",
            f"    {draw}",
            f"    if {test}:",
            f"      {hit} = {at}",
            "      break",
            f"  emit {tag}({hit})",
            f"  {first} = {hit}{further}",
        ]
    else:
        d.program += [
            f"  {at} = {first}",
            f"  {hit} = false",
            f"  while {at} < len(q) and not {hit}:",
            f"    {draw}",
            f"    if {test}:",
            f"      {hit} = true",
            "    else:",
            f"      {at} = {at} + 1",
            f"  emit {tag}({at})",
            f"  {first} = {at}{further}",
        ]
    place = t if not base else f"{t} + {base}"
    d.align += [f"{b}{'' if lasting else '[i]'} {of_b}", f"{y}[j] {of_y} when out[{place}].value == {at}"]
    d.released(2)


def flagged(d: Draft) -> None:
    """A sparse vector that a flag stops."""
    d.q("all", "all", "one", "monotone")
    d.constructs |= {FLAG, LOOP, STATE, BRANCH}
    share, most, base = d.paid(), d.chance.choice((1, 1, 2)), d.place
    s, n, over, hits, high, tag = (d.name(x) for x in ("s", "n", "over", "hits", "high", "t"))
    test, of_s, of_n = _crossing(d, "x", f"{n}[i]", s, "i")
    positive = d.likely(0.5)
    flag, start = (f"not {over}", "false") if positive else (over, "true")
    stop = f"{hits} >= {most}" if positive else f"{hits} < {most}"
    draw = f"{n}[i] ~ {d.noise(2 * most, share / 2)}"
    yes = f"yes{tag}"
    d.program += [f"{s} ~ {d.noise(1, share / 2)}", f"{hits} = 0", f"{over} = {start}"]
    match d.chance.randrange(3):
        case 0:
            d.program += [
                "for i, x in q:",
                f"  if {flag}:",
                f"    {draw}",
                f"    if {test}:",
                f"      emit {yes}",
                f"      {hits} = {hits} + 1",
                "    else:",
                f"      emit no{tag}",
                f"    {over} = {stop}",
            ]
        case 1:
            d.program += [
                "for i, x in q:",
                f"  {draw}",
                f"  {high} = {test}",
                f"  if {flag} and {high}:",
                f"    emit {yes}",
                f"    {hits} = {hits} + 1",
                f"  elif {flag}:",
                f"    emit no{tag}",
                "  else:",
                f"    emit over{tag}",
                f"  if {hits} >= {most}: {over} = {'true' if positive else 'false'}",
            ]
        case _:
            d.program += [
                f"{high} = 0",
                f"while {flag} and {high} < len(q):",
                f"  {draw.replace('[i]', f'[{high}]')}",
                f"  if {test.replace('[i]', f'[{high}]').replace('x + ', f'q[{high}] + ')}:",
                f"    emit {yes}",
                f"    {hits} = {hits} + 1",
                "  else:",
                f"    emit no{tag}",
                f"  {over} = {stop}",
                f"  {high} = {high} + 1",
            ]
    place = "i" if not base else f"i + {base}"
    d.align += [f"{s} {of_s}", f"{n}[i] {of_n} when out[{place}] is {yes}"]
    d.place = None


def where_found(d: Draft) -> None:
    """One record at the end: where the first, or the last, answer is above."""
    d.q("all", "all", "one", "monotone")
    d.constructs |= {FLAG, LOOP, STATE}
    share, tag = d.paid(), d.name("t")
    s, n, at, go = (d.name(x) for x in ("s", "n", "at", "go"))
    j = at
    down = d.likely(0.3)
    d.program += [f"{s} ~ {d.noise(1, share / 2)}"]
    draw = f"{n}[{{}}] ~ {d.noise(2, share / 2)}"
    match d.chance.randrange(3):
        case 0:
            test, of_s, of_n = _crossing(d, f"q[{at}]", f"{n}[{at}]", s, "i")
            head, step = (f"{at} >= 0", "- 1") if down else (f"{at} < len(q)", "+ 1")
            d.program += [
                f"{at} = {'len(q) - 1' if down else '0'}",
                f"{go} = true",
                f"while {d.pick(f'{go} and {head}', f'{head} and {go}')}:",
                f"  {draw.format(at)}",
                f"  if {test}:",
                f"    {go} = false",
                "  else:",
                f"    {at} = {at} {step}",
            ]
        case 1:
            j = d.name("j")
            test, of_s, of_n = _crossing(d, f"q[{j}]", f"{n}[{j}]", s, "i")
            d.program += [
                f"{at} = len(q)",
                f"for {j} in range(len(q)):",
                f"  {draw.format(j)}",
                f"  if {test}:",
                f"    {at} = {j}",
                "    break",
            ]
        case _:
            j = d.name("j")
            test, of_s, of_n = _crossing(d, f"q[{j}]", f"{n}[{j}]", s, "i")
            d.program += [
                f"for {j} in range(len(q)):",
                f"  {draw.format(j)}",
                f"{at} = {d.pick('len(q)', '-1')}",
                f"{go} = true",
                f"for {j} in range(len(q)):",
                f"  if {go} and {test}:",
                f"    {at} = {j}",
                f"    {go} = false",
            ]
    d.program.append(f"emit first{tag}({at})")
    d.align += [f"{s} {of_s}", f"{n}[i] {of_n} when out[{d.place or 0}].value == i"]
    d.released(1)


def budgeted(d: Draft) -> None:
    """A budget that is tested in the head of a loop, with steps of two sizes."""
    d.q("all", "all", "one", "monotone")
    d.constructs |= {BUDGET, LOOP, STATE, BRANCH}
    share, most, base = d.paid(), d.chance.choice((1, 2)), d.place
    s, z, w, left, j, tag = (d.name(x) for x in ("s", "z", "w", "left", "j", "t"))
    big, small = share / (2 * most), share / (4 * most)
    far, near = d.noise(2, small), d.noise(2, big)
    used = d.likely(0.5)
    start = f"{share / 2}*eps"
    enough = f"{left} <= {share - big}*eps" if used else f"{left} >= {big}*eps"
    pay = "+" if used else "-"
    whole = d.likely(0.3)
    if whole:  # counted in points
        start, enough = ("0", f"{left} <= {2 * most - 2}") if used else (f"{2 * most}", f"{left} >= 2")
    costs = ("2", "1") if whole else (f"{big}*eps", f"{small}*eps")
    by_for = d.likely(0.4)
    i = "i" if by_for else j
    d.program += [f"{s} ~ {d.noise(1, share / 2)}", f"{left} = {start}"]
    if by_for:
        d.program += ["for i, x in q:"]
        guard = [f"  if {enough}:"] if d.likely(0.5) else [f"  if not ({enough}): break"]
    else:
        d.program += [f"{j} = 0", f"while {enough} and {j} < len(q):"]
        guard = []
    deeper = "  " if guard and guard[0].endswith(":") else ""
    body = [
        f"{z}[{i}] ~ {far}",
        f"if q[{i}] + {z}[{i}] >= {s} + {d.pick('1', '2', '0')}:",
        f"  emit far{tag}",
        f"  {left} = {left} {pay} {costs[1]}",
        "else:",
        f"  {w}[{i}] ~ {near}",
        f"  if q[{i}] + {w}[{i}] >= {s}:",
        f"    emit near{tag}",
        f"    {left} = {left} {pay} {costs[0]}",
        "  else:",
        f"    emit none{tag}",
    ]
    d.program += [*guard, *(f"  {deeper}{line}" for line in body)]
    d.program += [] if by_for else [f"  {j} = {j} + 1"]
    place = "i" if not base else f"i + {base}"
    d.align += [
        f"{s} += 1",
        f"{z}[i] += 1 + q[i] - q'[i] when out[{place}] is far{tag}",
        f"{w}[i] += 1 + q[i] - q'[i] when out[{place}] is near{tag}",
    ]
    d.place = None


def shrinking(d: Draft) -> None:
    """A number released again and again, each time with a part of the budget that is left."""
    e, most = answer(d)
    d.constructs |= {BUDGET, LOOP, STATE}
    share, tag = d.paid(), d.name("t")
    left, use_, n = d.name("left"), d.name("use"), d.name("n")
    family = "Lap" if d.continuous else "DLap"
    part = d.pick("2", "2", "3")
    body = [f"{use_} = {left}/{part}", f"{n}[i] ~ {family}({most}/{use_})", f"emit value{tag}({e} + {n}[i])"]
    less = f"{left} = {left} - {use_}"
    if d.likely(0.4):
        less = f"if {e} + {n}[i] >= 1: {less}"
        less = f"{less}\nelse: {left} = {left} - {use_}"
    d.program += [
        f"{left} = {share}*eps",
        "for i in range(2):",
        *(f"  {line}" for line in [*body, *less.split("\n")]),
    ]
    d.align.append(f"{n}[i] += {e} - ({primed(e)})")
    d.released(2)


def scaled_by_last(d: Draft) -> None:
    """A sparse vector with more noise after an answer above."""
    d.q("all", "all", "one", "monotone")
    d.constructs |= {BUDGET, LOOP, STATE, BRANCH}
    share, most, base = d.paid(), d.chance.choice((1, 2)), d.place
    s, n, scale, hits, tag = (d.name(x) for x in ("s", "n", "scale", "hits", "t"))
    family = "Lap" if d.continuous else "DLap"
    test, of_s, of_n = _crossing(d, "x", f"{n}[i]", s, "i")
    narrow, wide = f"{4 * most / share}/eps", f"{6 * most / share}/eps"
    by_truth = d.likely(0.4)
    d.program += [f"{s} ~ {d.noise(1, share / 2)}", f"{hits} = 0"]
    if by_truth:
        drawn = f"{family}({wide} if {scale} else {narrow})"
        d.program.append(f"{scale} = false")
    else:
        drawn = f"{family}({scale})"
        d.program.append(f"{scale} = {narrow}")
    d.program += [
        "for i, x in q:",
        f"  {n}[i] ~ {drawn}",
        f"  if {test}:",
        f"    emit yes{tag}",
        f"    {hits} = {hits} + 1",
        f"    {scale} = {'true' if by_truth else wide}",
        f"    if {hits} >= {most}: break",
        "  else:",
        f"    emit no{tag}",
        f"    {scale} = {'false' if by_truth else narrow}",
    ]
    place = "i" if not base else f"i + {base}"
    d.align += [f"{s} {of_s}", f"{n}[i] {of_n} when out[{place}] is yes{tag}"]
    d.place = None


def leader(d: Draft) -> None:
    """The greatest so far, where it was, and the second, kept by a loop."""
    d.q("all", "all", "one", "monotone", least=2)
    d.constructs |= {LEADER, LOOP, STATE, BRANCH}
    share, tag, base = d.paid(), d.name("t"), d.place or 0
    n, who, best, second, v = (d.name(x) for x in ("n", "who", "best", "second", "v"))
    shown = d.pick("index", "index", "lead", "lead", "second")
    strict = d.pick(">", ">", ">=")
    noise = "Lap" if shown != "index" or d.continuous or d.likely(0.3) else "DLap"
    scale = f"{2 / share}/eps" if shown != "second" else f"{4 / share}/eps"
    way, first, order = _passes(d)
    i = "j" if "j" in way else "i"
    drawn = f"{n}[{i}] ~ {noise}({scale})"
    apart = d.likely(0.25) and way.startswith("for")
    d.program += [way, f"  {drawn}"] if apart else []
    before, loop = order
    d.program += [f"{who} = 0", f"{best} = 0", *([f"{second} = 0"] if shown != "index" else []), *before]
    d.program += [way, *([] if apart else [f"  {drawn}"]), f"  {v} = q[{i}] + {n}[{i}]"]
    keep, runner = [f"{best} = {v}", f"{who} = {i}"], d.name("who")
    if shown == "index":
        d.program += [
            f"  if {d.pick(f'{first} or {v} {strict} {best}', f'{v} {strict} {best} or {first}')}:",
            *(f"    {line}" for line in keep),
        ]
    else:
        keep = [f"{second} = {best}", *([f"{runner} = {who}"] if shown == "second" else []), *keep]
        where = d.program.index(f"{who} = 0")
        d.program[where:where] = [f"{runner} = 0"] if shown == "second" else []
        two = first.replace("== 0", "== 1").replace("len(q) - 1", "len(q) - 2")
        d.program += [
            f"  if {first} or {v} {strict} {best}:",
            *(f"    {line}" for line in keep),
            f"  elif {two} or {v} {d.pick('>', '>=')} {second}:",
            f"    {second} = {v}",
            *([f"    {runner} = {i}"] if shown == "second" else []),
        ]
    d.program += loop
    out = f"out[{base}].index"
    rest = f"max({{q}}[l] + {n}[l] for l in q where l != {out})"
    if shown == "index":
        d.program.append(f"emit {tag}(index = {who})")
        d.align.append(f"{n}[i] += 1 + q[i] - q'[i] when i == {out}")
    elif shown == "lead":
        d.program.append(f"emit {tag}(index = {who}, lead = {best} - {second})")
        there = rest.format(q="q'")
        d.align.append(f"{n}[i] += q[i] - q'[i] + {there} - {rest.format(q='q')} when i == {out}")
    else:
        d.program.append(f"emit {tag}(index = {who}, next = {runner})")
        d.align.append(f"{n}[i] += 1 + q[i] - q'[i] when i == {out} or i == out[{base}].next")
    d.released(1)


def _passes(d: Draft) -> tuple[str, str, tuple[list[str], list[str]]]:
    """How a loop goes over the answers: its head, a test for its first round, what is before and in it."""
    if d.likely(0.6):
        return d.pick("for i, x in q:", "for i in range(len(q)):"), "i == 0", ([], [])
    j = "j"
    if d.likely(0.5):
        return f"while {j} < len(q):", f"{j} == 0", ([f"{j} = 0"], [f"  {j} = {j} + 1"])
    return f"while {j} >= 0:", f"{j} == len(q) - 1", ([f"{j} = len(q) - 1"], [f"  {j} = {j} - 1"])


def counted(d: Draft) -> None:
    """Answers that a sparse vector found are measured: each a share, or a share of how many there are."""
    d.q("all", "all", "one", "monotone")
    d.constructs |= {CALL, LOOP, BRANCH}
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    use(d, "sparse", SPARSE.format(lattice=lattice, family=family))
    share, most = d.paid() / 2, d.chance.choice((1, 1, 2))
    found, n, c, tag = d.name("found"), d.name("n"), d.name("c"), d.name("t")
    d.program.append(f"{found} = sparse(q = q, k = {most}, eps = {share}*eps)")
    place = "0" if most == 1 and d.likely(0.3) else "i"
    many = f"{found}.count(top)" if d.likely(0.4) else f"{most}"
    if many != f"{most}" and d.likely(0.5):
        d.program.append(f"{c} = {many}")
        many = c
    looks = [f"for i in range(len({found})):", f"  if {found}[i] is top:"]
    if place == "0":
        at = f"len({found}) - 1"
        looks = [f"if {found}.count(top) >= 1:", f"  {c}at = {at}"]
        i, deep = f"{c}at", "  "
    else:
        i, deep = "i", "    "
    if d.likely(0.5):
        use(d, "plain", PLAIN.format(lattice=lattice, noise=f"{family}(1/eps)"))
        r = d.name("r")
        looks += [
            f"{deep}{r} = plain(a = q[{i}], eps = {share}*eps/{many})",
            f"{deep}emit m{tag}(index = {i}, value = {r}.x)",
        ]
    else:
        noise = f"{family}({1 / share}*{many}/eps)"
        looks += [f"{deep}{n}[{i}] ~ {noise}", f"{deep}emit m{tag}(index = {i}, value = q[{i}] + {n}[{i}])"]
        d.align.append(f"{n}[i] += q[i] - q'[i]")
    d.program += looks
    d.place = None


def called_on_the_rest(d: Draft) -> None:
    """A search by another mechanism, and another one on what comes after where it stopped."""
    d.q("all", "all", "one", "monotone")
    d.constructs |= {CALL, SEARCH}
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    use(d, "sparse", SPARSE.format(lattice=lattice, family=family))
    share = d.paid() / 2
    one, two, tag = d.name("one"), d.name("two"), d.name("t")
    start = d.pick(f"len({one})", f"len({one})", f"{one}.count(bottom)", f"{one}.count(top)")
    at = d.name("at")
    if d.likely(0.5):
        d.program += [
            f"{one} = sparse(q = q, k = 1, eps = {share}*eps)",
            f"{two} = sparse(q = q[{start}:], k = 1, eps = {share}*eps)",
            f"emit v{tag}(a = len({one}), b = len({two}), c = {two}.count(top))",
        ]
        d.released(1)
    else:
        d.constructs |= {LOOP, STATE}
        d.program += [
            f"{at} = 0",
            "for i in range(2):",
            f"  {one} = sparse(q = q[{at}:], k = 1, eps = {share}*eps)",
            f"  {at} = {at} + {start}",
            f"  emit v{tag}({at})",
        ]
        d.released(2)


def cells(d: Draft) -> None:
    """A table: its cells, the sums of its rows or columns, or the greatest in each row."""
    d.constructs |= {TABLE, LOOP}
    share, tag, n = d.paid(), d.name("t"), d.name("n")
    way = d.pick("one", "one", "moved", "l1")
    most = 2 if way == "moved" else 1
    d.inputs["rows"] = "rows : int where rows >= 1"
    d.inputs["columns"] = "columns : int where columns >= 1"
    d.inputs["g"] = f"g : int queries[rows][columns], sensitivity 1, adjacency {way}"
    d.continuous = d.continuous and way != "l1"  # stairs cost the same for each of many small moves
    noise = d.noise(most, share)
    match d.chance.randrange(5):
        case 0:
            d.program += [
                "for i in range(rows):",
                "  for j in range(columns):",
                f"    {n}[i][j] ~ {noise}",
                f"    emit cell{tag}(g[i][j] + {n}[i][j])",
            ]
            d.align.append(f"{n}[i][j] += g[i][j] - g'[i][j]")
        case 1:
            body = d.pick("g[i][j]", "max(g[i][j], 0)", "clip(g[i][j], 0, 1)")
            d.program += [
                "for i in range(rows):",
                f"  {n}[i] ~ {noise}",
                f"  emit row{tag}(sum({body} for j in range(columns)) + {n}[i])",
            ]
            there = body.replace("g[", "g'[")
            d.align.append(
                f"{n}[i] += sum({body} for j in range(columns)) - sum({there} for j in range(columns))"
            )
        case 2:
            d.program += [
                "for j in range(columns):",
                f"  {n}[j] ~ {noise}",
                f"  emit column{tag}(sum(g[i][j] for i in range(rows)) + {n}[j])",
            ]
            d.align.append(
                f"{n}[j] += sum(g[l][j] for l in range(rows)) - sum(g'[l][j] for l in range(rows))"
            )
        case 3:
            d.program += [
                "for i, row in g:",
                f"  {n}[i] ~ {noise}",
                f"  emit most{tag}(max(g[i][j] for j in range(columns)) + {n}[i])",
            ]
            d.align.append(
                f"{n}[i] += max(g[i][j] for j in range(columns)) - max(g'[i][j] for j in range(columns))"
            )
        case _:
            w = d.name("w")
            cell, many = ("g[{}][0]", "rows") if d.likely(0.5) else ("g[0][{}]", "columns")
            d.program += [
                f"for i in range({many}):",
                f"  {n}[i] ~ {d.noise(2 * most, share, d.likely(0.3))}",
                f"{w} = argmax({cell.format('j')} + {n}[j] for j in range({many}))",
                f"emit best{tag}({w})",
            ]
            there = cell.format("i").replace("g", "g'")
            d.align.append(f"{n}[i] += 1 + {cell.format('i')} - {there} when i == {w}")
    d.place = None


def repeated(d: Draft) -> None:
    """A call that is repeated until it fits."""
    e, most = answer(d)
    d.constructs |= {CALL, REPEAT}
    if most == 2:
        e = e.removeprefix("2*")
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    use(d, "plain", PLAIN.format(lattice=lattice, noise=f"{family}(1/eps)"))
    share, r, tag = d.paid(), d.name("r"), d.name("t")
    test = d.pick(
        f"{r}.x >= 1", f"{r}.x == 0", f"{r}.x > 0 and {r}.x < 3", f"abs({r}.x) <= 1", f"len({r}) > 0"
    )
    if d.continuous and "==" in test:
        test = f"{r}.x <= 0"
    chance, rounds = (
        d.chance.choice((Fraction(1), Fraction(1, 2), Fraction(1, 8))),
        d.chance.choice((0, 0, 1, 2, 4)),
    )
    s = chance * rounds
    if rounds:
        d.plus += Fraction(2) / (s * (2 + s))
    cap = f" at most {rounds} rounds" if rounds else ""
    d.program += [
        f"{r} = repeat plain(a = {e}, eps = {share / 2}*eps) until {test}"
        f" stop with probability {chance}{cap}",
        f"if len({r}) > 0:",
        f"  emit got{tag}({r}.x{d.pick('', ' + 1')})",
        "else:",
        f"  emit none{tag}",
    ]
    d.released(1)


def repeated_by_private(d: Draft) -> None:
    """A call that is repeated by a test, with a chance, or so often, as the answer says."""
    a = d.a()
    d.constructs |= {CALL, REPEAT}
    use(d, "plain", PLAIN.format(lattice=", lattice 1", noise="DLap(1/eps)"))
    share, r, tag = d.paid(), d.name("r"), d.name("t")
    test, stop, cap = f"{r}.x >= 1", "1/4", ""
    match d.chance.randrange(6):
        case 0:
            test = f"{r}.x >= {a}"
        case 1:
            test = f"{r}.x >= 1 and ({a} == 0 or {r}.x < 0)"
        case 2:
            stop = f"1/(2 + {a})"
        case 3:
            stop = d.pick("0", "2", f"{a}")
        case 4:
            cap = f" at most 1 + {a} rounds"
        case _:
            test = f"{r}.x + {a} - {a} >= 1"  # which is the same
    d.program += [
        f"{r} = repeat plain(a = {a}, eps = {share / 2}*eps) until {test} stop with probability {stop}{cap}",
        f"emit many{tag}(len({r}))",
    ]
    d.plus += Fraction(2) if cap else 0
    d.released(1)


def together(d: Draft) -> None:
    """Lists that move at one index, or that move in one direction, or each on its own."""
    tied, share, tag, n = d.likely(0.7), d.paid(), d.name("t"), d.name("n")
    d.cost -= share
    if d.likely(0.6):
        way, moving = d.chance.choice((("one", 1), ("one", 1), ("moved", 2), ("two", 2)))
        d.inputs["u"] = f"u : int queries, sensitivity 1, adjacency {way}"
        clause = f"{', same index as u' if tied else ''} where len(v) == len(u)"
        d.inputs["v"] = f"v : int queries, sensitivity 1, adjacency {way}{clause}"
        each, most = d.chance.choice(
            (
                ("(u[i] if i == 0 else v[i])", 1 if tied else 2),
                ("(u[i] + v[i])", 2),
                ("(u[i] - v[i])", 2),
                ("max(u[i], v[i])", 1 if tied else 2),
            )
        )
        d.cost += share * moving * most
        d.constructs.add(LOOP)
        d.program += [
            "for i in range(len(u)):",
            f"  {n}[i] ~ {'Lap' if d.continuous else 'DLap'}({1 / share}/eps)",
            f"  emit both{tag}({each} + {n}[i])",
        ]
        d.align.append(f"{n}[i] += {each} - {re.sub('([uv])(?=.i)', OTHER, each)}")
        d.place = None
        return
    d.inputs["u"] = f"u : int queries, sensitivity 1, adjacency {d.pick('one', 'monotone')} where len(u) >= 1"
    d.inputs["c"] = f"c : int query, sensitivity 1{', same direction as u' if tied else ''}"
    number, most = d.chance.choice(
        (
            ("u[0] - c", 1 if tied else 2),
            ("u[0] + c", 2),
            ("max(u[0], c)", 1),
            ("abs(u[0] - c)", 1 if tied else 2),
        )
    )
    d.cost += share
    d.program += [f"{n} ~ {d.noise(most, share)}", f"emit one{tag}({number} + {n})"]
    there = re.sub(r"\b(u(?=\[)|c\b)", OTHER, number)
    d.align.append(f"{n} += {number} - ({there})")
    d.released(1)


def rounds(d: Draft) -> None:
    """A list, or one index, that is selected in each round of a loop with a row of noise for each."""
    d.constructs |= {SELECTION, LOOP}
    d.q("all", "monotone", "one", least=2)
    way, n, w, r, tag = d.pick("top", "top", "upto", "argmax"), *(d.name(x) for x in ("n", "w", "r", "t"))
    count = 1 if way == "argmax" else int(d.pick("1", "2"))
    first = d.likely(0.15)
    noise = d.noise(2 * count * (1 if first else 2), d.paid())
    value = d.pick("q[j] + {}[{}*len(q) + j]", "{0}[{1}*len(q) + j] + q[j]").format(n, r)
    wanted = "" if way == "argmax" else f"{count}, "
    shown = [f"  emit {tag}(index = {w})"]
    if way != "argmax":
        shown = [f"  for s in range(len({w})):", f"    emit {tag}(index = {w}[s])"]
    d.program += [
        f"for {r} in range({1 if first else 2}):",
        f"  for {d.pick('j in range(len(q))', 'j, x in q')}:",
        f"    {n}[{r}*len(q) + j] ~ {noise}",
        f"  {w} = {way}({wanted}{value} for j in q)",
        *shown,
    ]
    at, place = "i % len(q)", f"{d.place or 0} + floor(i/len(q))"
    guard = f"{at} == out[{place}].index" if way == "argmax" else f"{at} in {w}"
    d.align.append(f"{n}[i] += 1 + q[{at}] - q'[{at}] when {guard}")
    d.place = None
