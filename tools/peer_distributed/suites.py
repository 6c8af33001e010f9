"""Runs PyTorch's suites of several processes by PyTorch and by tl: the share of what PyTorch passes.

    python -m tools.peer_distributed.suites --peer-python PYTHON [--source FOLDER] [--results FOLDER] [NAME...]

The suites of `SUITES` are files of PyTorch's wheel, or of `test/distributed` below the folder of its source. Results
are kept by test, so that a run which was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

AT_LEAST = 95  # per cent
WHERE = "import torch.testing._internal as d; print(list(d.__path__)[0])"


@dataclass(frozen=True)
class Suite:
    """Tests that run together.

    Attributes:
        file: their file or folder.
        world: the number of processes.
        devices: the number of GPUs that tests see; 0 for as many as processes.
        is_source: whether it is one of PyTorch's source, which its wheel hasn't.
    """

    file: str
    world: int = 4
    is_source: bool = True
    devices: int = 0


SUITES = {
    "collectives": Suite("distributed/distributed_test.py", is_source=False),
    "rpc": Suite("distributed/rpc/rpc_test.py", is_source=False),
    "dist_autograd": Suite("distributed/rpc/dist_autograd_test.py", is_source=False),
    "dist_optimizer": Suite("distributed/rpc/dist_optimizer_test.py", is_source=False),
    "remote_module": Suite("distributed/nn/api/remote_module_test.py", is_source=False),
    "mesh": Suite("test_device_mesh.py"),
    "functional": Suite("test_functional_api.py"),
    "tensors": Suite("_tensor"),
    "parallel": Suite("tensor"),
    "fully_shard": Suite("_composable/fsdp", devices=2),
    "wrappers": Suite("fsdp", 2),
    "pipelines": Suite("pipelining", 2),
    "checkpoints": Suite("checkpoint"),
}


def wheel_of(python: str) -> Path:
    """The folder `torch/testing/_internal` of PyTorch's wheel.

    Args:
        python: the interpreter that has it.
    """
    found = subprocess.run([python, "-c", WHERE], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


def run(suite: Suite, name: str, peer: str, source: Path | None, results: Path) -> tuple[int, int]:
    """Runs a suite by both.

    Args:
        suite: the suite.
        name: its name.
        peer: the interpreter with PyTorch.
        source: the folder of PyTorch's source.
        results: the folder for the results by test.

    Returns:
        How many tests tl passes, of how many that PyTorch passes.
    """
    wheel = wheel_of(peer)
    file = source / "test" / "distributed" / suite.file if suite.is_source and source else wheel / suite.file
    common = [str(file), "--wheel", str(wheel), "--world", str(suite.world), "--resume"]
    common += ["--devices", str(suite.devices)]
    files = {module: results / f"{module}_{name}.json" for module in ("torch", "tl")}
    for python, module in ((peer, "torch"), (sys.executable, "tl")):
        command = [python, "-m", "tools.peer_distributed", *common, "--module", module]
        command += ["--json", str(files[module])]
        if module == "tl":
            command += ["--baseline", str(files["torch"])]
        subprocess.run(command, check=False)  # its own limit is that of the command line
    outcomes = {module: json.loads(path.read_text()) for module, path in files.items()}
    passed = [test for test, outcome in outcomes["torch"].items() if outcome["outcome"] == "passed"]
    return sum(outcomes["tl"].get(test, {}).get("outcome") == "passed" for test in passed), len(passed)


def main() -> int:
    """Runs the suites that are named, or all whose files are there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="the suites; all by default")
    parser.add_argument("--peer-python", required=True, help="the interpreter that has PyTorch")
    parser.add_argument("--source", type=Path, help="the folder of PyTorch's source, for the suites there")
    parser.add_argument(
        "--results", type=Path, help="a folder for results by test, which later runs continue"
    )
    options = parser.parse_args()
    if unknown := {*options.names} - {*SUITES}:
        parser.error(f"there is no suite {', '.join(sorted(unknown))}, only {', '.join(SUITES)}")
    names = options.names or [name for name, s in SUITES.items() if options.source or not s.is_source]
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        results = options.results or Path(folder)
        results.mkdir(parents=True, exist_ok=True)
        for name in names:
            if SUITES[name].is_source and not options.source:
                parser.error(f"the suite {name} needs --source")
            passed, count = run(SUITES[name], name, options.peer_python, options.source, results)
            share = 100 * passed / max(1, count)
            print(f"{name}: {passed} of {count} that PyTorch passes ({share:.1f} %)", flush=True)
            if share < AT_LEAST:
                missed.append(name)
    if missed:
        print(f"below {AT_LEAST} %: {', '.join(missed)}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
