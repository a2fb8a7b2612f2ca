"""The mechanisms that a spec calls: their files are read, parsed and checked, each once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from aligncheck.language.diagnostics import SpecError, fault
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import Contract
from aligncheck.language.syntax.nodes import Mechanism, Use
from aligncheck.language.syntax.parse import parse
from aligncheck.language.syntax.read import read_source

MAX_CHAIN = 8
"""How many mechanisms may call each other in a row."""

Check = Callable[[Source, Mechanism], Mechanism]
Read = Callable[[str], Source]
"""The text of a file, by its path; raises SpecError (`unreadable`)."""


@dataclass
class Linker:
    """Reads what specs call. `chain` are the files that wait for the one at hand, `known` those read; `read`
    gives the text of a file.
    """

    check: Check
    read: Read = read_source
    chain: tuple[str, ...] = ()
    known: dict[str, Contract] = field(default_factory=dict)

    def linked(self, source: Source, mechanism: Mechanism) -> Mechanism:
        """The mechanism with the spec of every callee.

        Raises SpecError at the `use` line: `unreadable-mechanism`, `recursive-mechanism`, `other-mechanism`,
        `bad-mechanism` (the file is no spec that can be checked), `duplicate-name`.
        """
        seen: set[str] = set()
        uses: list[Use] = []
        for use in mechanism.uses:
            if use.name in seen:
                raise fault(source, "duplicate-name", f"`{use.name}` is named twice", use.span)
            seen.add(use.name)
            uses.append(replace(use, contract=self._contract(source, use)))
        return replace(mechanism, uses=tuple(uses)) if uses else mechanism

    def _contract(self, source: Source, use: Use) -> Contract:
        path = os.path.join(os.path.dirname(source.path), use.path)
        file = os.path.realpath(path)
        chain = (*self.chain, os.path.realpath(source.path))
        if file in chain:
            raise fault(
                source,
                "recursive-mechanism",
                f"`{use.name}` is this mechanism, or calls it: a call may not come back to itself",
                use.span,
                notes=("a proof that rests on itself proves nothing",),
            )
        if len(chain) > MAX_CHAIN:
            message = f"more than {MAX_CHAIN} mechanisms call each other in a row"
            raise fault(source, "too-deep", message, use.span)
        if file not in self.known:
            self.known[file] = self._read(source, use, path, chain)
        contract = self.known[file]
        if contract.mechanism.name != use.name:
            raise fault(
                source,
                "other-mechanism",
                f"`{use.path}` holds the mechanism `{contract.mechanism.name}`, not `{use.name}`",
                use.span,
                help=f'write `use {contract.mechanism.name} from "{use.path}"`',
            )
        return contract

    def _near(self, path: str, written: str) -> str:
        """What may be meant by the path of a file that is not there."""
        advice = "the path is relative to the folder of this spec"
        if self.read is not read_source:
            return advice
        try:
            files = sorted(each for each in os.listdir(os.path.dirname(path) or ".") if each.endswith(".dp"))
        except OSError:
            return advice
        close = get_close_matches(os.path.basename(written), files, 1, 0.7)
        return f"did you mean `{close[0]}`? {advice}" if close else advice

    def _read(self, source: Source, use: Use, path: str, chain: tuple[str, ...]) -> Contract:
        try:
            text = self.read(path)
            inner = Linker(self.check, self.read, chain, self.known)
            mechanism = inner.linked(text, parse(text))
            return Contract(self.check(text, mechanism), text)
        except SpecError as error:
            found = error.diagnostic
            if found.code in ("recursive-mechanism", "too-deep") or error.source is source:
                raise fault(source, found.code, found.message, use.span, notes=found.notes) from None
            if found.code == "unreadable":
                message = f"`{use.path}` cannot be read: {found.message}"
                raise fault(
                    source, "unreadable-mechanism", message, use.span, help=self._near(path, use.path)
                ) from None
            line, column = error.source.position(found.primary.span.start)
            raise fault(
                source,
                "bad-mechanism",
                f"`{use.path}` is no spec that can be checked",
                use.span,
                notes=(f"{use.path}:{line}:{column}: {found.message} ({found.code})",),
            ) from None
