"""Compiled mechanisms as OpenDP measurements, with their proved privacy map; needs `aligncheck[opendp]`.

    import opendp.prelude as dp
    from aligncheck.runtime.opendp import measurement

    dp.enable_features("contrib", "honest-but-curious")
    meas = measurement(NoisyTopkGap, k=5, eps=1)     # a class that `aligncheck compile` made
    result = meas([5.0, 3.0, 8.0, 1.0, 2.0, 9.0])    # as the mechanism itself gives it
    meas.map(1.0)                                    # 1.0, its claim: d_in is the sensitivity

OpenDP takes the map on trust, hence `honest-but-curious`; this is what it rests on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from aligncheck.language.adjacencies import Adjacency
from aligncheck.runtime.errors import AnswersError, MechanismError, MissingOpenDPError, ParameterError
from aligncheck.runtime.exact_noise import short_rate
from aligncheck.runtime.losses import ApproximateLoss, ConcentratedLoss, Loss, PureLoss, amount_of, of_group
from aligncheck.runtime.mechanism import FloatMechanism, Mechanism, QueryInfo

_OWN = ("budget", "testing_seed")


@dataclass(frozen=True, slots=True)
class Closeness:
    """What an OpenDP metric says, and how many steps between neighbours lead from one database to another.

    Attributes:
        metric: `linf`, `monotone linf`, `l1`, `l2`, `absolute` or `discrete`.
        whole: answers, and with them distances, are integers.
        step: the distance that one step covers; None: any two databases are neighbours.
    """

    metric: str
    whole: bool
    step: Fraction | None

    def steps(self, distance: float) -> int | None:
        """How many steps cover a distance; None: no number of them does.

        Raises:
            ParameterError: the distance is no number, or negative.
        """
        if not distance >= 0:
            raise ParameterError("d_in", f"must not be negative, but is {distance}")
        if distance == 0:
            return 0
        if self.step is None:
            return 1
        if distance == math.inf or self.step == 0:
            return None
        covered = Fraction(math.floor(distance)) if self.whole else Fraction(distance)
        return math.ceil(covered / self.step)


def measurement(
    cls: type[Mechanism], *, whole: bool = False, size: int | None = None, **parameters: Any
) -> Any:
    """The mechanism as an OpenDP measurement: under `max_divergence` where its claim is in ε, under
    `approximate(max_divergence)` where it is in ε and δ, under `zero_concentrated_divergence` where in ρ.

    Each invocation makes a new object and runs it once. The input is a list of floats (of integers with
    `whole`, or where the spec declares integers), one number where the mechanism takes one answer; the output
    is the mechanism's `Result`. The metric follows from the adjacency that was proved:

    * `all`: L∞. Data at distance at most Δ are neighbours. For a larger d_in, m = ceil(d_in/Δ) steps lead
      from q to q', over the points q + (q' - q) j/m: none moves an answer by more than Δ. The map gives the
      loss of m steps (group privacy, see `losses.of_group`): in ε m times the claim. Over integers these
      points are rounded down, and so is Δ: of a difference of at most m Δ each step then makes at most Δ.
    * `monotone`: L∞ with OpenDP's `monotonic`, by the same steps, which all go the same way.
    * `l1`: L1, by the same steps; over integers the answers move by units, Δ of them in a step. `l2`: L2,
      over the reals.
    * `one`: L1 over integers (`whole`), for Δ >= 1: at most d_in units move, one in a step. Over the reals
      any number of answers could move a little each, and no metric of OpenDP bounds how many. `two` likewise,
      with two units in a step for Δ >= 2.
    * `any`: the discrete distance, one step for any two values; of lists of one length, so `size` is needed.
    * A single answer, whichever of these its adjacency is but `any`: the absolute distance.

    A declared range is convex, so that the points between are in it. Mechanisms read a float as the shortest
    decimal that names it, but OpenDP's distances are of the binary fractions that floats are: so these are
    what the mechanism is given, as `Fraction`s. The map computes with fractions, and
    rounds up where a float is asked for.

    Args:
        cls: a class that `aligncheck compile` made for the mode `lattice` or `refined`.
        whole: answers are integers, also where the spec allows reals.
        size: how many answers there are, if OpenDP is to know that.
        parameters: the mechanism's own, with `gamma`.

    Raises:
        MissingOpenDPError: OpenDP is not installed.
        ParameterError: the class computes in floating point; a parameter is wrong; `budget` or `testing_seed`
            is given.
        MechanismError: no metric of OpenDP expresses the neighbours of this mechanism, or its claim depends
            on how many answers there are.
    """
    if not (isinstance(cls, type) and issubclass(cls, Mechanism)) or cls is Mechanism:
        raise ParameterError("cls", "must be a class that `aligncheck compile` made")
    if issubclass(cls, FloatMechanism):
        raise ParameterError("cls", "computes in floating point, which no proof covers")
    for name in _OWN:
        if name in parameters:
            raise ParameterError(name, "has no meaning for a measurement, which may be invoked at any time")
    made = cls(**parameters)
    if made.bound is None:
        raise MechanismError("what a run may spend depends on how many answers there are")
    close, claim = closeness(made, whole), made.loss
    query = made.spec.queries[0]
    if close.metric == "discrete" and query.vector and size is None:
        raise MechanismError("`size` is needed: lists of other lengths are no neighbours")

    def release(answers: Any) -> Any:
        run: Any = cls(**parameters)
        if query.vector and size is not None and len(answers) != size:
            raise AnswersError(query.name, f"has {len(answers)} answers, not the declared {size}")
        return run([_exact(answer) for answer in answers] if query.vector else _exact(answers))

    def privacy_map(d_in: Any) -> Any:
        return privacy_loss(claim, close.steps(d_in))

    return _measurement(close, query, size, release, privacy_map, claim)


def closeness(mechanism: Mechanism, whole: bool = False) -> Closeness:
    """The metric for the neighbours of a mechanism, and the distance of a step: of a long sensitivity, which
    approximates an irrational number, a little less (see `short_rate`), so that it is never too long.

    Raises:
        MechanismError: there is none.
    """
    if len(mechanism.spec.queries) != 1:
        raise MechanismError("OpenDP has one input: mechanisms with several have no measurement")
    (query,) = mechanism.spec.queries
    if query.sort == "bool" or query.restricted or query.lattice is not None:
        raise MechanismError(f"no domain of OpenDP expresses what is declared of the answers `{query.name}`")
    whole = whole or query.sort == "int"
    adjacency = next((each for each in Adjacency if each.value == query.adjacency), None)
    if adjacency is None:
        raise MechanismError(f"it is not known which inputs are neighbours under `{query.adjacency}`")
    step = Fraction(0) if adjacency.free else short_rate(Fraction(mechanism.sensitivities()[query.name]))
    found = adjacency.metric(query.vector, whole, Fraction(math.floor(step)) if whole else step)
    if found is not None:
        return Closeness(found[0], whole, found[1])
    whole_helps = adjacency.metric(query.vector, True, step) is not None
    advice = "; with `whole=True`, for integers, L1 does" if whole_helps else ""
    raise MechanismError(f"no metric of OpenDP expresses the adjacency `{query.adjacency}`{advice}")


def privacy_loss(claim: Loss, steps: int | None) -> float | tuple[float, float]:
    """What a claim says over so many steps, as OpenDP writes it: the least floats that are not below."""
    if steps is None:
        return (math.inf, 1.0) if isinstance(claim, ApproximateLoss) else math.inf
    first, *delta = map(loss, amount_of(of_group(claim, steps)))
    return (first, delta[0]) if delta else first


def loss(exact: Fraction) -> float:
    """The least float that is not below a number."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def _measure(dp: Any, claim: Loss) -> Any:
    match claim:
        case PureLoss():
            return dp.max_divergence()
        case ApproximateLoss():
            return dp.approximate(dp.max_divergence())
        case ConcentratedLoss():
            return dp.zero_concentrated_divergence()


