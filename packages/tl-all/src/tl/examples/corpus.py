"""The text of Python's own standard library as numbers, for the language examples.

A hash of its name decides whether a file is held out, so every machine with the same Python holds out the same files.
All characters beyond printable ASCII share one index.
"""

import hashlib
import sysconfig
from pathlib import Path
from typing import NamedTuple

import tl
from tl.examples._program import need

SYMBOLS = "\n" + "".join(map(chr, range(32, 127))) + "\N{REPLACEMENT CHARACTER}"
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "lib2to3", "__pycache__"}
HELD_OUT_OF_256 = 20


class Corpus(NamedTuple):
    """The characters to learn from and those held out, as indices into `SYMBOLS`."""

    learned: tl.Tensor
    held_out: tl.Tensor


def files() -> list[Path]:
    """The library's files, always in the same order."""
    root = Path(sysconfig.get_path("stdlib"))
    paths = (p for p in root.rglob("*.py") if not LEFT_OUT & set(p.relative_to(root).parts))
    return sorted(paths, key=lambda p: p.relative_to(root).as_posix())


def is_held_out(path: Path) -> bool:
    """Whether a file is held out, by a hash of its name."""
    return hashlib.sha256(path.name.encode()).digest()[0] < HELD_OUT_OF_256


def encode(text: str) -> tl.Tensor:
    """The index of each character in `SYMBOLS`, as int64."""
    np = need("numpy", "numpy")
    indices = np.full(0x110000, len(SYMBOLS) - 1, np.int64)
    for index, symbol in enumerate(SYMBOLS):
        indices[ord(symbol)] = index
    return tl.from_numpy(indices[np.frombuffer(text.encode("utf-32-le"), np.uint32)])


def decode(indices: tl.Tensor) -> str:
    """The text of indices into `SYMBOLS`."""
    return "".join(SYMBOLS[i] for i in indices.tolist())


def read() -> Corpus:
    """The whole library."""
    parts: tuple[list[str], list[str]] = ([], [])
    for path in files():
        parts[is_held_out(path)].append(path.read_text("utf-8", errors="replace").replace("\t", "    "))
    training, held_out = (encode("\n".join(part)) for part in parts)
    return Corpus(training, held_out)


def table_loss(corpus: Corpus, order: int = 4, limit: int = 400_000) -> float:
    """The loss, in nats a character of the held-out text, of counting which characters follow `order - 1` others.

    Counts of long contexts are mixed with those of shorter ones, the more the more different characters followed:
    Witten and Bell, The zero-frequency problem, 1991.

    Args:
        corpus: the texts.
        order: the number of characters of a run, the counted one included.
        limit: the largest number of characters to score.
    """
    np = need("numpy", "numpy")
    symbols = len(SYMBOLS)
    training, held_out = corpus.learned.numpy(), corpus.held_out.numpy()[:limit]
    chance = np.full(len(held_out), 1 / symbols)
    for length in range(1, order + 1):
        training_runs, held_out_runs = _runs(training, length, symbols), _runs(held_out, length, symbols)
        runs, counts = np.unique(training_runs, return_counts=True)
        contexts, first, kinds = np.unique(runs // symbols, return_index=True, return_counts=True)
        occurrences = _look_up(runs, counts, held_out_runs)
        total = _look_up(contexts, np.add.reduceat(counts, first), held_out_runs // symbols)
        followers = _look_up(contexts, kinds, held_out_runs // symbols)
        mixed = (occurrences + followers * chance) / np.maximum(total + followers, 1)
        chance = np.where(total > 0, mixed, chance)
    return float(-np.log(chance).mean())


def _runs(text, length, symbols):  # type: ignore[no-untyped-def]
    """Each character with the `length - 1` before it, as one number; the character last."""
    np = need("numpy", "numpy")
    code = np.zeros(len(text), np.int64)
    for back in range(length - 1, -1, -1):
        code = code * symbols
        code[back:] += text[: len(text) - back]
    return code


def _look_up(keys, values, queries):  # type: ignore[no-untyped-def]
    """The values of queries among sorted keys; 0 for a query that is no key."""
    np = need("numpy", "numpy")
    at = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[at] == queries, values[at], 0)
