"""What `aligncheck run` does: a verified mechanism, a column of a CSV file, values for the parameters."""

from aligncheck.execute.cannot_run import NoSafeMode, NotChecked, NotVerified, RunError
from aligncheck.execute.load import Check, CheckedSpec, Decide
from aligncheck.execute.runner import CompletedRun, NamedRecord, run_file

__all__ = [
    "Check",
    "CheckedSpec",
    "CompletedRun",
    "Decide",
    "NamedRecord",
    "NoSafeMode",
    "NotChecked",
    "NotVerified",
    "RunError",
    "run_file",
]