def _exact(answer: Any) -> Any:
    return Fraction(answer) if isinstance(answer, float) and math.isfinite(answer) else answer


def _measurement(
    close: Closeness,
    query: QueryInfo,
    size: int | None,
    release: Callable[[Any], Any],
    privacy_map: Callable[[Any], Any],
    claim: Loss,
) -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingOpenDPError(
            "a measurement needs OpenDP, which is not installed: pip install 'aligncheck[opendp]'"
        ) from None
    kind: type = int if close.whole else float
    entry = dp.atom_domain(T=int) if close.whole else dp.atom_domain(T=float, nan=False)
    metrics: dict[str, Callable[[], Any]] = {
        "linf": lambda: dp.linf_distance(T=kind),
        "monotone linf": lambda: dp.linf_distance(T=kind, monotonic=True),
        "l1": lambda: dp.l1_distance(T=kind),
        "l2": lambda: dp.l2_distance(T=kind),
        "absolute": lambda: dp.absolute_distance(T=kind),
        "discrete": dp.discrete_distance,
    }
    return dp.m.make_user_measurement(
        input_domain=dp.vector_domain(entry, size=size) if query.vector else entry,
        input_metric=metrics[close.metric](),
        output_measure=_measure(dp, claim),
        function=release,
        privacy_map=privacy_map,
    )
