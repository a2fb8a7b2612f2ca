"""The abstract syntax of a spec: frozen values with spans, no behaviour.

Names are canonical: Greek letters and primes of the source are already spelled out (`ε` is `eps`, `q′` is
`q` with `primed=True`). Chained comparisons are already split into a conjunction. Nodes compare without
their spans, so that two specs that differ only in layout are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from aligncheck.language.adjacencies import Adjacency as Adjacency
from aligncheck.language.families import Family as Family
from aligncheck.language.source import Span

if TYPE_CHECKING:
    from aligncheck.language.syntax.contract import Contract

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every node has: its place in the source."""

    span: Span = field(default=NOWHERE, compare=False)


# --- expressions ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number or a truth value, as it is written."""


@dataclass(frozen=True, slots=True)
class ByName(Node):
    """What is read by a name."""


@dataclass(frozen=True, slots=True)
class Operator(Node):
    """What operators make."""


@dataclass(frozen=True, slots=True)
class OfOutput(Node):
    """What the output of the mechanism, or of a call, shows."""


@dataclass(frozen=True, slots=True)
class Number(Literal):
    """An exact rational literal: `2`, `0.5`, `1e-3`."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Boolean(Literal):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Name(ByName):
    """An input, a program variable or a noise variable; `primed` is its value in the run on D'."""

    ident: str
    primed: bool = False


@dataclass(frozen=True, slots=True)
class Index(ByName):
    """`base[index]` or `base'[index]`: an answer, an entry of a public vector, a draw, or (from 0, in order)
    an index that `top` selected.
    """

    base: str
    index: Expr
    primed: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A scalar function (`FUNCTIONS`) or `len(q)`."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary(Operator):
    """`-operand` or `not operand`; `op` is `-` or `not`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Operator):
    """Arithmetic; `op` is one of `+ - * / % **`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Operator):
    """One comparison; `op` is one of `== != < <= > >=`. Between two bool operands only `==` and `!=`.

    In `align`, `q <= q'` and `q >= q'` for a vector of queries compare every entry.
    """

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Logic(Operator):
    """`and` or `or` of two or more operands."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Operator):
    """`then if test else otherwise`."""

    test: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class OutIs(OfOutput):
    """`out[index] is tag`: record number `index` (from 0) of the output exists and has this tag.

    `out is tag` is `out[0] is tag`. Only in `align`, but where `of` names a call: then the record is one that
    the called mechanism released.
    """

    index: Expr
    tag: str
    of: str = "out"


@dataclass(frozen=True, slots=True)
class OutField(OfOutput):
    """`out[index].field`: a number of record `index` of the output. Only in `align`, but for calls (`of`)."""

    index: Expr
    field: str
    of: str = "out"


@dataclass(frozen=True, slots=True)
class OutCount(OfOutput):
    """`len(out)` (tag None) or `out.count(tag)`: how many records the whole output has. Only in `align`, but
    for calls (`of`).
    """

    tag: str | None
    of: str = "out"


@dataclass(frozen=True, slots=True)
class Indices(Node):
    """`j in q`: the indices of a list, private or public. `item` is the name that the source has for the
    entry at the index (`j, x in q`), which stands in the tree as `q[j]`.
    """

    base: str
    item: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OverRange(Node):
    """`for i in range(low, high)`: from `low` up to, but without, `high`."""

    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class Gather(Node):
    """`function(body for index in over where test)`, over the indices at which `where` holds (None: all).

    `function` is one of `GATHERS`: `max` and `min` are the greatest and the least value of `body`, `argmax`
    and `argmin` the least index at which it is taken; `top(count, body for …)` is the list of the `count`
    indices with the greatest values, the greatest first, of equal ones the lower index first; it is the whole
    right-hand side of an assignment. `upto` gives all indices where there are fewer than `count`. `logsumexp`
    is the logarithm of the sum of `exp(body)`, in mechanisms that draw by densities only. `count` is None for
    all but `top` and `upto`. All but `upto` are undefined where there are too few indices. `index` differs
    from every name that is visible around it.
    """

    function: str
    count: Expr | None
    body: Expr
    index: str
    over: Indices | OverRange
    where: Expr | None


@dataclass(frozen=True, slots=True)
class Member(ByName):
    """`index in selection`: whether an index is among those that `selection`, a variable that `top` gives,
    holds.
    """

    index: Expr
    selection: str


Expr: TypeAlias = (
    Number
    | Boolean
    | Name
    | Index
    | Call
    | Unary
    | Binary
    | Compare
    | Logic
    | Conditional
    | OutIs
    | OutField
    | OutCount
    | Gather
    | Member
)

SELECTING = ("top", "upto")
"""What gives a list of indices."""

LISTING = "list"
"""The values at a set of indices, one by one: only as an argument of a call."""

GATHERS = ("max", "min", "argmax", "argmin", *SELECTING, "sum", LISTING)
"""What may be done with the values at a set of indices."""

LOG_SUM = "logsumexp"
"""What else may be done with them, in a mechanism that draws by densities."""

CUBE_ROOT = "cbrt"
"""A function that is read as another: `cbrt(x)` is `exp(1/3*ln(x))`."""
THIRD = Binary("/", Number(Fraction(1)), Number(Fraction(3)))

FUNCTIONS: dict[str, tuple[int, int]] = {
    "abs": (1, 1),
    "min": (2, 8),
    "max": (2, 8),
    "clip": (3, 3),
    "floor": (1, 1),
    "sqrt": (1, 1),
    "exp": (1, 1),
    "ln": (1, 1),
    "log2": (1, 1),
    "len": (1, 1),
}
"""Scalar functions with the least and the greatest number of arguments."""


# --- inputs -----------------------------------------------------------------------------------------------


class Sort(Enum):
    """What kind of number an input is."""

    REAL = "real"
    INT = "int"
    BOOL = "bool"


class Public(Node):
    """A public input: one name stands for all that it declares."""

    __slots__ = ()
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, as `Queries` have theirs."""
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Parameter(Public):
    """A public scalar: `eps : real where eps > 0`. `default` is what a run takes where it is given no value,
    computed from the other parameters; no proof reads it.
    """

    name: str
    sort: Sort
    where: Expr | None = None
    default: Expr | None = None


