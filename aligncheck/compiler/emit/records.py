"""The classes of the records that a mechanism releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from aligncheck.compiler.emit.python_kinds import Kinds, PythonKind, join
from aligncheck.compiler.emit.python_names import class_name, python_names
from aligncheck.language.syntax import nodes
from aligncheck.language.syntax.walk import statements_in

RecordKey: TypeAlias = tuple[str, tuple[str, ...]]
"""What tells classes of records apart: the tag and the fields' names."""


@dataclass(frozen=True, slots=True)
class RecordClass:
    """The class of the records with one tag and one list of fields.

    `fields` holds each field's name in the spec, its name in Python, and its kind.
    """

    name: str
    tag: str
    fields: tuple[tuple[str, str, PythonKind], ...]


def record_classes(
    mechanism: nodes.Mechanism, kinds: Kinds, reserved: frozenset[str]
) -> dict[RecordKey, RecordClass]:
    """One class per tag and list of fields, a field's kind being the one that holds whatever is emitted."""
    of: dict[RecordKey, list[list[PythonKind]]] = {}
    for statement in statements_in(mechanism.body):
        if isinstance(statement, nodes.Emit):
            key = statement.tag, tuple(f.name for f in statement.fields)
            of.setdefault(key, []).append([kinds.expression(f.value) for f in statement.fields])
    classes: dict[RecordKey, RecordClass] = {}
    for (tag, fields), emitted in of.items():
        name = class_name(tag, reserved | {c.name for c in classes.values()})
        python = python_names(fields, reserved | {"tag"})
        columns = [join(column) for column in zip(*emitted, strict=True)]
        described = tuple((f, python[f], kind) for f, kind in zip(fields, columns, strict=True))
        classes[tag, fields] = RecordClass(name, tag, described)
    return classes
