"""Generated mechanisms: agreement with the interpreter on the corpus, form, types, names, labels, arguments."""

from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pandas as pd
import pytest
from oracle import Case, as_if_verified, check_agreement, compiled, load

from aligncheck.emit.python import emit_python
from aligncheck.runtime import AnswersError, ArgumentError, Mechanism, ParameterError, row_of
from aligncheck.source import Source
from aligncheck.syntax import nodes
from aligncheck.syntax.parse import parse, read_source

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").glob("*.dp"))


def spec(text: str) -> nodes.Mechanism:
    return parse(Source("test.dp", dedent(text)))


def of_path(path: Path) -> nodes.Mechanism:
    return parse(read_source(str(path)))


# --- agreement with the interpreter -------------------------------------------------------------------------


def a_case(mechanism: nodes.Mechanism, rng: random.Random) -> Case:
    """Random small inputs of the declared types; they need not satisfy what else is declared."""
    n = rng.randint(1, 5)
    reals = [
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(3, 4),
        Fraction(1),
        Fraction(2),
        Fraction(3),
        Fraction(-1),
    ]

    def one(sort: nodes.Sort) -> Any:
        match sort:
            case nodes.Sort.REAL:
                return rng.choice(reals)
            case nodes.Sort.INT:
                return rng.randint(0, 4)
            case nodes.Sort.BOOL:
                return rng.random() < 0.5

    parameters: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for item in mechanism.inputs:
        match item:
            case nodes.Parameter(name=name, sort=sort):
                parameters[name] = one(sort)
            case nodes.PublicVector(name=name, sort=sort):
                parameters[name] = [one(sort) for _ in range(n)]
            case nodes.Queries(names=names, sort=sort, vector=vector):
                for name in names:
                    data[name] = [2 * one(sort) for _ in range(n)] if vector else one(sort)
    return Case(parameters, data, tuple(rng.randint(-12, 12) for _ in range(60)))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_generated_code_agrees_with_the_interpreter(path: Path) -> None:
    mechanism = of_path(path)
    cls, rng = compiled(mechanism), random.Random(path.stem)
    agreed = 0
    for _ in range(400):
        try:
            agreed += check_agreement(mechanism, cls, a_case(mechanism, rng))
        except ArgumentError:
            continue  # the case is outside of what is declared
        if agreed == 20:
            return
    assert agreed >= 5, "too few cases satisfy the declarations"
