"""Why a function could not be tested."""

from __future__ import annotations


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
