"""What generated mechanisms import: parameters, answers, noise, selection, records. Standard library only;
`aligncheck.runtime.arrays`, which needs NumPy, is imported by those that work on arrays.
"""

import types

from aligncheck.runtime.answers import (
    Answers as Answers,
    CleanedAnswers as CleanedAnswers,
    Labelled as Labelled,
    boolean_answer as boolean_answer,
    boolean_answers as boolean_answers,
    boolean_stream as boolean_stream,
    checked_boolean as checked_boolean,
    checked_booleans as checked_booleans,
    checked_integer as checked_integer,
    checked_integers as checked_integers,
    checked_real as checked_real,
    checked_reals as checked_reals,
    integer_answer as integer_answer,
    integer_answers as integer_answers,
    integer_stream as integer_stream,
    is_multiple as is_multiple,
    labels_of as labels_of,
    real_answer as real_answer,
    real_answers as real_answers,
    real_stream as real_stream,
    require_answers as require_answers,
)
from aligncheck.runtime.budget import (
    Budget as Budget,
)
from aligncheck.runtime.errors import (
    AlreadyRunError as AlreadyRunError,
    AnswersError as AnswersError,
    ArgumentError as ArgumentError,
    BudgetError as BudgetError,
    MechanismError as MechanismError,
    MissingOpenDPError as MissingOpenDPError,
    MissingPandasError as MissingPandasError,
    NumericError as NumericError,
    ParameterError as ParameterError,
    ProcessError as ProcessError,
    SelectionError as SelectionError,
    UnsafeFloatWarning as UnsafeFloatWarning,
)
from aligncheck.runtime.estimates import (
    ChoiceGap as ChoiceGap,
    Estimate as Estimate,
    GapNoise as GapNoise,
    choice_p_value as choice_p_value,
    expected_choice_gap as expected_choice_gap,
)
from aligncheck.runtime.extremes import (
    argmax_of as argmax_of,
    argmin_of as argmin_of,
    max_of as max_of,
    min_of as min_of,
    top_of as top_of,
    upto_of as upto_of,
)
from aligncheck.runtime.functions import (
    boolean_function as boolean_function,
    has_tag as has_tag,
    integer_function as integer_function,
    real_function as real_function,
)
from aligncheck.runtime.losses import (
    Currency as Currency,
)
from aligncheck.runtime.mechanism import (
    FloatMechanism as FloatMechanism,
    FunctionInfo as FunctionInfo,
    LatticeMechanism as LatticeMechanism,
    Mechanism as Mechanism,
    OnlyRun as OnlyRun,
    ParameterInfo as ParameterInfo,
    QueryInfo as QueryInfo,
    RefinedMechanism as RefinedMechanism,
    Spec as Spec,
    resolution as resolution,
)
from aligncheck.runtime.noise import (
    FloatingNoise as FloatingNoise,
    Noise as Noise,
)
from aligncheck.runtime.parameters import (
    IntLike as IntLike,
    RealLike as RealLike,
    boolean as boolean,
    booleans as booleans,
    integer as integer,
    integers as integers,
    or_default as or_default,
    real as real,
    reals as reals,
    require as require,
)
from aligncheck.runtime.reals import (
    Real as Real,
    absolute as absolute,
    clip as clip,
    exp as exp,
    ln as ln,
    log2 as log2,
    log_sum_exp_of as log_sum_exp_of,
    one_minus_exp as one_minus_exp,
    sqrt as sqrt,
    whole as whole,
)
from aligncheck.runtime.result import (
    Ahead as Ahead,
    Record as Record,
    Release as Release,
    Result as Result,
    row_of as row_of,
)

__all__ = sorted(
    name for name, value in vars().items() if name[0] != "_" and not isinstance(value, types.ModuleType)
)
"""What the imports above give again, each by its own name."""
