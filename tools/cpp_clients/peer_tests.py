"""`python -m tools.cpp_clients.peer_tests FOLDER [FILE ...]`: PyTorch's own tests in C++, compiled unchanged, on tl.

FOLDER has the source of PyTorch. A test that does not compile counts as failed and is left out; the other tests of its
file run. `-v` prints why a test failed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tools.cpp_clients.source_packages import Package
from tools.cpp_clients.sources import command_of

SUITE = Path(__file__).parent / "suite"
# Files whose tests use the interface for extensions. The others test modules, optimizers and PyTorch's internals.
FILES = {
    "test/cpp/api": "autograd fft grad_mode meta_tensor operations special tensor tensor_flatten tensor_indexing "
    "tensor_options",
    "aten/src/ATen/test": "Dict_test MaybeOwned_test basic broadcast_test half_test memory_format_test native_test "
    "packedtensoraccessor_test pow_test reduce_ops_test scalar_tensor_test scalar_test "
    "stride_properties_test test_parallel undefined_tensor_test wrapdim_test",
    "c10/test/core": "Device_test Scalar_test",
    "c10/test/util": "ArrayRef_test Half_test accumulate_test bfloat16_test bit_cast_test exception_test "
    "intrusive_ptr_test irange_test optional_test string_util_test",
}
TEST = re.compile(r"^TEST(?:_F)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
LEAST = 0.8  # of the tests pass, at least: the others use internals of PyTorch


@dataclass
class Outcome:
    """What a file's tests do.

    Args:
        total (int): The number of its tests.
        passed (int): How many pass.
        reasons (dict[str, str]): Why a test fails, by its name.
    """

    total: int = 0
    passed: int = 0
    reasons: dict[str, str] = field(default_factory=dict)


def spans(text: str) -> dict[str, tuple[int, int]]:
    """The first and last line of each test, from 1.

    Args:
        text (str): A file.

    Returns:
        dict[str, tuple[int, int]]: The lines by the name of the test.
    """
    lines = text.split("\n")
    found = {}
    for match in TEST.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        last = next((i + 1 for i in range(first, len(lines)) if lines[i].startswith("}")), len(lines))
        found[f"{match[1]}.{match[2]}"] = first, last
    return found


def of_gpus(name: str) -> bool:
    """Whether a test needs a GPU, which PyTorch's tests on CPUs leave out."""
    return name.endswith("_CUDA")


def without(text: str, lines: list[tuple[int, int]]) -> str:
    """A file without some of its lines, with the numbers of the others.

    Args:
        text (str): The file.
        lines (list[tuple[int, int]]): The first and last lines.

    Returns:
        str: The rest.
    """
    kept = text.split("\n")
    for first, last in lines:
        kept[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(kept)


def compiled(command: list[str], source: Path, file: Path, outcome: Outcome) -> bool:
    """Compiles what compiles of a file.

    Args:
        command (list[str]): The compiler's command.
        source (Path): The file to write and compile.
        file (Path): PyTorch's file.
        outcome (Outcome): Its tests that do not compile are added.

    Returns:
        bool: Whether the rest compiles.
    """
    text = file.read_text()
    tests = spans(text)
    outcome.total = sum(not of_gpus(name) for name in tests)
    while True:
        absent = [lines for name, lines in tests.items() if name in outcome.reasons or of_gpus(name)]
        source.write_text(without(text, absent))
        process = subprocess.run(
            [*command, "-fsyntax-only", str(source)], capture_output=True, text=True, check=False
        )
        if not process.returncode:
            return True
        errors = re.findall(
            rf"{re.escape(str(source))}:(\d+):.*?(?:error: (.*)|required from here)", process.stderr
        )
        before = len(outcome.reasons)
        for line, words in errors:
            for name, (first, last) in tests.items():
                if first <= int(line) <= last:
                    outcome.reasons.setdefault(name, f"does not compile: {words}")
        if len(outcome.reasons) == before:
            said = next((w for w in process.stderr.splitlines() if "error" in w), "the compiler failed")
            outcome.reasons = dict.fromkeys(tests, f"the file does not compile: {said}")
            return False


def outcome_of(root: Path, file: Path, flags: list[str]) -> Outcome:
    """Compiles and runs the tests of a file.

    Args:
        root (Path): The source of PyTorch.
        file (Path): The file.
        flags (list[str]): Further flags of the compiler.

    Returns:
        Outcome: What they do.
    """
    outcome = Outcome()
    command = [*command_of(root, Package("", "")), f"-I{SUITE}", "-DNDEBUG", "-fmax-errors=0", *flags]
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, file.name), Path(folder, "tests.so")
        if not compiled(command, source, file, outcome):
            return outcome
        link = [*command, "-O0", "-fPIC", "-shared", "-o", str(library), str(source)]
        process = subprocess.run(link, capture_output=True, text=True, check=False)
        if process.returncode:
            outcome.reasons = dict.fromkeys(spans(file.read_text()), f"does not link: {process.stderr[:200]}")
            return outcome
        run(library, outcome)
    return outcome


