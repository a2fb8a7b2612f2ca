"""Whether the shape of a program alone says how many draws belong to an output: for searches."""

from __future__ import annotations

from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in

_ROUNDS, _MOST = 2, 2_000
"""Each loop is gone through so often, and so many ways are told apart."""

_Done = tuple[tuple[str, ...], int, bool]
"""The tags that were released and the number of draws so far, and whether the way has left its loop."""


def draws_are_told(body: tuple[nodes.Stmt, ...]) -> bool:
    """Whether on all ways through a program, whatever its tests say, the tags that are released determine how
    many draws there are, each at the index of its loop. Looked at for loops of a few rounds.
    """
    loops = {s.index for s in statements_in(body) if isinstance(s, nodes.For)}
    indices = (s.index for s in statements_in(body) if isinstance(s, nodes.Sample))
    if not all(i is None or (isinstance(i, nodes.Name) and i.ident in loops) for i in indices):
        return False
    drawn: dict[tuple[str, ...], int] = {}
    try:
        return all(
            drawn.setdefault(tags, draws) == draws for tags, draws, _ in _after(body, {((), 0, False)})
        )
    except _ManyError:
        return False


def _after(body: tuple[nodes.Stmt, ...], ways: set[_Done]) -> set[_Done]:
    """What may be done after a block."""
    for statement in body:
        left = {way for way in ways if way[2]}
        ways = left | _step(statement, ways - left)
        if len(ways) > _MOST:
            raise _ManyError
    return ways


def _step(statement: nodes.Stmt, ways: set[_Done]) -> set[_Done]:
    match statement:
        case nodes.Sample():
            return {(tags, draws + 1, False) for tags, draws, _ in ways}
        case nodes.Emit(tag=tag):
            return {((*tags, tag), draws, False) for tags, draws, _ in ways}
        case nodes.Break():
            return {(tags, draws, True) for tags, draws, _ in ways}
        case nodes.If():
            return set().union(*(_after(arm, ways) for arm in statement.arms))
        case nodes.For(body=body) | nodes.While(body=body):
            over = set[_Done]()
            for _ in range(_ROUNDS):
                over |= ways if isinstance(statement, nodes.While) else set()
                ways = _after(body, ways)
                over |= {(tags, draws, False) for tags, draws, left in ways if left}
                ways = {way for way in ways if not way[2]}
            return over | ways
        case nodes.Assign() | nodes.Invoke() | nodes.Choose() | nodes.Logistic() | nodes.Pass():
            return ways


class _ManyError(Exception):
    pass