@dataclass(frozen=True, slots=True)
class PublicVector(Public):
    """A public list: `b : vector` (`int vector`, `bool vector`)."""

    name: str
    sort: Sort
    where: Expr | None = None


@dataclass(frozen=True, slots=True)
class Queries(Node):
    """Private answers declared together: their adjacency holds over all of `names` jointly.

    `vector` is False for `query` (one answer each) and True for `queries` (a list each). `sort` is INT for
    integer answers. `lattice`, if given, is a step of which every answer is a multiple. `sensitivity` may
    mention `i`, the index of the answer. `range` is the declared range of the answers. `same_index` and
    `same_direction` name an answer of a line above with which this line shares that (`walk.together`).
    `table` are the rows and columns of a list that stands for a table (`tables`).
    """

    names: tuple[str, ...]
    vector: bool
    sort: Sort
    adjacency: Adjacency
    sensitivity: Expr | None
    lattice: Expr | None = None
    range: tuple[Expr, Expr] | None = None
    where: Expr | None = None
    same_index: Name | None = None
    same_direction: Name | None = None
    table: tuple[Expr, Expr] | None = field(default=None, compare=False)


Input: TypeAlias = Parameter | PublicVector | Queries


# --- statements -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Simple(Node):
    """A statement that no other stands in."""


@dataclass(frozen=True, slots=True)
class Sampling(Simple):
    """A draw."""


@dataclass(frozen=True, slots=True)
class Empty(Simple):
    """A statement that only says where to go on."""


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """What is done again."""


