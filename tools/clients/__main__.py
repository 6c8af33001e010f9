"""`python -m tools.clients [NAME ...]`: runs the programs on tl and holds their numbers against those of torch.

`--record` runs them on torch instead, in an environment that has it, and writes what must come out to recorded.json.
`--peer-python PYTHON` runs ten of them on both in turn, and prints ratios. `--page` writes the guide's table.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from tools.clients.table import CLIENTS, MEASURED, Client

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent.parent / "docs" / "guide" / "libraries.md"
FENCES = "<!-- written by `nox -s clients -- --page` -->\n", "<!-- end -->\n"
RECORDED = FOLDER / "recorded.json"
SECONDS = 600
# No hub is asked, nothing is counted, and a thread does what is measured.
SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "KERAS_BACKEND": "torch",
}


def environment(**more: str) -> dict[str, str]:
    """The variables of a program's process.

    Python keeps what it compiles: pip does so for most libraries, and a package that comes without, as one of a working
    tree does, would be compiled in every process and look slower than it is.
    """
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, **SETTINGS, **more}


@dataclass(frozen=True)
class Outcome:
    """How a program ended."""

    name: str
    answer: dict[str, Any]
    error: str  # "" when its numbers are right


def run(name: str, python: str, peer: bool) -> Outcome:
    """Runs a program in a process and a folder of its own."""
    command = [python, "-W", "ignore", str(FOLDER / "child.py"), str(FOLDER / "programs" / f"{name}.py")]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command + ["torch"] * peer,
                cwd=folder,
                env=environment(HF_HOME=folder),
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Outcome(name, {}, f"not done after {SECONDS} s")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        # A message may have more lines; those of a traceback are indented.
        errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
        return Outcome(name, {}, (errors or lines)[-1])
    return Outcome(name, json.loads(done.stdout.splitlines()[-1]), "")


def difference(expected: Any, got: Any, client: Client, where: str = "") -> str:
    """The first place where two results differ, in words; "" where they agree."""
    if isinstance(expected, dict) and isinstance(got, dict):
        if expected.keys() != got.keys():
            return f"{where}: {sorted(got)} instead of {sorted(expected)}"
        pairs = [(f"{where}.{key}", expected[key], got[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return f"{where}: {len(got)} values instead of {len(expected)}"
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(expected, got))]
    elif isinstance(expected, float) and isinstance(got, float):
        same = math.isclose(expected, got, rel_tol=client.rtol, abs_tol=client.atol)
        same |= math.isnan(expected) and math.isnan(got)
        return "" if same else f"{where}: {got:.6g} instead of {expected:.6g}"
    else:
        return "" if expected == got else f"{where}: {got!r} instead of {expected!r}"
    return next((text for path, a, b in pairs if (text := difference(a, b, client, path))), "")


def record(names: list[str], python: str) -> int:
    """Writes what torch answers; says which programs it can't run."""
    failed = 0
    for name in names:
        outcome = run(name, python, peer=True)
        failed += bool(outcome.error)
        print(f"{name:24} {outcome.error or 'recorded'}", flush=True)
        if not outcome.error:
            recorded = json.loads(RECORDED.read_text()) | {name: outcome.answer["result"]}
            lines = (f" {json.dumps(key)}: {json.dumps(recorded[key])}" for key in sorted(recorded))
            RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return failed


def judged(name: str, python: str) -> Outcome:
    """Runs a program on tl and holds its numbers against those recorded."""
    outcome = run(name, python, peer=False)
    if outcome.error:
        return outcome
    expected = json.loads(RECORDED.read_text())[name]
    return Outcome(name, outcome.answer, difference(expected, outcome.answer["result"], CLIENTS[name]))


def check(names: list[str], python: str) -> list[Outcome]:
    """Runs programs on tl and prints a table."""
    outcomes = []
    for name in names:
        outcome = judged(name, python)
        outcomes.append(outcome)
        seconds, peak = outcome.answer.get("seconds", {}), outcome.answer.get("peak", 0)
        figures = f"{sum(seconds.values()):6.1f} s {peak / 1e6:6.0f} MB" if seconds else " " * 18
        print(f"{name:24} {figures}  {outcome.error[:160] or 'agrees'}", flush=True)
    right = sum(not outcome.error for outcome in outcomes)
    print(f"{right} of {len(names)} programs agree with torch ({100 * right / max(len(names), 1):.1f} %)")
    return outcomes


