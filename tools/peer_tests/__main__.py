"""Runs PyTorch's own test files on tl; a process that dies fails the run, a test that fails does not.

    python -m tools.peer_tests FOLDER [FILE ...] [--jobs N] [--limit SECONDS] [-k EXPRESSION]

FOLDER is the folder `test` of PyTorch's sources, of which nothing is kept here:
`git clone --depth 1 --branch v2.6.0 https://github.com/pytorch/pytorch`, or the source package of a distribution.
The run is for sanitizers, which end a process at the first wrong access (`nox -s sanitize-peer`). A test that ended its
process is named, and the others go on in a new process. Whether results agree is not asked here.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.peer_tests.files import File, Outcome

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
