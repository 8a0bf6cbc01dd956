"""A sample of mutants: the package is changed in 400 places, one at a time, and tests must notice.

`make mutants` runs three steps in the folder of a clone, and keeps what each has found in `.mutants`:

    draw N SEED   with cosmic-ray: N changes over all rooms of the package, in `drawn.json`
    cover         runs all tests with coverage: which test runs which line, in `ran.json`
    run           each mutant against the tests that run its line, one of each file after the other,
                  until one fails: `found.json` says which one, or None for a survivor
    again         the same after a change of the tests: the one that failed is asked first

This file needs no other of the tests, so it can be run against older ones: `python mutants.py run`
in their clone.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any

PACKAGE = "langgraph_agui"
PLACE = Path(".mutants")
PARTS = ("rooms", "behaviour", "contracts", "faults")
OPERATORS = (
    *("AddNot", "NumberReplacer", "RemoveDecorator", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ReplaceTrueWithFalse"),
    *("ReplaceFalseWithTrue", "ReplaceUnaryOperator_Delete_Not", "ZeroIterationForLoop"),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Gt_GtE")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("LtE_Lt", "GtE_Gt", "Is_IsNot", "IsNot_Is")),
    *(
        f"ReplaceBinaryOperator_{pair}"
        for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "BitAnd_BitOr")
    ),
)
SECONDS = 40.0
"""How long the tests of one mutant may take, as they took before; the rest is left out."""


# -- draw: in an environment with cosmic-ray ------------------------------------------------------


def draw(count: int, seed: int) -> None:
    """Draw mutants: as many from each room as its part of all possible ones."""
    from cosmic_ray.ast import get_ast_from_path
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    every: list[tuple[str, str, int, int]] = []
    for path in sorted(Path(PACKAGE).rglob("*.py")):
        tree = get_ast_from_path(path)
        for name in OPERATORS:
            places = [
                at
                for node in _walk(tree)
                for at in _positions(get_operator(f"core/{name}")(), node)
            ]
            every += [(str(path), name, index, line) for index, line in enumerate(places)]
    # one change for each line: else comparisons, which change in ten ways, would be most of them
    random.seed(seed)
    random.shuffle(every)
    lines: dict[tuple[str, int], tuple[str, str, int, int]] = {}
    for one in every:
        lines.setdefault((one[0], one[3]), one)
    drawn: list[dict[str, Any]] = []
    for path, name, index, line in lines.values():
        source = Path(path).read_text("utf-8")
        changed = mutate_code(source, get_operator(f"core/{name}")(), index)
        if changed is not None and changed != source and len(drawn) < count:
            drawn.append({"path": path, "operator": name, "line": line, "source": changed})
    _write("drawn.json", drawn)


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _walk(child)


def _positions(operator: Any, node: Any) -> list[int]:
    return [start[0] for start, _ in operator.mutation_positions(node)]


# -- cover: a pytest plugin, which names the running test to coverage -----------------------------


def pytest_runtest_logstart(nodeid: str) -> None:
    """Begin the context of a test."""
    from coverage import Coverage

    if (running := Coverage.current()) is not None:
        if sys.gettrace() is None:  # a test that goes very deep ends the tracing
            running.stop()
            running.start()
        running.switch_context(nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Keep how long a test has taken."""
    if out := os.environ.get("MUTANTS_SECONDS"):
        with Path(out).open("a") as file:
            file.write(json.dumps([report.nodeid, report.duration]) + "\n")


def cover(parts: list[str]) -> None:
    """Run all tests with coverage, a process for each part, two at a time."""
    PLACE.mkdir(exist_ok=True)
    for old in PLACE.glob("cover.*"):
        old.unlink()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_cover, enumerate(parts)))
    from coverage import CoverageData

    tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    seconds: dict[str, float] = defaultdict(float)
    for index in range(len(parts)):
        data = CoverageData(str(PLACE / f"cover.{index}"))
        data.read()
        for measured in data.measured_files():
            path = str(Path(measured).relative_to(Path.cwd()))
            for line, contexts in data.contexts_by_lineno(measured).items():
                tests[path][line] |= {one for one in contexts if one}
        for text in (PLACE / f"cover.{index}.seconds").read_text().splitlines():
            name, taken = json.loads(text)
            seconds[name] += taken
    names = sorted(seconds)
    numbers = {name: number for number, name in enumerate(names)}
    _write(
        "ran.json",
        {
            "tests": names,
            "seconds": [round(seconds[name], 3) for name in names],
            "lines": {
                path: {
                    line: [numbers[one] for one in sorted(ran) if one in numbers]
                    for line, ran in by_line.items()
                }
                for path, by_line in tests.items()
            },
        },
    )


