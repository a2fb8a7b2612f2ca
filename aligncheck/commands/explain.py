"""`aligncheck explain`: a condition of the proof, a word of the language, or an error."""

from __future__ import annotations

from aligncheck.commands import CommandError
from aligncheck.commands.telling import tell
from aligncheck.language.conditions import Condition, condition_named
from aligncheck.language.syntax.wording.faults import closest
from aligncheck.report.pages import explain_condition, list_of_conditions

_MORE = """
Also: `aligncheck explain language` prints the reference of the language; its sections
(`inputs`, `program`, …), statements (`emit`, …), adjacencies (`monotone`, …), noise families
(`Lap`, …) and errors (`unknown-name`, …) are explained by their names."""


def explain(name: str | None, *, timeout: float = 60, **targets: str | None) -> int:
    """Prints what a name means, or the list of conditions; of a spec, see `publish`. Raises CommandError for
    an unknown name.
    """
    if any(targets.values()) or (name or "").endswith(".dp"):
        from aligncheck.commands.publish import publish

        if name is None:
            raise CommandError("which spec? `aligncheck explain SPEC --html OUT` writes about one")
        return publish(name, timeout=timeout, **targets)
    from aligncheck.report.glossary import codes, explain_code, explain_word, sections, words

    if name is None:
        tell(*list_of_conditions().split("\n"), *_MORE.split("\n"))
        return 0
    condition = condition_named(name)
    text = explain_condition(condition) if condition is not None else None
    text = text or explain_word(name) or explain_code(name)
    if text is None:
        known = [*(c.id for c in Condition), *words(), *sections(), *codes()]
        hint = closest(name.lower(), known) or "see `aligncheck explain`"
        raise CommandError(f"nothing is called `{name}`; {hint}")
    tell(*text.split("\n"))
    return 0
