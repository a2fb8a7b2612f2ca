"""Reads a generated module back as the mechanism that it runs, and compares that with the proved form.

**Claim.** Where `program_runs` returns, every run of the module's last class, by `__call__` or `stream`, is a
run of the form: same inputs, read so that neighbours stay neighbours, same draws in the same order with the
same scales and steps, same tests, same records, same charge. What is shown beside the records (the query that
one answers, an estimate, when it comes) follows from the records and public numbers.

**Why.** The reader shares no code with what writes modules. It knows pieces of Python, each with one
meaning (the patterns in `module`, `statements` and `expressions`), and refuses all else at its line:
another statement, import, argument, default, decorator, method, attribute, name. So nothing can stand in a
module that does not take part in the tree, but documentation, types, the words of messages, and `check`,
which computes conditions and nothing else. Both trees are then written in one way (`normal`) and compared
node by node (`same`), up to the names of variables, one for one. Python differs from the language in five
things, which are looked at: `/` of two ints is a float (`kinds`); an int and a fraction that are equal look
different, so what is released, or given to a function, must be of one kind, and an index an int; an array is
computed at every index (`_Arrays`); arguments of a draw of many are computed once, whether there is a round
or not; and indexed noise needs a dictionary, which stands before all else and is nothing else.

**It rests on** what these are defined to do (the runtime's function, and its meaning):

* `noise.laplace(s)`, `exponential(s)`: `Lap(s)`, `Exp(s)`; on a lattice `DLap(s, γ)`, `DExp(s, γ)`. Any other
  sampler of a row in `language.families`: a draw of that family, with those arguments.
* `noise.geometric_of_rate(x)`: `Geo(1 - exp(-x))`; `bernoulli_of_log_odds(x)`: `Bernoulli(1/(1 + exp(-x)))`.
* The same with an `s`, and a count n: n draws in order, one for each index from 0 on.
* `noise.choice`, `weighted_choice` of (i, l), (i, f, l): index i with a weight `exp(l)`, `f * exp(l)`.
* `noise.logistic_at(m, s, low)`: `Logistic(m, s) where > low`.
* `noise.answer`, `answers`: rounded down to multiples of γ, but for `exact=True`; on a lattice always.
* `resolution(gamma, units)`: γ > 0 that divides each unit. So a constant unit is a multiple of it, and a real
  parameter a number of steps.
* `real_answers` and its like: moved to the range (`low`, `high`), rounded down to `step` (integers to 1);
  refused by type if not integers (`whole`), by length if lists are too short (`entries`); the cells of a
  table, row by row, refused by its rows and columns (`table`).
* `require`, `require_answers`: no run where it is false.
* `self.bound`, `_bound`: what a run is charged at most; `_cost`, `release.count`: what its output costs.
* `argmax_of` and its like on pairs, `argmax` and its like on arrays, `members`, `vector`, `indices`: the sets
  and selections of the language, of equal values the lower index first.
* `sqrt`, `exp`, `ln`, `log2`, `one_minus_exp`: in exact modes a rational number near it, between the bounds
  that `enclosed` writes, and its floor exactly; else the function.
* `sqrt_up`, `ln_up`, `sqrt_down`, `ln_down`: in exact modes such a number that is not below the root or the
  logarithm, or not above it.
* `log_sum_exp_of`: `logsumexp`; in the exact modes with as many digits as are asked for.
* `absolute`, `clip`, `Fraction`: the same number as the operator or function; and `whole`, which is
  read as an index alone, where the language has integers.
* `has_tag`, `.records`, `with_noise(noise.inside())`: what a call released, drawing from this run's noise.
* `noise.given(f)`: a public function, which is given numbers rounded down to γ where their digits are drawn
  on demand. So in the mode `refined` all are bound so.
* `release.emit(record, query, estimate, choice)`: releases the record; labels are public.
* `release.ranks(lambda: …)`: says of records how they are to be added up.

It rests besides on the classes of `runtime.mechanism` (one run, charged before it draws), on `compiler.forms`
for which answers may be rounded to a declared step (`reading_of`), and on Python's own parser.
"""

from __future__ import annotations

from aligncheck.compiler.modes import RunMode
from aligncheck.compiler.readback.module import read_module
from aligncheck.compiler.readback.python_patterns import ReadError
from aligncheck.compiler.readback.same import same_program
from aligncheck.compiler.readback.statements import Read
from aligncheck.language.syntax.nodes import Mechanism

__all__ = ["Read", "ReadError", "program_runs", "read_module", "same_program"]


def program_runs(code: str, spec: Mechanism, form: Mechanism, mode: RunMode) -> None:
    """Returns where a module runs the form of a spec, in a mode. Raises ReadError, with the line, otherwise.

    A form on a lattice has one input more than its spec, of which the step is made. For FLOAT the form is the
    spec, which such a run keeps to as far as floats do; no proof covers that.
    """
    read = read_module(code, on_lattice=len(form.inputs) > len(spec.inputs))
    if read.mode is not mode:
        raise ReadError(read.line, f"computes in the mode `{read.mode.value}`, not `{mode.value}`")
    same_program(spec, form, read)
