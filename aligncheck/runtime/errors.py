"""What the runtime raises: each error names the argument at fault and says what would be right."""

from __future__ import annotations

from fractions import Fraction


class MechanismError(ValueError):
    """A generated mechanism cannot run as it was asked to."""


class ArgumentError(MechanismError):
    """An argument is not what its declaration says: `argument` is its name in the spec."""

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"`{argument}` {problem}")
        self.argument = argument
        self.problem = problem


class ParameterError(ArgumentError):
    """A public parameter has the wrong type or lies outside its `where` clause."""


class AnswersError(ArgumentError):
    """Private answers have the wrong shape or type; or, in `check` alone, values that are not as declared.

    A run raises it by what is public only: types, shapes, how many answers there are. The text never holds an
    answer's value, only its place.
    """


class AlreadyRunError(MechanismError):
    """The object ran already, or runs: a mechanism releases once. Make a new one, which spends anew."""


class ProcessError(MechanismError):
    """A budget, or a run in progress, is used in another process than its own, which would not see it."""


class BudgetError(MechanismError):
    """More is asked of a budget than it has left; nothing was spent.

    Attributes:
        asked, spent, remaining: privacy losses, in natural-logarithm units: ε, or ρ where the budget is in ρ.
            What runs in progress may still spend is neither spent nor remaining.
    """

    def __init__(self, asked: Fraction, spent: Fraction, remaining: Fraction, *written: str) -> None:
        """`written` are the three as texts, where they are more than numbers."""
        texts = written or (asked, spent, remaining)
        super().__init__("the budget does not allow it: asked {}, spent {}, remaining {}".format(*texts))
        self.asked = asked
        self.spent = spent
        self.remaining = remaining


class NumericError(MechanismError):
    """What this build cannot compute with: a scale too large for a float, a huge exponential."""


class SelectionError(MechanismError):
    """A selection asks for more indices than are eligible: an empty set has no greatest value."""


class MissingPandasError(ImportError):
    """`to_frame` was called where pandas is not installed."""


class MissingOpenDPError(ImportError):
    """A measurement was asked for where OpenDP is not installed."""


class UnsafeFloatWarning(UserWarning):
    """A mechanism computes in floating point, which its proof does not cover: the low bits of what it
    releases can give answers away (Mironov, CCS 2012). For experiments only.
    """
