"""Runs PyTorch's own test files on tl; a process that dies fails the run, a test that fails does not.

    python -m tools.peer_tests FOLDER [FILE ...] [--jobs N] [--limit SECONDS] [-k EXPRESSION]

FOLDER is the folder `test` of PyTorch's sources, of which nothing is kept here:
`git clone --depth 1 --branch v2.6.0 https://github.com/pytorch/pytorch`, or the source package of a distribution.
The run is for sanitizers, which end a process at the first wrong access (`nox -s sanitize-peer`). A test that ended its
process is named, and the others go on in a new process. Whether results agree is not asked here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.packages import ROOT

# Files whose tests reach memory in many ways; what asks for compilers, devices or PyTorch's own libraries is left out.
FILES = (
    *("test_torch.py", "test_indexing.py", "test_view_ops.py", "test_shape_ops.py", "test_reductions.py"),
    *("test_tensor_creation_ops.py", "test_sort_and_select.py", "test_scatter_gather_ops.py"),
    *("test_binary_ufuncs.py", "test_unary_ufuncs.py", "test_type_promotion.py", "test_linalg.py"),
    *("test_spectral_ops.py", "test_segment_reductions.py", "test_numpy_interop.py", "test_dlpack.py"),
    *("test_sparse.py", "test_sparse_csr.py", "test_nestedtensor.py", "test_maskedtensor.py"),
    *(
        "test_namedtensor.py",
        "test_nn.py",
        "nn/test_pooling.py",
        "nn/test_convolution.py",
        "nn/test_embedding.py",
    ),
    *("nn/test_dropout.py", "nn/test_multihead_attention.py", "nn/test_packed_sequence.py"),
    *("test_autograd.py", "test_foreach.py", "test_python_dispatch.py", "test_overrides.py"),
    *("functorch/test_vmap.py", "functorch/test_eager_transforms.py", "test_serialization.py"),
    *("test_transformers.py", "test_subclass.py", "test_expanded_weights.py", "test_custom_ops.py"),
    "quantization/core/test_quantized_tensor.py",
)
SILENCE = 150.0  # seconds without a result after which a process is ended


@dataclass
class Outcome:
    """What became of the tests of a file."""

    file: str
    tests: dict[str, str] = field(default_factory=dict)
    problem: str = ""  # why tests of the file did not run
    seconds: float = 0.0

    @property
    def dead(self) -> list[str]:
        """The tests that ended their process."""
        return [name for name, outcome in self.tests.items() if outcome == "died"]


class File:
    """The tests of one file, each of which runs once."""

    def __init__(self, folder: Path, file: str, limit: float, expression: str):
        self.folder, self.outcome = folder, Outcome(file)
        self._end = time.monotonic() + limit
        self._expression = expression

    def run(self) -> Outcome:
        """Runs the tests, in a new process after each that died."""
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            while self._once(Path(scratch)):
                pass
        self.outcome.seconds = time.monotonic() - start
        return self.outcome

    def _once(self, scratch: Path) -> bool:
        """Runs what has not run; whether tests are left."""
        results, done = scratch / "results", scratch / "done"
        results.write_text("")
        done.write_text(json.dumps(list(self.outcome.tests)))
        status = self._wait(self._start(scratch, results, done), results)
        running = self._read(results)
        if status in (0, 1, 5):  # pytest's own: all passed, some failed, none left
            return False
        if running:
            self.outcome.tests[running] = "hung" if status is None else "died"
            return time.monotonic() < self._end
        self.outcome.problem = (scratch / "log").read_text()[-800:]
        return False

    def _start(self, scratch: Path, results: Path, done: Path) -> subprocess.Popen[bytes]:
        test_file = self.folder / self.outcome.file
        plugins = ("-p", "tools.peer_tests.plugin", "-p", "no:cacheprovider", "-p", "no:faulthandler")
        where = ("--noconftest", "-c", os.devnull, "--rootdir", str(test_file.parent))
        command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "--tb=line", *plugins, *where]
        environment = {
            **os.environ,
            "TL_PEER_RESULTS": str(results),
            "TL_PEER_DONE": str(done),
            "TMPDIR": str(scratch),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with open(scratch / "log", "wb") as log:
            return subprocess.Popen(
                [*command, "-k", self._expression, test_file.name],
                cwd=test_file.parent,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self, process: subprocess.Popen[bytes], results: Path) -> int | None:
        """The exit status; None if the process had to be ended."""
        size, since = 0, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now = time.monotonic()
            if results.stat().st_size != size:
                size, since = results.stat().st_size, now
            if now > self._end or now - since > SILENCE:
                os.killpg(process.pid, 9)
                process.wait()
                return None
        return process.returncode

    def _read(self, results: Path) -> str:
        """Takes the outcomes over; the test that was running."""
        running = ""
        for line in results.read_text().splitlines():
            kind, name, *outcome = json.loads(line)
            if kind == "start":
                running = name
            else:
                self.outcome.tests[name] = outcome[0]
                running = "" if name == running else running
        return running


def show(outcome: Outcome) -> None:
    """Prints a line for a file, and one for each test that died."""
    counts = Counter(outcome.tests.values())
    text = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{outcome.file:42} {text or 'no test ran'}  ({outcome.seconds:.0f} s)", flush=True)
    for name in outcome.dead:
        print(f"    died: {name}", flush=True)
    if outcome.problem:
        print(f"    {outcome.problem.strip()}", flush=True)


def main() -> int:
    """Runs the files; the exit status is 1 if a process died, or no test ran."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.peer_tests", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="the folder `test` of PyTorch's sources")
    parser.add_argument("files", nargs="*", default=FILES, metavar="FILE", help="files of it (a list of 40)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="files at a time")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for a file")
    parser.add_argument("-k", default="", metavar="EXPRESSION", help="the tests that pytest's -k chooses")
    options = parser.parse_args()
    if not (options.folder / "test_torch.py").exists():
        parser.error(
            f"{options.folder} holds no test_torch.py: FOLDER is the folder `test` of PyTorch's sources"
        )
    folder = options.folder.resolve()

    def run(file: str) -> Outcome:
        outcome = File(folder, file, options.limit, options.k).run()
        show(outcome)
        return outcome

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(run, options.files))
    dead = sum(len(outcome.dead) for outcome in outcomes)
    count = sum(len(outcome.tests) for outcome in outcomes)
    print(f"{count} tests of {len(outcomes)} files, {dead} ended their process")
    return int(dead > 0 or not all(outcome.tests for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
