"""Archives of TorchScript that tl writes, read and run by PyTorch, and archives of PyTorch, read and run by tl.

`python -m tools.torchscript_peer --peer-python PYTHON [NAME ...]` traces and compiles the models and programs of
tl-compiler's tests, writes their archives, and lets PYTHON, which has torch 2.13, load and run each. An archive that is
refused, or that computes something else, fails. A program that can't be written fails too, unless `EXPECTED` names it.

`--archives FOLDER` compares what both compute with the archives of a folder, such as `test/jit/fixtures` of PyTorch's
sources. `NAME.io.pt` beside an archive holds its arguments and its result; without it, the types of the arguments
choose them.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "packages/tl-compiler/tests"
# Neither library compiles them: an argument without an annotation has a number as its default, a power of whole numbers
# is a real number, a result is a dictionary.
EXPECTED = {"script.siamese", "script.wavenet", "trace.segmenter"}


def programs() -> Iterator[tuple[str, Any, tuple[Any, ...], str]]:
    """The name, the model or function, the arguments, and "trace" or "script" of each archive."""
    sys.path.insert(0, str(TESTS))
    models = importlib.import_module("models").MODELS
    scripts = importlib.import_module("script_programs").PROGRAMS
    for name, (make, inputs) in models.items():
        for kind in ("trace", "script"):
            yield f"{kind}.{name}", make().eval(), max(inputs(), key=lambda a: a[0].shape[0]), kind
    for name, (make, inputs) in scripts.items():
        model = make()
        yield f"script.{name}", model.eval() if hasattr(model, "eval") else model, inputs(), "script"


def write(folder: Path, names: list[str]) -> int:
    """Writes the archives, with the arguments and the results; returns how many failed."""
    import tl_checkpoint
    import tl_core
    from tl_compiler import jit

    failures = 0
    for name, model, args, kind in programs():
        if names and name.rpartition(".")[2] not in names:
            continue
        try:
            with tl_core.no_grad():
                program = jit.trace(model, args, check_trace=False) if kind == "trace" else jit.script(model)
                result = model(*_copies(args))
            program.save(folder / f"{name}.pt")
            result = tuple(result) if hasattr(result, "_fields") else result
            tl_checkpoint.save((args, result), folder / f"{name}.io")
        except Exception as error:  # whatever fails is this program's failure, not the session's
            expected = name in EXPECTED
            failures += not expected
            print(f"{name}: {'expected: ' * expected}{type(error).__name__}: {str(error)[:300]}", flush=True)
    return failures


def _copies(args: tuple[Any, ...]) -> list[Any]:
    return [
        a.copy() if isinstance(a, (list, dict)) else a.clone() if hasattr(a, "clone") else a for a in args
    ]


# ---- archives of PyTorch
def archives_in(folder: Path) -> list[Path]:
    """The archives of a folder, by name."""
    return sorted(
        p for p in folder.iterdir() if p.suffix in (".pt", ".ptl") and not p.name.endswith(".io.pt")
    )


def arguments_for(torch: Any, program: Any, name: str) -> list[Any]:
    """Arguments of the stated types; tensors of whole numbers for programs about those."""
    tensor = torch.tensor([[1.5, -2.25], [7.0, 3.0]])
    values = {
        "Tensor": tensor.long() if "_int_" in name else tensor,
        "int": 3,
        "float": 2.5,
        "bool": True,
        "str": "a",
    }
    kinds = [str(a.type) for a in program.forward.schema.arguments[1:]]
    return [values.get(kind, 3) for kind in kinds]


def record(folder: Path, results: Path) -> None:
    """Stores what PyTorch computes with each archive, or the error."""
    torch = importlib.import_module("torch")
    for path in archives_in(folder):
        try:
            program, given = torch.jit.load(path), path.with_suffix(".io.pt")
            if given.exists():
                arguments = torch.load(given, weights_only=False)[0]
            else:
                arguments = arguments_for(torch, program, path.name)
            torch.manual_seed(0)
            with torch.no_grad():
                result = program(*_copies(tuple(arguments)))
            outcome = tuple(arguments), tuple(result) if hasattr(result, "_fields") else result
        except Exception as error:  # which is this archive's, and tl's may be another
            outcome = (), f"{type(error).__name__}: {str(error)[:300]}"
        torch.save(outcome, results / f"{path.name}.io")


def compare(folder: Path, results: Path) -> int:
    """Runs each archive here, and returns how many compute something else than in PyTorch."""
    import tl_checkpoint
    import tl_core
    from tl_compiler import jit

    failures, total = 0, 0
    for path in archives_in(folder):
        arguments, expected = tl_checkpoint.load(results / f"{path.name}.io", weights_only=False)
        if isinstance(expected, str):
            print(f"{path.name}: PyTorch: {expected}", flush=True)
            continue
        total += 1
        try:
            tl_core.manual_seed(0)
            with tl_core.no_grad():
                value = jit.load(path)(*_copies(arguments))
            why = None if _agree(tl_core, value, expected) else "computes something else"
        except Exception as error:  # whatever fails is this archive's failure, not the session's
            why = f"{type(error).__name__}: {str(error)[:600]}"
        if why is not None:
            failures += 1
            print(f"{path.name}: {why}", flush=True)
    print(f"written by torch, read here: {total - failures} of {total}", flush=True)
    return failures


def read(folder: Path) -> int:
    """Loads and runs the archives in torch; returns how many failed."""
    torch = importlib.import_module("torch")
    failures, total = 0, 0
    for path in sorted(folder.glob("*.pt")):
        total += 1
        args, expected = torch.load(path.with_suffix(".io"), weights_only=False)
        try:
            with torch.no_grad():
                why = (
                    None
                    if _agree(torch, torch.jit.load(path)(*args), expected)
                    else "computes something else"
                )
        except Exception as error:  # whatever fails is this archive's failure, not the session's
            why = f"{type(error).__name__}: {str(error)[:600]}"
        if why is not None:
            failures += 1
            print(f"{path.stem}: {why}", flush=True)
    print(f"written here, read by torch: {total - failures} of {total}", flush=True)
    return failures


def _agree(torch: Any, value: Any, expected: Any) -> bool:
    if isinstance(expected, torch.Tensor):
        return bool(torch.allclose(value, expected, rtol=1e-4, atol=1e-5, equal_nan=True))
    if isinstance(expected, dict):
        return all(_agree(torch, value[k], expected[k]) for k in expected)
    if isinstance(expected, (list, tuple)):
        return len(value) == len(expected) and all(
            _agree(torch, a, b) for a, b in zip(value, expected, strict=True)
        )
    return bool(value == expected)


def compare_with(python: Path, folder: Path) -> int:
    """Runs the archives of a folder in the other interpreter, then here; returns the exit status."""
    with tempfile.TemporaryDirectory() as results:
        command = [
            str(python),
            "-m",
            "tools.torchscript_peer",
            "--archives",
            str(folder),
            "--record",
            results,
        ]
        subprocess.run(command, cwd=ROOT, check=True)
        return 1 if compare(folder, Path(results)) else 0


def main() -> int:
    """Writes the archives here, and reads them in the other interpreter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", type=Path, help="the interpreter that has torch")
    parser.add_argument("--archives", type=Path, help="a folder of archives that PyTorch wrote")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help="these programs only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.record is not None:
        record(options.archives, options.record)
        return 0
    if options.read is not None:
        return 1 if read(options.read) else 0
    if options.peer_python is None:
        parser.error("--peer-python names the interpreter that has torch")
    if options.archives is not None:
        return compare_with(options.peer_python, options.archives.resolve())
    with tempfile.TemporaryDirectory() as folder:
        failures = write(Path(folder), options.names)
        command = [str(options.peer_python), "-m", "tools.torchscript_peer", "--read", folder]
        answer = subprocess.run(command, cwd=ROOT, check=False)
    return 1 if failures or answer.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
