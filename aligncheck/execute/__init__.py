"""What `aligncheck run` does: a verified mechanism, a column of a CSV file, values for the parameters."""

from aligncheck.execute.errors import NoSafeMode, NotChecked, NotVerified, RunError
from aligncheck.execute.load import Check, Checked, Decide
from aligncheck.execute.run import Execution, Released, run_file

__all__ = [
    "Check",
    "Checked",
    "Decide",
    "Execution",
    "NoSafeMode",
    "NotChecked",
    "NotVerified",
    "Released",
    "RunError",
    "run_file",
]
