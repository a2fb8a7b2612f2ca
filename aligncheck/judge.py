"""From a checked spec to its verdict: a search chooses, the kernel decides.

Trusted: VERIFIED is said here, and only of what the kernel accepted. All that is called before that
(`search`) only makes the witness; all that is called after a rejection says what is in the way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from aligncheck.effort import Effort
from aligncheck.kernel.answer import Accepted, Rejected
from aligncheck.kernel.decide import decide
from aligncheck.kernel.witness import Witness
from aligncheck.language.diagnostics import Label, SpecError, fault
from aligncheck.language.source import Source
from aligncheck.language.syntax.contract import Contract, FieldBound, contract_of, with_contract
from aligncheck.language.syntax.nodes import Mechanism, Pure, Use
from aligncheck.language.syntax.walk import has_coins
from aligncheck.search.attempt import Attempt, not_shown, refuse_default, too_many_paths
from aligncheck.search.witness.collect import TooManyPathsError
from aligncheck.search.witness.composed import promised, witnesses
from aligncheck.search.witness.enough import multiplies
from aligncheck.search.witness.fit import HELPED, WANTS_LINES, Proposals, Tries, refined
from aligncheck.verdict import Error, Unknown, Verdict, Verified, name_of

ROUNDS = 40
"""So many witnesses are tried for one mechanism."""
PROOF_STEPS = 20_000
"""After so many steps no other witness is tried; all that is verified in the tests takes less."""


_OF_A_QUESTION = 5
"""The steps of an effort that one question of the kernel takes."""


class OutOfTimeError(Exception):
    """The deadline is over."""


def judge(
    mechanism: Mechanism,
    source: Source,
    deadline: float,
    explain: bool = True,
    search: bool = True,
    early: bool = False,
) -> Verdict:
    """The verdict on a checked mechanism; `deadline` is a `time.monotonic()` value. `explain`: with what
    would pass instead. Without `search` for a violation, what is not verified is UNKNOWN. `early`: a few runs
    come first, which is faster where one fails, and slower where all is well; of what multiplies answers or
    noise they always do, and what they show is told.

    Raises SpecError for contradictory `where` clauses (rule 2), for programs with too many paths, for calls
    of what is not VERIFIED, and for a default that its own clause does not allow.
    """
    return Judge(deadline, explain, search, early).verdict(mechanism, source)


@dataclass(frozen=True, slots=True)
class JudgedCallee:
    """A mechanism that is called: what its own verdict says of it, and the witness for that."""

    contract: Contract
    witness: Witness


Known: TypeAlias = dict[tuple[Source, ...], JudgedCallee]
"""By their own texts, and those of all that they call."""


@dataclass(frozen=True)
class Judge:
    """How verdicts are made; `known` are the callees that were verified so far, each text once. `limit`
    bounds the effort, besides the clock; `patience` is how many times the usual effort is made where nothing
    bounds it.
    """

    deadline: float
    explain: bool = True
    search: bool = True
    early: bool = False
    known: Known = field(default_factory=dict)
    limit: Effort = field(default_factory=Effort)
    patience: int = 1

    def verdict(self, mechanism: Mechanism, source: Source) -> Verdict:
        """See `judge`."""
        mechanism, callees = self.with_callees(mechanism, source)
        return self._judged(mechanism, source, callees, called=False)

    def _judged(
        self, mechanism: Mechanism, source: Source, callees: Mapping[str, Witness], called: bool
    ) -> Verdict:
        effort = self.limit.part(self.deadline - time.monotonic())
        proving = effort.part(steps=PROOF_STEPS * self.patience)
        claims = (mechanism.claim, *(contract_of(use).mechanism.claim for use in mechanism.uses))
        if not all(isinstance(claim, Pure) for claim in claims):
            try:
                accepted, rejected = self._composed(mechanism, callees, called, effort)
            except OutOfTimeError:
                return _not_decided(mechanism)
            except TooManyPathsError as error:
                raise too_many_paths(mechanism, source, error) from None
            budget = effort if self.search and not called else None
            return accepted or not_shown(mechanism, source, rejected, budget)
        # Of what both runs multiply the kernel may not come to an end in time.
        early = self.early or multiplies(mechanism)
        tried = Attempt(mechanism, source, effort, early and not called, callees, self.patience)
        shown = tried.shown
        if shown is not None:
            return tried.refuted(shown)
        try:
            proposals = Proposals(mechanism, callees, proving, tried.hopeless, called)
            witness, answer = self._decided(mechanism, proposals.tries(), proving)
            if isinstance(answer, Rejected) and answer.condition in (*HELPED, "calls"):
                added = mechanism.uses or has_coins(mechanism.body)
                accepted = self._composed(mechanism, callees, called, effort)[0] if added else None
                if accepted is not None:
                    return accepted
        except OutOfTimeError:
            return _not_decided(mechanism)
        except TooManyPathsError as error:
            raise too_many_paths(mechanism, source, error) from None
        match answer:
            case Accepted():
                return Verified(mechanism, witness, answer)
            case Rejected():
                verified = partial(self._holds, source, callees) if self.explain and not called else None
                return tried.failing(answer, witness, self.search, verified)

    def _decided(
        self, mechanism: Mechanism, tries: Tries, proving: Effort
    ) -> tuple[Witness, Accepted | Rejected]:
        """The first witness that the kernel accepts; where it accepts none with such an effort, what it says
        of the likeliest, or of the first that is not stopped for want of lines where that one is.
        """
        tried = self._refined(mechanism, next(tries))
        told = tried
        while isinstance(tried[1], Rejected):
            if isinstance(told[1], Rejected) and told[1].condition in WANTS_LINES:
                told = told if tried[1].condition in WANTS_LINES else tried
            if proving.is_over:
                return told
            try:
                tried = self._refined(mechanism, tries.send(tried[1]))
            except StopIteration:
                return told
        return tried

    def _refined(self, mechanism: Mechanism, witness: Witness) -> tuple[Witness, Accepted | Rejected]:
        """What the kernel says of a witness, changed as its answers suggest."""
        answer = self._said(mechanism, witness)
        for _ in range(ROUNDS):
            other = None if isinstance(answer, Accepted) else refined(mechanism, witness, answer)
            if other is None:
                break
            witness, answer = other, self._said(mechanism, other)
        return witness, answer

    def _said(self, mechanism: Mechanism, witness: Witness) -> Accepted | Rejected:
        """What the kernel says, which has accepted all callees that are `known`."""
        accepted = [(callee.contract.mechanism, callee.witness) for callee in self.known.values()]
        return decide(mechanism, witness, self._in_time, accepted)

    def _composed(
        self, mechanism: Mechanism, callees: Mapping[str, Witness], called: bool, effort: Effort
    ) -> tuple[Verified | None, Rejected]:
        """What the kernel accepts of a mechanism by lines about what is called and how often; or why it does
        not: for another reason than the cost, if there is one. With promises to its callers, if it is
        `called` itself and keeps them. Raises TooManyPathsError.
        """
        answer = Rejected("cost", mechanism.span, "nothing was tried")
        for witness in witnesses(mechanism, callees, effort):
            kept, said = self._kept(mechanism, witness, called)
            if isinstance(said, Accepted):
                return Verified(mechanism, kept, said), answer
            if answer.condition in ("cost", "support"):
                answer = said
        return None, answer

    def _kept(
        self, mechanism: Mechanism, witness: Witness, called: bool
    ) -> tuple[Witness, Accepted | Rejected]:
        """What the kernel says of a witness with promises to callers, or, if it does not keep them, of it."""
        more = promised(mechanism, witness) if called else witness
        said = self._said(mechanism, more)
        if more == witness or isinstance(said, Accepted):
            return more, said
        return witness, self._said(mechanism, witness)

    def _holds(
        self,
        source: Source,
        callees: Mapping[str, Witness],
        mechanism: Mechanism,
        effort: Effort,
        witness: Witness | None,
    ) -> bool:
        """Whether a mechanism that calls the same ones is verified with such an effort: by a witness, or by
        any that is found.
        """
        other = replace(self, limit=effort, explain=False, search=False, early=True)
        try:
            if witness is not None:
                return isinstance(other._said(mechanism, witness), Accepted)
            return isinstance(other._judged(mechanism, source, callees, called=False), Verified)
        except (SpecError, OutOfTimeError):
            return False

    def _in_time(self, formulas: object, satisfiable: bool, about: str) -> bool:
        """Confirms what the kernel decided, which counts steps and knows of no clock, while there is time.
        Raises OutOfTimeError.
        """
        self.limit.spend(_OF_A_QUESTION)
        if time.monotonic() > self.deadline or self.limit.is_over:
            raise OutOfTimeError
        return True

    # --- callees --------------------------------------------------------------------------------------------

    def with_callees(self, mechanism: Mechanism, source: Source) -> tuple[Mechanism, dict[str, Witness]]:
        """The mechanism with what is known of those that it calls, and the witnesses for these.

        Raises SpecError (`callee-not-verified`) at the `use` line of one that is not VERIFIED, and for a
        default that its own clause does not allow.
        """
        refuse_default(mechanism, source)
        witnesses = {}
        for use in mechanism.uses:
            contract = contract_of(use)
            texts = _texts(contract)
            if texts not in self.known:
                self.known[texts] = self._callee(contract, use, source)
            judged = self.known[texts]
            mechanism = with_contract(mechanism, use.name, judged.contract)
            witnesses[use.name] = judged.witness
        return mechanism, witnesses

    def _callee(self, contract: Contract, use: Use, source: Source) -> JudgedCallee:
        try:
            mechanism, callees = self.with_callees(contract.mechanism, contract.source)
            verdict = self._judged(mechanism, contract.source, callees, called=True)
        except SpecError as error:
            raise _not_verified(source, use, "ERROR", error.diagnostic.message) from None
        if not isinstance(verdict, Verified):
            message = "" if isinstance(verdict, Error) else verdict.message
            raise _not_verified(source, use, name_of(verdict), message)
        told = verdict.witness
        bounds = tuple(FieldBound(*each) for each in told.within if not each[0].startswith("$"))
        known = replace(
            contract, mechanism=mechanism, verdict=name_of(verdict), length=told.length, bounds=bounds
        )
        return JudgedCallee(known, told)


def _texts(contract: Contract) -> tuple[Source, ...]:
    called = (_texts(contract_of(use)) for use in contract.mechanism.uses)
    return contract.source, *(text for each in called for text in each)


def _not_decided(mechanism: Mechanism) -> Unknown:
    return Unknown(
        mechanism,
        None,
        "the kernel had not decided when the time was over",
        Label(mechanism.span),
        help="allow more time with `--timeout`, or simplify the spec",
    )


def _not_verified(source: Source, use: Use, verdict: str, message: str) -> SpecError:
    return fault(
        source,
        "callee-not-verified",
        f"`{use.path}` is not verified ({verdict}): only verified mechanisms can be called",
        use.span,
        notes=(f"{use.path}: {message}",) if message else (),
        help=f"`aligncheck verify {use.path}` shows why",
    )
