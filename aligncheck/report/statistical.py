"""What a statistical test found, for a terminal or as JSON: evidence with its p-value, never a verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from aligncheck import __version__
from aligncheck.language.printable import printable
from aligncheck.report.lines import Canvas, Lines
from aligncheck.statistical.output_events import describe
from aligncheck.statistical.results import Level, Tested

_SMALLEST = -300
"""p-values below this power of ten are shown as less than it."""

_LARGEST_EXPONENT = 709.0
"""e to the power of more is no float."""

_HEADS = {
    "evidence": ("EVIDENCE AGAINST", "bold red"),
    "no evidence": ("NO EVIDENCE AGAINST", "bold"),
    "no dependence": ("NO DEPENDENCE ON THE INPUT SEEN, TESTING", "bold yellow"),
}


def render_tested(tested: Tested, plot: str | None = None) -> Lines:
    """The finding, the event that was tested, and what may and may not be concluded. `plot` was written."""
    return Lines(lambda canvas: _lines(canvas, tested, plot))


def tested_document(tested: Tested) -> dict[str, Any]:
    """The same as one JSON document; p-values that are no float's have their logarithm beside them."""
    return {
        "version": __version__,
        "target": tested.name,
        "settings": dict(tested.settings),
        "finding": tested.finding,
        "claim": tested.claim,
        "delta": tested.claimed.delta,
        "alpha": tested.alpha,
        "claimed": _level_document(tested.claimed, tested.alpha),
        "least_loss": tested.least_loss,
        "levels": [_level_document(level, tested.alpha) for level in tested.levels],
        "violated_up_to": tested.violated_up_to,
        "independence": _level_document(tested.independence, tested.alpha),
        "how": tested.how,
        "pairs": tested.pairs,
        "selection": tested.selection,
        "runs": tested.runs,
        "seed": tested.seed,
        "randomness": tested.randomness,
        "seconds": round(tested.seconds, 3),
    }


def _level_document(level: Level, alpha: float) -> dict[str, Any]:
    pair = level.pair
    return {
        "eps": level.eps,
        "p_value": math.exp(level.log_pvalue),
        "log10_p_value": level.log_pvalue / math.log(10),
        "rejected": level.rejected(alpha),
        "event": None if level.event is None else describe(level.event, listed=level.listed),
        "pattern": None if pair is None else pair.pattern,
        "D": None if pair is None else pair.first,
        "D_prime": None if pair is None else pair.second,
        "settings": {} if pair is None else dict((*pair.settings, *pair.offered)),
        "seen_on_D": level.seen_first,
        "seen_on_D_prime": level.seen_second,
        "runs": level.runs,
    }


def _lines(canvas: Canvas, tested: Tested, plot: str | None) -> Iterator[Text]:
    head, style = _HEADS[tested.finding]
    yield Text.assemble(
        (f"{head} eps = {tested.claim:g}{_beside(tested.claimed, ', delta = ')}", style),
        f"   {printable(tested.name)}   {tested.seconds:.1f} s",
    )
    yield Text()
    yield from _claimed(canvas, tested)
    if len(tested.levels) > 1:
        yield Text()
        yield from _sweep(canvas, tested)
    yield Text()
    yield from canvas.told("note", *_conclusions(tested))
    if plot is not None:
        yield Text(f"plot: {printable(plot)}")


def _claimed(canvas: Canvas, tested: Tested) -> Iterator[Text]:
    # Where nothing was seen, what was looked at is the best event for telling the inputs apart at all.
    level = tested.independence if tested.finding == "no dependence" else tested.claimed
    if level.pair is None or level.event is None:
        yield from canvas.hanging(Text("  "), Text(_nothing(tested)))
        return
    rows = [
        ("D", f"{_input(level.pair.first)}   ({level.pair.pattern})"),
        ("D'", _input(level.pair.second)),
        *((name, f"{value}   (chosen among those given)") for name, value in level.pair.settings),
        *((name, f"{value}   (chosen by the spec)") for name, value in level.pair.offered),
        ("event", describe(level.event, listed=level.listed)),
        ("seen on D", f"{level.seen_first:,} times in {level.runs:,} runs"),
        ("on D'", f"{level.seen_second:,} times in {level.runs:,} runs"),
        ("ratio", f"{_ratio(level)}, beside e^eps = {math.exp(min(level.eps, _LARGEST_EXPONENT)):.4g}"),
        ("p-value", f"{_p(level)} for: at most e^eps times as likely on D as on D'{_more(level)}"),
    ]
    if tested.finding != "no dependence":
        rows.append(("loss", _loss(tested)))
    yield from canvas.facts((name, Text(printable(text))) for name, text in rows)


