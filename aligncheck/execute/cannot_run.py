"""Why a run could not be carried out."""

from __future__ import annotations

from aligncheck.compiler.modes import RunMode
from aligncheck.verdict import Verdict, name_of

_PROVED = (RunMode.LATTICE, RunMode.REFINED)


class RunError(Exception):
    """The run cannot be carried out, and nothing was released.

    `message` says what is wrong, `help` what to do instead (None where the message says it). Exit status 2.
    """

    exit_status = 2

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = advice


class NotVerified(RunError):  # noqa: N818 - named for what the verdict is
    """The spec was checked and is not VERIFIED; `verdict` is what the check said."""

    def __init__(self, path: str, verdict: Verdict) -> None:
        super().__init__(
            f"`{path}` is not verified ({name_of(verdict)}); only verified mechanisms run",
            f"`aligncheck verify {path}` shows why",
        )
        self.verdict = verdict


class NotChecked(RunError):  # noqa: N818 - named for what it is not
    """The proof of a generated module was decided anew, and does not hold, or does not belong to its code.
    Exit status 1, as that of `aligncheck check`.
    """

    exit_status = 1

    def __init__(self, path: str) -> None:
        super().__init__(f"`{path}` fails its check; nothing of it was executed")


class NoSafeMode(RunError):  # noqa: N818 - named for what is missing
    """The spec is VERIFIED, but in no form that runs as it was proved. Exit status 3."""

    exit_status = 3

    def __init__(self, path: str, problem: str, mode: RunMode | None = None) -> None:
        unsafe = "`--mode float` computes in floating point, which no proof covers: for experiments only"
        safe = "without `--mode` it runs in any form that is proved; " if mode in _PROVED else ""
        super().__init__(f"`{path}` is VERIFIED, but {problem}", safe + unsafe)