@dataclass(frozen=True, slots=True)
class Assign(Simple):
    """`name = value`."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Sample(Sampling):
    """`name ~ Family(args)` or `name[index] ~ Family(args)`.

    `args` are the family's `arguments`; a step that the source leaves out is 1.
    """

    name: str
    index: Expr | None
    family: Family
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choose(Sampling):
    """`name ~ Choose(weight for index in over where test)`: one index of the set, each with a probability
    proportional to its weight.

    `weights` is that set; its `function` is `Choose`, which no other `Gather` has.
    """

    name: str
    weights: Gather


@dataclass(frozen=True, slots=True)
class Logistic(Sampling):
    """`name ~ Logistic(location, scale) where name > low`: a number with the density
    exp(-z)/(scale*(1 + exp(-z))**2), z being (number - location)/scale.

    `scale` is 1 where the source leaves it out. `low` is None for the whole line; otherwise this is the
    distribution given that the number is above `low`.
    """

    name: str
    location: Expr
    scale: Expr
    low: Expr | None


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """One `if` or `elif` arm."""

    test: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class If(Node):
    """`if … elif … else …`; `otherwise` is empty where there is no `else`."""

    branches: tuple[Branch, ...]
    otherwise: tuple[Stmt, ...]

    @property
    def arms(self) -> tuple[tuple[Stmt, ...], ...]:
        """The blocks of which a run takes one."""
        return (*(branch.body for branch in self.branches), self.otherwise)


@dataclass(frozen=True, slots=True)
class OverQueries(Node):
    """`for i, x in q`: `index` counts from 0, `item` is the answer; `base` is a list, private or public."""

    base: str
    item: str


@dataclass(frozen=True, slots=True)
class For(Repeat):
    """A loop over a finite input. `index` is None where the source names none (`for x in q`)."""

    index: str | None
    over: OverQueries | OverRange
    body: tuple[Stmt, ...]
    invariants: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class While(Repeat):
    """`while test`."""

    test: Expr
    body: tuple[Stmt, ...]
    invariants: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class EmitField(Node):
    """`name = value` in a record."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Emit(Simple):
    """`emit tag(field = value, …)`: appends one record to the output."""

    tag: str
    fields: tuple[EmitField, ...]


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """`name = value` in a call: what an input of the called mechanism gets."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Rounds(Node):
    """`repeat … until test stop with probability chance at most most rounds`: a call that is made, with the
    same arguments, until `test` holds of what it released. After a round for which it does not, all ends with
    the probability `chance`, and after the last one of `most` in any case; then nothing is released.
    """

    test: Expr
    chance: Expr
    most: Expr | None = None


@dataclass(frozen=True, slots=True)
class Invoke(Simple):
    """`name = mechanism(argument = value, …)`: runs a mechanism that `use` names. `name` is what it released;
    it has this one place where it gets its records. With `rounds` it may run more than once, and what `name`
    holds is what the last run released, if the test holds of it, or no records.

    An argument for `queries` is the name of such a list, or a `Gather` with the function `list`.
    """

    name: str
    mechanism: str
    arguments: tuple[Argument, ...]
    rounds: Rounds | None = None


@dataclass(frozen=True, slots=True)
class Break(Empty):
    """`break`: leaves the innermost loop."""


@dataclass(frozen=True, slots=True)
class Pass(Empty):
    """`pass`."""


Stmt: TypeAlias = Assign | Invoke | Sample | Choose | Logistic | If | For | While | Emit | Break | Pass


# --- alignment --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shift(Node):
    """`name[index] += value when guard`.

    `op` is `+=`, `-=` or `=` (the new value itself). `index` is None for scalar noise. Where it is a `Name`
    that is no parameter, it is a binder: it stands for the index of every draw of `name` in `value` and
    `guard`. Any other index restricts the line to the draws with that index.

    Shifts of one variable whose guards hold add up. `value` and `guard` are evaluated where the variable is
    drawn: a program variable has the value that it has there.
    """

    name: str
    index: Expr | None
    op: str
    value: Expr
    guard: Expr | None = None


@dataclass(frozen=True, slots=True)
class Case(Node):
    """One arm of a case split."""

    test: Expr
    items: tuple[AlignItem, ...]


@dataclass(frozen=True, slots=True)
class CaseSplit(Node):
    """`case test: … case test: … otherwise: …`: the first arm whose test holds is used."""

    cases: tuple[Case, ...]
    otherwise: tuple[AlignItem, ...]


AlignItem: TypeAlias = Shift | CaseSplit


# --- the whole --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expectation(Node):
    """`expect verified`, `expect alignment fails at cost`, `expect error at contradictory-where`, …

    `verdict` is `verified`, `alignment fails`, `refuted`, `unknown` or `error`; `at` is a condition id or,
    for `error`, a diagnostic code; None where the source names none.
    """

    verdict: str
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Use(Node):
    """`use name from "path"`: a mechanism that may be called; `path` is relative to the spec's file.

    `contract` is what is known of it, None until the file has been read.
    """

    name: str
    path: str
    contract: Contract | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Function(Node):
    """`fun name(real, int) : real`: a function of public and released values of which nothing is known."""

    name: str
    args: tuple[Sort, ...]
    result: Sort


@dataclass(frozen=True, slots=True)
class Pure(Node):
    """`privacy epsilon`, or `privacy epsilon at most most`: ε-differential privacy.

    `most` is a public bound on `epsilon`, given where that speaks of the output: the mechanism is `most`-DP,
    and an output ω changes its probability by a factor of at most exp(epsilon(ω)).
    """

    epsilon: Expr
    most: Expr | None = None


@dataclass(frozen=True, slots=True)
class Approximate(Node):
    """`privacy epsilon delta delta`: (ε, δ)-differential privacy, P(M(D) in S) <= e^ε P(M(D') in S) + δ."""

    epsilon: Expr
    delta: Expr


@dataclass(frozen=True, slots=True)
class Concentrated(Node):
    """`privacy rho zcdp`: ρ-zero-concentrated differential privacy, which says that the Rényi divergence of
    each order α > 1 between M(D) and M(D') is at most αρ (Bun and Steinke, TCC 2016, Definition 1.1).
    """

    rho: Expr


Claim: TypeAlias = Pure | Approximate | Concentrated


class NotPureError(Exception):
    """The ε of a mechanism was asked for by what knows of no other claim, and it claims something else."""

    def __init__(self, claim: Approximate | Concentrated) -> None:
        super().__init__("this is done for claims in ε only: `privacy E`, without `delta` or `zcdp`")
        self.span = claim.span


@dataclass(frozen=True, slots=True)
class Mechanism(Node):
    """A whole spec. `remarks` are the comments at its head, which name its source; `doc` is what it does.

    `also_refuted` says that a line `expect refuted` stands beside `expect`, which is about the proof.
    """

    name: str
    doc: str
    remarks: tuple[str, ...]
    inputs: tuple[Input, ...]
    claim: Claim
    body: tuple[Stmt, ...]
    align: tuple[AlignItem, ...]
    expect: Expectation | None = None
    uses: tuple[Use, ...] = ()
    functions: tuple[Function, ...] = ()
    also_refuted: bool = False

    @property
    def pure(self) -> Pure:
        """The claim of a mechanism that claims ε. Raises NotPureError for any other one."""
        if not isinstance(self.claim, Pure):
            raise NotPureError(self.claim)
        return self.claim

    @property
    def privacy(self) -> Expr:
        """The ε that it claims. Raises NotPureError."""
        return self.pure.epsilon

    @property
    def most(self) -> Expr | None:
        """The bound of an ε that speaks of the output; no other claim does."""
        return self.claim.most if isinstance(self.claim, Pure) else None
