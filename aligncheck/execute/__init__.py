"""What `aligncheck run` does: a verified mechanism, a column of a CSV file, values for the parameters."""

from aligncheck.execute.errors import NotVerified, RunError
from aligncheck.execute.run import Execution, Released, run_file

__all__ = ["Execution", "NotVerified", "Released", "RunError", "run_file"]
