"""Programs of `.pt2` files across two libraries: what one writes, the other reads and computes.

`python -m tools.pt2_peer --peer-python PYTHON [NAME ...]` exports the models of tl-compiler's tests with static sizes
and with a dynamic batch, whole and decomposed, here and by PYTHON, which has torch. Each side then reads the
other's files and runs them at the sizes that they promise. A file that is refused, or that computes something else,
fails. `--libraries` takes the models of `pt2_library_models.py` instead, in an environment that has transformers and
timm on either side.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "packages/tl-compiler/tests/models.py"
EXAMPLE = 4
BATCHES = (2, 3, 7)
FORMS = [(sizes, form) for sizes in ("static", "dynamic") for form in ("whole", "decomposed")]
REFUSED = "not written"
Cases = Iterator[tuple[str, Any]]


class Side:
    """One library: its tensors, its modules and its export.

    Args:
        name: `tl` or `torch`.
    """

    def __init__(self, name: str) -> None:
        core, nn, export = {
            "tl": ("tl_core", "tl_nn", "tl_compiler.export"),
            "torch": ("torch", "torch.nn", "torch.export"),
        }[name]
        self.core, self.nn, self.export = map(importlib.import_module, (core, nn, export))

    def models(self, libraries: bool) -> dict[str, Any]:
        """The models, built of this library's modules.

        Args:
            libraries: whether they are those of published libraries.
        """
        if libraries:
            if self.core.__name__ == "tl_core":
                importlib.import_module("tl.torch").install()
            found: dict[str, Any] = importlib.import_module("tools.pt2_library_models").MODELS
            return {name: (make, lambda inputs=inputs: [inputs()]) for name, (make, inputs) in found.items()}
        return self._small_models().MODELS

    def _small_models(self) -> ModuleType:
        names = {"tl_core": self.core, "tl_nn": self.nn, "tl_nn.functional": self.nn.functional}
        sys.modules.update(names)
        spec = importlib.util.spec_from_file_location("pt2_models", MODELS)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def tensor(self, held: dict[str, Any]) -> Any:
        """The tensor that `numbers_of` wrote."""
        return self.core.tensor(held["values"], dtype=getattr(self.core, held["dtype"])).reshape(
            held["shape"]
        )


def numbers_of(t: Any) -> dict[str, Any]:
    """A tensor as JSON holds it."""
    dtype = str(t.dtype).rpartition(".")[2]
    return {"values": t.detach().reshape(-1).tolist(), "dtype": dtype, "shape": list(t.shape)}


def leaves(value: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]


def batch(side: Side, args: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """The arguments with n rows: those of the example again and again."""
    rows = args[0].shape[0]
    return tuple(side.core.cat([a] * n)[:n] if a.shape[0] == rows else a for a in args)


# ---- writing
def write(side: Side, folder: Path, names: list[str], libraries: bool) -> None:
    """Exports every model in every form; writes the files, their inputs, and what the model computes."""
    models = side.models(libraries)
    for name in names or models:
        side.core.manual_seed(0)
        make, inputs = models[name]
        model, args = make().eval(), max(inputs(), key=lambda a: a[0].shape[0])
        example = batch(side, args, EXAMPLE)
        for sizes, form in FORMS:
            shapes = tuple({0: side.export.Dim("b", min=2, max=64)} for _ in args)
            case = f"{name}.{sizes}.{form}"
            try:
                with side.core.no_grad():
                    program = side.export.export(
                        model, example, dynamic_shapes=shapes if sizes == "dynamic" else None
                    )
                    program = program.run_decompositions() if form == "decomposed" else program
                    runs: list[Any] = []
                    for n in BATCHES if sizes == "dynamic" else (EXAMPLE,):
                        given = batch(side, args, n)
                        runs.append(
                            [list(map(numbers_of, given)), list(map(numbers_of, leaves(model(*given))))]
                        )
                side.export.save(program, str(folder / f"{case}.pt2"))
            except Exception as error:  # whatever fails is this case's failure, not the session's
                runs = [f"{REFUSED}: {type(error).__name__}: {error}"]
            (folder / f"{case}.json").write_text(json.dumps(runs))


# ---- reading
def read(side: Side, folder: Path) -> Cases:
    """Reads and runs every file of a folder.

    Yields:
        The case, and what is wrong with it, or None.
    """
    for path in sorted(folder.glob("*.json")):
        runs = json.loads(path.read_text())
        if isinstance(runs[0], str):
            yield path.stem, runs[0]
            continue
        try:
            module = side.export.load(str(path.with_suffix(".pt2"))).module()
            yield path.stem, next(filter(None, (difference(side, module, run) for run in runs)), None)
        except Exception as error:  # whatever fails is this case's failure, not the session's
            yield path.stem, f"{type(error).__name__}: {str(error)[:600]}"


def difference(side: Side, module: Any, run: list[Any]) -> str | None:
    """How a program's results differ from what the model computed; None where they are close."""
    given, expected = run
    with side.core.no_grad():
        found = leaves(module(*map(side.tensor, given)))
    for a, b in zip(found, map(side.tensor, expected), strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{tuple(a.shape)} of {a.dtype}, not {tuple(b.shape)} of {b.dtype}"
        if not side.core.allclose(a, b, rtol=1e-4, atol=1e-4):  # what two libraries' convolutions differ by
            return f"differs by {float((a - b).abs().max())} at {tuple(given[0]['shape'])}"
    return None


def report(direction: str, cases: Cases, of_peer: bool = False) -> int:
    """Prints the failures of one direction and how many pass; returns how many fail.

    Args:
        direction: who wrote and who read.
        cases: each case and what is wrong with it.
        of_peer: whether torch wrote them: what it refuses to write doesn't count.
    """
    results = list(cases)
    refused = [case for case, why in results if of_peer and why and why.startswith(REFUSED)]
    failures = [(case, why) for case, why in results if why and case not in refused]
    for case, why in failures:
        print(f"{direction}: {case}: {why}", flush=True)
    for case in refused:
        print(f"{direction}: {case}: torch doesn't write it, not counted", flush=True)
    counted = len(results) - len(refused)
    print(f"{direction}: {counted - len(failures)} of {counted}", flush=True)
    return len(failures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", type=Path, help="the interpreter that has torch")
    parser.add_argument("--side", choices=("write", "read"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--libraries", action="store_true", help="the models of published libraries")
    parser.add_argument("names", nargs="*", help="these models only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.side == "write":
        write(Side("torch"), options.folder, options.names, options.libraries)
        return 0
    if options.side == "read":
        return report("written here, read by torch", read(Side("torch"), options.folder))
    if options.peer_python is None:
        parser.error("--peer-python names the interpreter that has torch")
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        peer = [str(options.peer_python), "-m", "tools.pt2_peer", "--side"]
        kind = ["--libraries"] if options.libraries else []
        subprocess.run([*peer, "write", "--folder", theirs, *kind, *options.names], check=True, cwd=ROOT)
        side = Side("tl")
        failures = report("written by torch, read here", read(side, Path(theirs)), of_peer=True)
        write(side, Path(ours), options.names, options.libraries)
        answer = subprocess.run([*peer, "read", "--folder", ours], cwd=ROOT, check=False)
    return 1 if failures or answer.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
