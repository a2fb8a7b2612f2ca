"""The shape of the package, read from its source: which way data flows, and where the trusted code is."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from aligncheck.language.conditions import Condition
from aligncheck.report.pages import PAGES
from aligncheck.trusted import CHECKED_BY, RUN_BY, code_lines

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "aligncheck"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each part may import the parts above it in this list, and itself.
ORDER = (
    "language.printable",
    "language.source",
    "language.files",
    "language.internal",
    "language.families",
    "language.adjacencies",
    "library",
    "trusted",
    "effort",
    "language.conditions",
    "language.diagnostics",
    "language.syntax",
    "language.unparse",
    "language.odds",
    "number_terms",
    "kernel",
    "language.check",
    "compiler.modes",
    "compiler.forms",
    "compiler.readback",
    "meaning.exact",
    "meaning.interpreter",
    "meaning.exact_density",
    "meaning.scenario",
    "meaning.choices",
    "meaning.alignment",
    "meaning.replay",
    "verdict",
    "search.witness",
    "search.failing",
    "search.declarations",
    "search.record_places",
    "search.table_lines",
    "search.rewrites",
    "search.small_changes",
    "search.advice",
    "search.attempt",
    "judge",
    "compiler.certificate",
    "pipeline",
    "refutation",
    "synthesis",
    "expect",
    "compiler.emit",
    "execute",
    "statistical",
    "report",
    "publish",
    "commands",
    "api",
    "pytest_plugin",
    "sphinx_plugin",
    "cli",
    "__main__",
)
FOLDERS = ("language", "meaning", "search", "compiler")
# These know nothing of the rest, and the rest may use them.
APART = ("runtime", "workers")
# Plain data, which the runtime and the statistical test may read, too.
ROWS = {"language.adjacencies"}

ARRAYS = {
    PACKAGE / "runtime" / f"{name}.py" for name in ("arrays", "columns", "digits", "rounding", "vectors")
}
HEAVY = {"z3", "cvc5", "sympy", "flint", "mpmath", "lark", "numpy", "pandas", "rich", "scipy", "matplotlib"}
SOLVERS = {"z3", "cvc5", "sympy", "flint"}
MAY_IMPORT_SOLVERS = {
    "meaning.choices": {"z3"},
    "search.failing": {"z3"},
    "search.declarations": {"z3"},
    "number_terms": {"z3"},
    "kernel": {"z3"},
    "search.witness": {"z3"},  # which hypotheses a proof used
    "compiler.certificate": {"z3", "cvc5"},  # decide it from its text alone
    "meaning.exact": {"sympy", "flint"},  # roots and logarithms in replays; inside functions only, see below
    "refutation": SOLVERS - {"cvc5"},
    "synthesis": {"sympy"},  # simplifies formulas
}


def part_of_name(name: str) -> str:
    """`language.syntax` for aligncheck.language.syntax.parse, `kernel` for aligncheck.kernel.run."""
    first, *rest = name.split(".")[1:]
    return ".".join([first, *rest[: first in FOLDERS]])


def part_of(path: Path) -> str:
    """The part that a module belongs to; `` for the package's own `__init__`."""
    parts = path.relative_to(PROJECT).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")
    return "" if name == "aligncheck" else part_of_name(name)


