"""The p-value against the level that is tested, as in Figures 4-1 to 4-4 of the dissertation."""

from __future__ import annotations

import importlib.util
import math
import os

from aligncheck.statistical.cannot_test import CannotTest
from aligncheck.statistical.results import Tested

FORMATS = (".png", ".svg")


def check_plot(path: str) -> None:
    """Refuses a plot that could not be written, before there is anything to plot.

    Raises:
        CannotTest: no such format or folder, or matplotlib is not installed.
    """
    if os.path.splitext(path)[1].lower() not in FORMATS:
        raise CannotTest(f"`{path}` is no name of a plot", "its name must end in .png or .svg")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise CannotTest(f"no such folder: `{folder}`")
    if importlib.util.find_spec("matplotlib") is None:
        raise CannotTest(
            "`--plot` needs matplotlib, which is not installed", "pip install 'aligncheck[plot]'"
        )


def draw_curve(tested: Tested, path: str) -> None:
    """Writes the plot. Raises OSError where it cannot be written."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "aligncheck"  # the same file from the same result
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    levels = [level.eps for level in tested.levels]
    values = [math.exp(level.log_pvalue) for level in tested.levels]
    axes.axvline(tested.claim, color="0.4", linestyle="--", linewidth=1, label=f"claim: {tested.claim:g}")
    axes.axhline(tested.alpha, color="0.7", linestyle=":", linewidth=1, label=f"alpha: {tested.alpha:g}")
    axes.plot(levels, values, color="#1f5a96", marker="o", markersize=3, label="p-value")
    axes.set(xlabel="level eps that is tested", ylabel="p-value", ylim=(-0.03, 1.05), title=tested.name)
    axes.legend(loc="best", frameon=False)
    metadata = {"Date": None} if path.lower().endswith(".svg") else None
    figure.savefig(path, metadata=metadata, dpi=150)
