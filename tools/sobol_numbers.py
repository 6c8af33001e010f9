"""The initial direction numbers of Sobol sequences, packed: `python -m tools.sobol_numbers [--check]`.

The figures are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections"
(2008), for 21201 dimensions, read from scipy. Writes sobol_numbers.bin.gz of tl-core: for every degree from 1 to 18 a
bit for each polynomial with a constant term, whether it is primitive; then, dimension by dimension, the numbers
m_2, m_3, ... without their last bit, which is one.
"""

from __future__ import annotations

import gzip
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

PATH = Path(__file__).parents[1] / "packages/tl-core/src/tl_core/functions/sobol_numbers.bin.gz"
DEGREES = range(1, 19)


def figures() -> tuple[np.ndarray, np.ndarray]:
    """The polynomials as numbers, and the initial numbers, a row a dimension."""
    stats = find_spec("scipy.stats")
    if stats is None or stats.origin is None:
        raise SystemExit("scipy is needed: it has the figures")
    table = np.load(Path(stats.origin).with_name("_sobol_direction_numbers.npz"))
    return table["poly"].astype(np.int64), table["vinit"].astype(np.int64)


def packed() -> bytes:
    """The file's content."""
    polynomials, initial = figures()
    degree = np.floor(np.log2(polynomials)).astype(int)
    parts = []
    for d in DEGREES:
        chosen = degree == d
        candidates = np.zeros(2 ** (d - 1), np.uint8)
        candidates[(polynomials[chosen] - 2**d) >> 1] = 1
        bits = [initial[chosen, i] >> (i - b) & 1 for i in range(1, d) for b in range(i)]
        numbers = np.stack(bits, -1).ravel() if bits else np.zeros(0)
        parts += [np.packbits(candidates), np.packbits(numbers.astype(np.uint8))]
    return b"".join(part.tobytes() for part in parts)


def main(arguments: list[str]) -> int:
    """0 if the file is as it should be."""
    if "--check" not in arguments:
        PATH.write_bytes(gzip.compress(packed(), mtime=0))
        return 0
    fresh = gzip.decompress(PATH.read_bytes()) == packed()
    print(f"{PATH.name}: {'as computed' if fresh else 'differs from what is computed'}")
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