def _cover(part: tuple[int, str]) -> None:
    index, tests = part
    data = PLACE.absolute() / f"cover.{index}"
    command = ["-m", "coverage", "run", "--branch", f"--source={PACKAGE}", f"--data-file={data}"]
    command += ["-m", "pytest", "-n", "0", "-q", "-p", "mutants", "-p", "no:cacheprovider"]
    with Path(f"{data}.log").open("w") as log:
        subprocess.run(
            [sys.executable, *command, *tests.split()],
            env=_environment(Path.cwd()) | {"MUTANTS_SECONDS": f"{data}.seconds"},
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )


# -- run ------------------------------------------------------------------------------------------


def run() -> None:
    """Run the tests of each mutant, two mutants at a time."""
    drawn, ran = _read("drawn.json"), _read("ran.json")
    # a run that was stopped is gone on with
    found: list[dict[str, Any]] = _known("found.json") or [{} for _ in drawn]
    last = [str(one.get("by")) for one in _known("last.json") or found]
    with TemporaryDirectory() as home:
        clones: Queue[Path] = Queue()
        for index in range(2):
            clones.put(_clone(Path(home) / str(index)))

        def one(index: int) -> None:
            mutant, clone = drawn[index], clones.get()
            found[index] = {key: mutant[key] for key in ("path", "line", "operator")} | _tested(
                mutant, ran, clone, last[index]
            )
            clones.put(clone)
            print(index, found[index], flush=True)
            _write("found.json", found)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, [index for index, known in enumerate(found) if not known]))
    noticed = sum(one["by"] is not None for one in found)
    print(f"{noticed} of {len(found)} mutants were noticed.")


def _tested(mutant: dict[str, Any], ran: dict[str, Any], clone: Path, last: str) -> dict[str, Any]:
    """Return the test that fails with a mutant, None if none does, and how many were left out;
    `last` failed before.
    """
    lines = ran["lines"].get(mutant["path"], {})
    # a line that runs at import is tested by whatever uses the file
    tests = lines.get(str(mutant["line"])) or sorted({*chain(*lines.values())})
    tests = sorted(_spread(tests, ran), key=lambda number: ran["tests"][number] not in last)
    chosen: list[str] = []
    left = SECONDS
    for number in tests:
        left -= ran["seconds"][number]
        if left < 0 and chosen:
            break
        chosen.append(ran["tests"][number])
    if not chosen:
        return {"by": None, "left out": 0}
    file = clone / mutant["path"]
    before = file.read_text("utf-8")
    arguments = clone / "chosen"
    arguments.write_text("\n".join(chosen))
    file.write_text(mutant["source"], "utf-8")
    command = ["-m", "pytest", "-x", "-n", "0", "-q", "--tb=no", "-m", "", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [sys.executable, *command, f"@{arguments}"],
            cwd=clone,
            env=_environment(clone),
            capture_output=True,
            text=True,
            timeout=4 * SECONDS + 60,
            check=False,
        )
        code, said = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        code, said = 1, "FAILED by time"
    finally:
        file.write_text(before, "utf-8")
    failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {
        "by": None if code == 0 else (failed or [f"exit code {code}"])[0],
        "left out": len(tests) - len(chosen),
    }


def _spread(tests: list[int], ran: dict[str, Any]) -> list[int]:
    """Return tests in an order in which files take turns, each with its quickest one first."""
    ranks: Counter[str] = Counter()
    places: dict[int, tuple[int, float]] = {}
    for number in sorted(tests, key=lambda number: float(ran["seconds"][number])):
        file = str(ran["tests"][number]).partition("::")[0]
        places[number] = ranks[file], ran["seconds"][number]
        ranks[file] += 1
    return sorted(places, key=places.__getitem__)


def _clone(place: Path) -> Path:
    """A clone with files of its own for the package, and links to all else."""
    place.mkdir()
    for path in Path.cwd().iterdir():
        if path.name == PACKAGE:
            shutil.copytree(path, place / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
        elif not path.name.startswith("."):
            (place / path.name).symlink_to(path)
    return place


def _environment(root: Path) -> dict[str, str]:
    paths = [str(root), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def _write(name: str, value: object) -> None:
    PLACE.mkdir(exist_ok=True)
    (PLACE / name).write_text(json.dumps(value, indent=1), "utf-8")


def _read(name: str) -> Any:
    return json.loads((PLACE / name).read_text("utf-8"))


def _known(name: str) -> Any:
    return _read(name) if (PLACE / name).exists() else None


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["draw", count, seed]:
            draw(int(count), int(seed))
        case ["cover", *parts]:
            cover(parts or [f"tests/{part}" for part in PARTS])
        case ["run"]:
            run()
        case ["again"]:
            (PLACE / "found.json").rename(PLACE / "last.json")
            run()
        case _:
            sys.exit(__doc__)
