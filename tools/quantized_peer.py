"""Files of quantized models across two libraries: what one writes, the other reads and computes.

`python -m tools.quantized_peer --peer-python PYTHON [NAME ...]` builds the models of `quantized_peer_models.py` here
and in PYTHON, which has torch. Each side writes the state dict and the whole model of each, and models with quantized
operators as `.pt2` files, if PYTHON has torchao. Each side then reads all files and runs them. A file that is refused,
or that computes something else, fails. What torch cannot write, or cannot read of its own, does not count.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .quantized_peer_models import EXPORTED, MODELS, PT2E, Library

ROOT = Path(__file__).resolve().parent.parent
FORMS = ("state", "whole")
Failures = dict[str, str]


def numbers_of(value: Any) -> list[Any]:
    """The numbers of a result, tensor by tensor."""
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in numbers_of(item)]
    if value.is_quantized:
        value = value.dequantize()
    return [value.detach().float().reshape(-1).tolist()]


def write(lib: Library, folder: Path, names: list[str]) -> Failures:
    """Writes all files and the results of their models; returns what the library refuses, by case."""
    failures: Failures = {}
    for case, action in _writes(lib, folder, names):
        try:
            result = action()
            (folder / f"{case}.json").write_text(json.dumps(result))
        except Exception as error:  # whatever fails is this case's failure, not the session's
            failures[case] = f"{type(error).__name__}: {str(error)[:300]}"
    return failures


def _writes(lib: Library, folder: Path, names: list[str]) -> Iterator[tuple[str, Any]]:
    for name, (make, data) in MODELS.items():
        for form in FORMS:
            if not names or name in names:

                def action(make: Any = make, data: Any = data, form: str = form, name: str = name) -> Any:
                    model = make(lib)
                    result = numbers_of(model(data(lib)))
                    lib.core.save(model.state_dict() if form == "state" else model, folder / f"{name}.{form}")
                    return result

                yield f"{name}.{form}", action
    for name, export in EXPORTED.items():
        if not names or name in names:

            def save(export: Any = export, name: str = name) -> Any:
                program, x = export(lib)
                lib.core.export.save(program, str(folder / f"{name}.pt2"))
                return numbers_of(program.module()(x))

            yield f"{name}.pt2", save


def read(lib: Library, folder: Path) -> Failures:
    """Reads and runs all files of a folder; returns what is refused or differs, by case."""
    failures: Failures = {}
    for path in sorted(folder.glob("*.json")):
        expected = json.loads(path.read_text())
        try:
            reason = difference(_result(lib, path.with_suffix(""), path.stem), expected)
        except Exception as error:  # whatever fails is this case's failure, not the session's
            reason = f"{type(error).__name__}: {str(error)[:300]}"
        if reason:
            failures[path.stem] = reason
    return failures


def _result(lib: Library, path: Path, case: str) -> Any:
    name, form = case.split(".")
    if form == "pt2":
        importlib.import_module(PT2E[lib.name])
        program = lib.core.export.load(str(path))
        x = lib.numbers(2, 3, 4, 4) if name == "exported_convolution" else lib.numbers(5, 16)
        return numbers_of(program.module()(x))
    make, data = MODELS[name]
    if form == "whole":
        return numbers_of(lib.core.load(path, weights_only=False)(data(lib)))
    model = make(lib)
    # torch refuses packed weights in files that are read as data
    state = lib.core.load(path, weights_only=lib.name == "tl")
    for entry in model.parameters():
        entry.data.zero_()
    model.load_state_dict(state)
    return numbers_of(model(data(lib)))


def difference(actual: Any, expected: Any) -> str | None:
    """How results differ; None where they are equal but for the last bit of float16's products."""
    if len(actual) != len(expected):
        return f"{len(actual)} tensors, not {len(expected)}"
    for a, b in zip(actual, expected, strict=True):
        if len(a) != len(b):
            return f"{len(a)} numbers, not {len(b)}"
        worst = max((abs(x - y) for x, y in zip(a, b, strict=True)), default=0.0)
        if worst > 1e-6 * max(map(abs, b), default=0.0):
            return f"differs by {worst} of {max(map(abs, b))}"
    return None


def report(direction: str, total: int, failures: Failures, uncounted: Failures) -> int:
    """Prints the failures of one direction and how many pass; returns how many fail.

    Args:
        direction: who wrote and who read.
        total: how many files there are.
        failures: what is wrong, by case.
        uncounted: what torch cannot do alone, by case.
    """
    counted = {case: why for case, why in failures.items() if case not in uncounted}
    for case, why in counted.items():
        print(f"{direction}: {case}: {why}")
    for case in sorted(failures.keys() & uncounted.keys()):
        print(f"{direction}: {case}: torch fails alone, not counted: {uncounted[case]}")
    left = total - len(failures.keys() & uncounted.keys())
    print(f"{direction}: {left - len(counted)} of {left}", flush=True)
    return len(counted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peer-python", type=Path, help="the interpreter that has torch, and torchao for .pt2 files"
    )
    parser.add_argument("--side", choices=("write", "read"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help="these models only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.side is not None:
        lib = Library("torch")
        failures = (
            write(lib, options.folder, options.names)
            if options.side == "write"
            else read(lib, options.folder)
        )
        (options.folder / "failures").write_text(json.dumps(failures))
        return 0
    if options.peer_python is None:
        parser.error("--peer-python names the interpreter that has torch")
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        return _both_ways(options.peer_python, Path(ours), Path(theirs), options.names)


def _both_ways(python: Path, ours: Path, theirs: Path, names: list[str]) -> int:
    def peer(side: str, folder: Path) -> Failures:
        command = [str(python), "-m", "tools.quantized_peer", "--side", side, "--folder", str(folder), *names]
        subprocess.run(command, check=True, cwd=ROOT)
        failures: Failures = json.loads((folder / "failures").read_text())
        return failures

    lib = Library("tl")
    unread = {case: f"it does not write it: {why}" for case, why in peer("write", theirs).items()}
    written = len(list(theirs.glob("*.json")))
    unread |= peer("read", theirs)
    failures = report("written by torch, read here", written, read(lib, theirs), {})
    refused = write(lib, ours, names)
    for case, why in refused.items():
        print(f"not written here: {case}: {why}")
    total = len(list(ours.glob("*.json")))
    return int(
        bool(
            failures + len(refused) + report("written here, read by torch", total, peer("read", ours), unread)
        )
    )


if __name__ == "__main__":
    sys.exit(main())