def name_of(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def imports(node: ast.AST, *, top_level_only: bool = False, typing_too: bool = True) -> Iterator[str]:
    """Dotted names of everything that is imported, relative imports excepted (there are none: see below)."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names) if module:
                yield module
                if module == "aligncheck":
                    yield from (f"aligncheck.{alias.name}" for alias in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if top_level_only:
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if top_level_only or not typing_too:
                continue
            case _:
                yield from imports(child, top_level_only=top_level_only, typing_too=typing_too)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def our_parts(path: Path) -> set[str]:
    """The parts of the package that a module imports."""
    names = {name for name in imports(tree_of(path)) if name.startswith("aligncheck.")}
    return {part_of_name(name) for name in names} - {"__version__", *FOLDERS}


def roots(path: Path, *, top_level_only: bool = False) -> set[str]:
    return {name.partition(".")[0] for name in imports(tree_of(path), top_level_only=top_level_only)}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_data_flows_one_way(path: Path) -> None:
    part = part_of(path)
    if part in (*APART, *FOLDERS, ""):
        known = {"runtime": ROWS, "": {"api", "commands", "runtime"}}
        assert our_parts(path) <= {part, *known.get(part, ())}
        return
    assert part in ORDER, f"new part `{part}`: give it a place in ORDER"
    allowed = {*ORDER[: ORDER.index(part) + 1], *APART}
    assert our_parts(path) <= allowed


def _needed(tree: ast.AST) -> set[str]:
    """What a module imports, but for types: modules, and what may be modules in a package."""
    found = set(imports(tree, typing_too=False))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in found:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Not even inside functions; what only types need does not count."""
    names = {".".join(path.relative_to(PROJECT).with_suffix("").parts): path for path in MODULES}
    needs = {name: _needed(tree_of(path)) & names.keys() for name, path in names.items()}
    TopologicalSorter(needs).prepare()  # raises CycleError with the circle


@pytest.mark.parametrize("path", sorted((PACKAGE / "refutation").rglob("*.py")), ids=name_of)
def test_refuting_knows_nothing_of_proofs(path: Path) -> None:
    """So that a mechanism that is both verified and refuted would show a bug in one of the two."""
    assert our_parts(path) <= {*ORDER[: ORDER.index("meaning.replay") + 1], "refutation", "workers"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_are_absolute(path: Path) -> None:
    assert not [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ImportFrom) and node.level]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_solvers_stay_where_the_proofs_are(path: Path) -> None:
    assert roots(path) & SOLVERS <= MAY_IMPORT_SOLVERS.get(part_of(path), set())


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_heavy_libraries_are_imported_in_functions(path: Path) -> None:
    """So that every command pays only for what it uses."""
    allowed = {
        "meaning.choices": {"z3"},
        "search.failing": {"z3"},
        "search.declarations": {"z3"},
        "number_terms": {"z3"},
        "kernel": {"z3"},
        "compiler.certificate": {"z3"},
        "refutation": {"flint"},
        "statistical": {"numpy"},
        "report": {"rich"},
        "commands": {"rich"},
    }.get(part_of(path), set())
    if path in ARRAYS:
        allowed = {"numpy"}
    assert not roots(path, top_level_only=True) & HEAVY - allowed


def test_the_statistical_test_knows_nothing_of_specs() -> None:
    for path in sorted((PACKAGE / "statistical").rglob("*.py")):
        assert our_parts(path) <= {"statistical", "runtime", "workers", *ROWS}, name_of(path)


def test_reporting_needs_no_solver() -> None:
    """The process that supervises and reports starts at once: solvers are loaded in the workers."""
    modules = (
        "commands.verify",
        "commands.screen",
        "report.machine",
        "report.terminal",
        "report.refutation",
        "report.listing",
        "commands.refute",
        "expect",
    )
    code = "import sys, " + ", ".join(f"aligncheck.{module}" for module in modules)
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert not {"z3", "sympy", "flint", "lark", "numpy", "pandas"} & set(loaded.stdout.split())


def test_the_runtime_needs_the_standard_library_only() -> None:
    """But for a few modules, which are imported where many numbers are drawn or compared at once."""
    may = {name: {"pandas"} for name in ("frames.py", "result.py", "budget.py", "budget_file.py")} | {
        path.name: {"numpy"} for path in ARRAYS
    }
    arrays = {f"aligncheck.runtime.{path.stem}" for path in ARRAYS}
    for path in sorted((PACKAGE / "runtime").rglob("*.py")):
        assert roots(path) & HEAVY <= may.get(path.name, set()), name_of(path)
        if path not in ARRAYS:
            assert not set(imports(tree_of(path), top_level_only=True)) & arrays, name_of(path)


ONE_NAME_TWO_MEANINGS = {
    "run": "a command's module has the command's name; in the kernel, both runs",
    "Mechanism": "a spec's tree, and the class that generated modules derive theirs from: users know both",
}


def test_a_name_means_one_thing() -> None:
    classes = [
        node.name for path in MODULES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)
    ]
    names = Counter([*classes, *(path.stem for path in MODULES if not path.stem.startswith("__"))])
    assert {name for name, count in names.items() if count > 1} == set(ONE_NAME_TWO_MEANINGS)


def test_one_module_prints_messages() -> None:
    printers = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert printers == {"aligncheck/commands/telling.py", "aligncheck/cli.py"}, "help, and all the rest"


def test_no_mechanism_is_known_by_name() -> None:
    """Words such as `laplace` also name distributions, so only names of several words are looked for."""
    texts = [path.read_text("utf-8") for path in (PROJECT / "specs").rglob("*.dp")]
    names = {name for text in texts for name in re.findall(r"^mechanism\s+(\w+_\w+)", text, re.M)}
    assert len(names) > 10
    for path in MODULES:
        constants = {node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant)}
        assert not names & constants, name_of(path)


def test_every_condition_has_a_page() -> None:
    assert list(PAGES) == list(Condition)


def test_the_top_folder_holds_what_it_should() -> None:
    if not (PROJECT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True)
    top = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    visible = {name for name in top if not name.startswith(".")}
    assert visible <= {
        "pyproject.toml",
        "README.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "aligncheck",
        "specs",
        "mechanisms",
        "tests",
        "docs",
    }


# --- tests of modules ---------------------------------------------------------------------------------------


def _imported_by_unit_tests() -> set[str]:
    """Modules, by their names; of what a package hands on, the module that it comes from."""
    found: set[str] = set()
    for path in sorted((PROJECT / "tests" / "unit").glob("*.py")):
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.ImportFrom(module=str(module), names=names) if module.startswith("aligncheck"):
                    package = importlib.import_module(module)
                    for alias in names:
                        what = getattr(package, alias.name, None)
                        found |= {module, f"{module}.{alias.name}", getattr(what, "__module__", None) or ""}
                case ast.Import(names=names):
                    found |= {alias.name for alias in names}
                case _:
                    pass
    return found


