"""Why a function could not be tested."""

from __future__ import annotations

from difflib import get_close_matches


class CannotTest(Exception):  # noqa: N818 - named for what it says
    """There is nothing that could be tested, or the function does not do what a test needs. Exit status 2.

    `message` says what is wrong, `advice` what to do about it (None where the message says it).
    """

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message, advice)
        self.message = message
        self.advice = advice


def one_line(error: BaseException) -> str:
    """An exception's type and text on one line, of bounded length."""
    text = " ".join(str(error).split())
    named = type(error).__name__
    return f"{named}: {text[:300]}" if text else named


def unknown(name: str, key: str, names: list[str]) -> tuple[str, str]:
    """What is wrong where a parameter is given that there is not, and what to do about it."""
    near = get_close_matches(key, names, 1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    listed = ", ".join(f"`{other}`" for other in names) or "none that can be set"
    return f"`{name}` has no parameter `{key}`", f"{hint}its parameters: {listed}"


def needs(name: str, missing: list[str]) -> tuple[str, str]:
    """The same where parameters are not given."""
    listed = ", ".join(f"`{key}`" for key in missing)
    return f"`{name}` needs {listed}", " ".join(f"--set {key}=VALUE" for key in missing)
