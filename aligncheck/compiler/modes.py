"""How a compiled mechanism computes."""

from __future__ import annotations

from enum import Enum


class RunMode(Enum):
    """LATTICE: discrete noise on multiples of a step, proved in that form. REFINED: real-valued noise as in
    the proof, drawn to as many digits as the decisions need. FLOAT: floating point, which no proof covers.
    """

    LATTICE = "lattice"
    REFINED = "refined"
    FLOAT = "float"