def test_every_module_has_a_unit_test_that_imports_it() -> None:
    modules = {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts)
        for path in MODULES
        if not path.stem.startswith("__")
    }
    assert not modules - _imported_by_unit_tests()


def test_who_reads_a_module_back_and_who_writes_it_share_no_code() -> None:
    """What one of them gets wrong the other must notice."""
    for one, other in (("emit", "readback"), ("readback", "emit")):
        for path in (PACKAGE / "compiler" / one).rglob("*.py"):
            inside = f"aligncheck.compiler.{other}"
            assert not [i for i in imports(tree_of(path)) if i.startswith(inside)], name_of(path)


# --- the kernel -------------------------------------------------------------------------------------------

KERNEL = sorted((PACKAGE / "kernel").rglob("*.py"))
KNOWN_TO_THE_KERNEL = {
    "language.internal",
    "language.source",
    "language.diagnostics",
    "language.adjacencies",
    "language.families",
    "language.syntax.nodes",
    "language.syntax.walk",
    "language.syntax.contract",
    "language.syntax.weights",
    "number_terms",
}
LINES_OF_THE_KERNEL, LINES_WITH_ITS_IMPORTS = 3000, 6000


def test_lines_of_code_are_counted_as_python_reads_them() -> None:
    """Without docstrings, that is: the count need not parse, so that it may be made whenever it is told."""
    named = (name for names in (CHECKED_BY, RUN_BY) for parts in names.values() for name in parts)
    places = [PROJECT.joinpath(*name.split(".")) for name in named]
    paths = [
        p for p in MODULES if any(place in p.parents or p == place.with_suffix(".py") for place in places)
    ]
    assert len(paths) > 80
    for path in paths:
        told = set()
        for node in ast.walk(tree_of(path)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                told |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        lines = enumerate(path.read_text("utf-8").splitlines(), 1)
        code = [t for at, t in lines if at not in told and t.strip() and not t.strip().startswith("#")]
        assert code_lines(path) == len(code), name_of(path)


def test_the_kernel_is_small_and_alone() -> None:
    """What VERIFIED rests on can be read in a day: the kernel, and the few modules that it may import."""
    known = {PACKAGE / (name.replace(".", "/") + ".py") for name in KNOWN_TO_THE_KERNEL}
    for path in (*KERNEL, *known):
        inside = {
            i.removeprefix("aligncheck.") for i in imports(tree_of(path)) if i.startswith("aligncheck.")
        }
        foreign = (
            {i for i in inside if not i.startswith("kernel.")} - KNOWN_TO_THE_KERNEL - {"language.syntax"}
        )
        assert not foreign, name_of(path)
        assert not {i for i in inside if i.startswith("kernel.")} or path in KERNEL, name_of(path)
    own = sum(map(code_lines, KERNEL))
    assert own <= LINES_OF_THE_KERNEL, own
    assert own + sum(map(code_lines, known)) <= LINES_WITH_ITS_IMPORTS


def test_the_kernel_rests_on_no_assertion() -> None:
    for path in KERNEL:
        assert not [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Assert)], name_of(path)


def test_no_layer_of_the_kernel_overrides_another_by_accident() -> None:
    """Its layers are one class: a method has one definition, but for what a layer leaves open."""
    from aligncheck.kernel.decide import Kernel

    owners: dict[str, list[str]] = {}
    for path in KERNEL:
        for cls in (c for c in tree_of(path).body if isinstance(c, ast.ClassDef)):
            if cls.name not in {c.__name__ for c in Kernel.__mro__}:
                continue
            for f in (f for f in cls.body if isinstance(f, ast.FunctionDef)):
                body = [
                    s for s in f.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
                ]
                if body and not isinstance(body[0], ast.Raise) and not f.name.startswith("__"):
                    owners.setdefault(f.name, []).append(cls.name)
    shared = {name: classes for name, classes in owners.items() if len(classes) > 1}
    assert not shared


def test_what_the_kernels_page_names_is_there() -> None:
    """Its theorems, and its table of conditions, are read beside the code that they name."""
    page = (PROJECT / "docs" / "kernel.md").read_text("utf-8")
    owned = {"Slope.SCALE"}
    for cls in (c for path in KERNEL for c in tree_of(path).body if isinstance(c, ast.ClassDef)):
        owned |= {f"{cls.name}.{s.name}" for s in cls.body if isinstance(s, ast.FunctionDef)}
        owned |= {f"{cls.name}.{ast.unparse(s.target)}" for s in cls.body if isinstance(s, ast.AnnAssign)}
    named = re.findall(r"`([A-Z]\w+\.\w+)`", page)
    assert len(named) > 50
    assert not set(named) - owned
