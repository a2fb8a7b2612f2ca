"""What is known of a mechanism that another one calls: its spec, and what its own check has shown."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aligncheck.language.internal import InternalError
from aligncheck.language.source import Source
from aligncheck.language.syntax.nodes import Expr, Mechanism, Use


@dataclass(frozen=True, slots=True)
class FieldBound:
    """Every record's `field` satisfies `low <= field < high`, in the callee's inputs; None for no bound."""

    field: str
    low: Expr | None
    high: Expr | None


@dataclass(frozen=True, slots=True)
class Contract:
    """A callee: its spec, and the verdict on it (None until it was checked).

    `length`, if given, is how many records every output has, in the callee's inputs; `bounds` restrict the
    whole numbers in its records. Both were proved of the callee.
    """

    mechanism: Mechanism
    source: Source
    verdict: str | None = None
    length: Expr | None = None
    bounds: tuple[FieldBound, ...] = ()

    @property
    def claim(self) -> Expr:
        """The ε that a call spends whatever it releases, in the callee's inputs. Raises NotPureError."""
        return self.mechanism.most if self.mechanism.most is not None else self.mechanism.privacy


def contract_of(use: Use) -> Contract:
    """What is known of a callee whose file has been read."""
    if use.contract is None:
        raise InternalError("the called file has not been read")
    return use.contract


def with_contract(mechanism: Mechanism, name: str, contract: Contract) -> Mechanism:
    """The mechanism with what is known of one callee."""
    uses = tuple(replace(u, contract=contract) if u.name == name else u for u in mechanism.uses)
    return replace(mechanism, uses=uses)
