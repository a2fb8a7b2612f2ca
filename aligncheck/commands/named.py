"""Options that give something to a name, such as `--set k=5`."""

from __future__ import annotations

from collections.abc import Sequence

from aligncheck.commands import CommandError


def assigned(
    option: str, texts: Sequence[str], form: str = "NAME=VALUE", *, of_spec: bool = True
) -> dict[str, str]:
    """What an option that may be given several times says of each name. In those `of_spec`, `ε` is `eps`.

    Raises CommandError for a text that is not of the form, and for a name that is set twice.
    """
    from aligncheck.language.syntax.layout import spelt_out

    found: dict[str, str] = {}
    for text in texts:
        written, equals, value = text.partition("=")
        name = spelt_out(written.strip()) if of_spec else written.strip()
        if not equals or not name:
            raise CommandError(f"`{option} {text}` is not of the form {form}")
        if name in found:
            raise CommandError(f"`{name}` is set twice")
        found[name] = value.strip()
    return found
