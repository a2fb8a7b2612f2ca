"""Parts of random specs that call other mechanisms."""

from __future__ import annotations

from draft import CALL, NESTED, Draft, answer

PLAIN = """mechanism plain
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


def use(d: Draft, name: str, text: str) -> None:
    d.callees[name + ".dp"] = text
    d.constructs.add(CALL)


def called(d: Draft) -> None:
    """A noisy answer by another mechanism."""
    e, most = answer(d)
    r = d.name("r")
    family, lattice = ("Lap", "") if d.continuous else ("DLap", ", lattice 1")
    use(d, "plain", PLAIN.format(lattice=lattice, noise=f"{family}(1/eps)"))
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
    use(
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
    use(
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
    use(
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
