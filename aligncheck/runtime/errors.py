"""What the runtime raises: each error names the argument at fault and says what would be right."""

from __future__ import annotations


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
    """Private answers have the wrong shape or type, or are no finite numbers.

    The text never holds an answer's value, only its place.
    """


class NumericError(MechanismError):
    """A number is outside what this build can compute with: a scale too large for a float, a huge power."""


class SelectionError(MechanismError):
    """A selection asks for more indices than are eligible: an empty set has no greatest value."""


class MissingPandasError(ImportError):
    """`to_frame` was called where pandas is not installed."""