def run(library: Path, outcome: Outcome) -> None:
    """Runs the tests of a library. After a crash, the tests that follow run in another process.

    Args:
        library (Path): The library.
        outcome (Outcome): The results are added.
    """
    next_ = 0
    while True:
        child = [sys.executable, "-m", "tools.cpp_clients.peer_tests", str(library), "--from", str(next_)]
        process = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=False)
        name = "the start"
        for line in filter(None, process.stdout.split("\n")):
            entry = json.loads(line)
            if "starts" in entry:
                name, next_ = entry["starts"], entry["at"] + 1
            elif entry["outcome"] == 1:
                outcome.reasons[name] = entry["text"]
            else:
                outcome.passed += entry["outcome"] == 0
                outcome.total -= entry["outcome"] == 2
        if process.returncode == 0:
            return
        outcome.reasons[name] = f"ends the process with {process.returncode}"
        if name == "the start":
            return


def run_child(library: str, first: int) -> None:
    """Runs the tests of a library from a number on, and prints a line in JSON before and after each.

    Args:
        library (str): The library.
        first (int): The number.
    """
    __import__("tl")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what tests print is no result
    functions = ctypes.CDLL(library)
    functions.tl_tests_name.restype = ctypes.c_char_p
    text = ctypes.create_string_buffer(1000)
    for i in range(first, functions.tl_tests_count()):
        print(json.dumps({"starts": functions.tl_tests_name(i).decode(), "at": i}), flush=True, file=out)
        result = functions.tl_tests_run(i, text, len(text))
        print(
            json.dumps({"outcome": result, "text": text.value.decode(errors="replace")}), flush=True, file=out
        )


def main() -> int:
    """Compiles, runs and counts; the status is 1 below the bound."""
    parser = argparse.ArgumentParser(prog="python -m tools.cpp_clients.peer_tests", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--from", dest="first", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--flag", action="append", default=[], help="a flag of the compiler, such as --flag=-std=c++20"
    )
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    if options.first is not None:
        run_child(str(options.folder), options.first)
        return 0
    total = passed = 0
    for folder, names in FILES.items():
        for name in names.split():
            if options.files and name not in options.files:
                continue
            outcome = outcome_of(options.folder, options.folder / folder / f"{name}.cpp", options.flag)
            total, passed = total + outcome.total, passed + outcome.passed
            print(f"{name:28}{outcome.passed:4} of {outcome.total}", flush=True)
            for test, reason in outcome.reasons.items() if options.verbose else ():
                print(f"    {test}: {reason}")
    print(f"{passed} of {total} tests pass")
    return 0 if total and (passed >= LEAST * total or options.files) else 1


if __name__ == "__main__":
    sys.exit(main())
