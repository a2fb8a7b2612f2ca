"""`aligncheck completion`: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import argparse

from aligncheck.commands.telling import tell

_FILES = {"FILE", "PATH", "CSV", "OUT.py", "OUT.html", "DIR", "FOLDER", "A", "B"}


def completion(parser: argparse.ArgumentParser, shell: str) -> int:
    """Prints the script for a shell. Returns 0."""
    import shtab

    _mark_files(parser, shtab.FILE)
    tell(*shtab.complete(parser, shell).split("\n"))
    return 0


def _mark_files(parser: argparse.ArgumentParser, how: object) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _mark_files(command, how)
        elif action.metavar in _FILES:
            action.complete = how  # type: ignore[attr-defined]