def measure(names: Iterable[str], python: str, peer: str, rounds: int) -> None:
    """Runs programs on both in turn, and prints medians and tl's share of torch's.

    These are seconds of the processor, megabytes of peak memory, and seconds from the start of the process to the first
    result. Where tl's numbers differ from torch's, nothing is measured; the first run of each counts for nothing, as
    it may compile modules and bring files to memory.
    """
    print(f"{'':16} {'seconds':>22} {'MB at the peak':>22} {'to the first result':>22}   tl / torch = share")
    columns: list[list[float]] = [[], [], []]
    for name in names:
        answers = [
            (_figures(judged(name, python)), _figures(run(name, peer, True))) for _ in range(rounds + 1)
        ]
        del answers[0]
        ours, theirs = ([median(column) for column in zip(*side)] for side in zip(*answers))
        ratios = [a / b for a, b in zip(ours, theirs)]
        for column, ratio in zip(columns, ratios):
            column.append(ratio)
        shown = (f"{a:7.1f} / {b:6.1f} = {r:.2f}" for a, b, r in zip(ours, theirs, ratios))
        print(f"{name:16}", *shown, flush=True)
    print(
        "geometric means: time {:.2f}, memory {:.2f}, first result {:.2f}".format(
            *map(geometric_mean, columns)
        )
    )


def _figures(outcome: Outcome) -> tuple[float, float, float]:
    if outcome.error:
        raise RuntimeError(f"{outcome.name}: {outcome.error}")
    seconds = outcome.answer["seconds"]
    return sum(seconds.values()), outcome.answer["peak"] / 1e6, seconds["first"]


def write_page(outcomes: list[Outcome], python: str) -> None:
    """Writes the guide's table of libraries: version, what its program does, whether its numbers are torch's.

    Programs that have not been run keep their rows.
    """
    rows = {line.split(" | ")[2]: line for line in PAGE.read_text().splitlines() if line.count(" | ") == 3}
    for outcome in outcomes:
        names = (CLIENTS[outcome.name].alone or CLIENTS[outcome.name].others)[:1] or ("torch",)
        about = about_program(outcome.name)
        rows[about] = f"| {names[0]} | {_version(names[0], python)} | {about} | {state(outcome.error)} |"
    head = "| library | version | its program | numbers |\n|---|---|---|---|\n"
    ordered = [rows[about] for about in map(about_program, CLIENTS) if about in rows]
    replace_table(FENCES, head + "".join(f"{row}\n" for row in ordered))


def about_program(name: str) -> str:
    """What a program does, as its first line says."""
    text = (FOLDER / "programs" / f"{name}.py").read_text().split('"""')[1]
    return text.split(": ", 1)[-1].rstrip(".")


def replace_table(fences: tuple[str, str], rows: str) -> None:
    """Writes a table of the guide, between its fences."""
    before, _, rest = PAGE.read_text().partition(fences[0])
    PAGE.write_text(f"{before}{fences[0]}\n{rows}\n{fences[1]}{rest.partition(fences[1])[2]}")


def state(error: str) -> str:
    """What the table says of an error, or of none: on one line, and without paths of this machine."""
    text = re.sub(r" ?\(/[^)]*\)", "", error)
    return re.sub(r"(?<![\w:/])/\S+/", "", text).replace("|", "\\|")[:100].rstrip() or "agree"


def _version(name: str, python: str) -> str:
    asked = f"from importlib.metadata import version; print(version({name!r}))"
    return "-" if name == "torch" else subprocess.check_output([python, "-c", asked], text=True).strip()


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.clients", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (all)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the libraries")
    parser.add_argument("--record", action="store_true", help="write torch's numbers")
    parser.add_argument("--peer-python", help="an interpreter that has torch and the libraries: measures")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured on both (3)")
    parser.add_argument("--page", action="store_true", help="write the guide's table")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in CLIENTS]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(CLIENTS)}")
    names = given.names or list(CLIENTS)
    if given.record:
        sys.exit(record(names, given.python) > 0)
    if given.peer_python:
        measure(given.names or MEASURED, given.python, given.peer_python, given.rounds)
        return
    outcomes = check(names, given.python)
    if given.page:
        write_page(outcomes, given.python)
    sys.exit(any(outcome.error for outcome in outcomes))


if __name__ == "__main__":
    main()
