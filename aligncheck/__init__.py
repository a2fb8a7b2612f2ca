"""aligncheck proves that small randomized mechanisms are differentially private, or shows why they are
not.

The commands are here as functions: `verify`, `refute`, `explain`, `compare`, `compile`, `check`, `load` (see
`aligncheck.api`), and `Budget` and `BudgetFile`, from which mechanisms that run may pay. Each is imported at
its first use.
"""

TYPE_CHECKING = False  # as `typing` has it, whose import would be a tenth of the start-up time
if TYPE_CHECKING:
    from aligncheck.api import (
        Document,
        Finding,
        check,
        compare,
        compile,  # noqa: A004 - the command's name
        explain,
        load,
        load_ipython_extension,
        refute,
        verify,
    )
    from aligncheck.commands import CommandError
    from aligncheck.runtime import Budget
    from aligncheck.runtime.budget_file import BudgetFile

__all__ = [
    "Budget",
    "BudgetFile",
    "CommandError",
    "Document",
    "Finding",
    "check",
    "compare",
    "compile",
    "explain",
    "load",
    "load_ipython_extension",
    "refute",
    "verify",
]
__version__ = "0.1.0"

_ELSEWHERE = {
    "Budget": "aligncheck.runtime",
    "CommandError": "aligncheck.commands",
    "BudgetFile": "aligncheck.runtime.budget_file",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module `aligncheck` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(_ELSEWHERE.get(name, "aligncheck.api")), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