def _nothing(tested: Tested) -> str:
    if tested.finding == "no dependence":
        return "every run on every input gave the same output"
    return "no event is frequent enough for a test at this level: ask for more runs, or test a lower level"


def _input(value: object) -> str:
    """As JSON has it, but 1 for 1.0."""
    match value:
        case list():
            return f"[{', '.join(map(_input, value))}]"
        case dict():
            return f"{{{', '.join(f'{_input(name)}: {_input(entry)}' for name, entry in value.items())}}}"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case _:
            return json.dumps(value, ensure_ascii=False)


def _more(level: Level) -> str:
    return f", and {level.delta:g} more" if level.delta else ""


def _beside(level: Level, before: str) -> str:
    """What is said of a level's delta, if it has one."""
    return f"{before}{level.delta:g}" if level.delta else ""


def _loss(tested: Tested) -> str:
    confidence = f"with {100 * (1 - tested.alpha):g} % confidence{_beside(tested.claimed, ', at delta ')}"
    return f"this event alone shows a privacy loss of at least {tested.least_loss:.3f}, {confidence}"


def _sweep(canvas: Canvas, tested: Tested) -> Iterator[Text]:
    rows = [[Text(name, style="bold") for name in ("eps", "p-value", "", "ratio", "event")]]
    before: Level | None = None
    for level in tested.levels:
        event = "-" if level.event is None else describe(level.event, listed=level.listed)
        if before is not None and level.event is not None and _tested_alike(before, level):
            event = "as above"
        before = level
        marks = ["rejected"] if level.rejected(tested.alpha) else []
        marks += ["(the claim)"] if level.eps == tested.claim else []
        cells = (f"{level.eps:g}", _p(level), " ".join(marks), _ratio(level), printable(event))
        rows.append([Text(cell) for cell in cells])
    yield from canvas.table(rows, {4}, 2)


def _tested_alike(one: Level, other: Level) -> bool:
    return (one.pair, one.event) == (other.pair, other.event)


def _conclusions(tested: Tested) -> Iterator[str]:
    confidence = f"{tested.alpha:g}"
    match tested.finding:
        case "evidence":
            yield (
                f"statistical evidence, no proof: a function that is {_private(tested)}-private is accused "
                f"so with probability at most {confidence}"
            )
        case "no evidence":
            yield "this claims nothing: a violation may be rarer, or need other inputs"
        case "no dependence":
            yield (
                "outputs on D and D' could not be told apart, so nothing was tested: this is not shown to be "
                "private. Is the private input the first parameter (see `--database`)? Does it matter there?"
            )
    if len(tested.levels) > 1 and tested.violated_up_to is not None:
        yield (
            f"levels are rejected one after the other, up to eps = {tested.violated_up_to:g}: wrong for any "
            f"of them with probability at most {confidence}"
        )
    yield (
        f"{tested.pairs} pairs of inputs, the event chosen on up to {tested.selection:,} runs of each input "
        f"and tested on {tested.runs:,} others; {tested.how}"
    )
    match tested.randomness:
        case "seeded":
            yield f"`--seed {tested.seed}` repeats this"
        case "fresh":
            yield "its randomness cannot be seeded: the same test again gives other numbers"
        case "kept":
            yield "it keeps a generator that starts the same each time, so all was run in one process"


def _private(tested: Tested) -> str:
    delta = _beside(tested.claimed, ", ")
    return f"({tested.claim:g}{delta})" if delta else f"{tested.claim:g}"


def _ratio(level: Level) -> str:
    if math.isnan(level.ratio):
        return "-"
    return "infinite" if math.isinf(level.ratio) else f"{level.ratio:.4g}"


def _p(level: Level) -> str:
    power = level.log_pvalue / math.log(10)
    if power < _SMALLEST:
        return f"< 1e{_SMALLEST}"
    return f"{math.exp(level.log_pvalue):.2g}"
