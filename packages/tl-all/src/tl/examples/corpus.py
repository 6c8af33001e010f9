"""The text of Python's own standard library, in numbers: what the language examples learn from.

Which files are held out is decided by a hash of their names, so every machine with the same Python holds out the same
ones. Characters beyond printable ASCII count as one.
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
    found = (p for p in root.rglob("*.py") if not LEFT_OUT & set(p.relative_to(root).parts))
    return sorted(found, key=lambda p: p.relative_to(root).as_posix())


def is_held_out(path: Path) -> bool:
    """Decided by the name alone."""
    return hashlib.sha256(path.name.encode()).digest()[0] < HELD_OUT_OF_256


def encode(text: str) -> tl.Tensor:
    """Each character's place in `SYMBOLS`, as int64."""
    np = need("numpy", "numpy")
    indices = np.full(0x110000, len(SYMBOLS) - 1, np.int64)
    for index, symbol in enumerate(SYMBOLS):
        indices[ord(symbol)] = index
    return tl.from_numpy(indices[np.frombuffer(text.encode("utf-32-le"), np.uint32)])


def decode(indices: tl.Tensor) -> str:
    """The text again."""
    return "".join(SYMBOLS[i] for i in indices.tolist())


def read() -> Corpus:
    """The whole library."""
    parts: tuple[list[str], list[str]] = ([], [])
    for path in files():
        parts[is_held_out(path)].append(path.read_text("utf-8", errors="replace").replace("\t", "    "))
    learned, held_out = (encode("\n".join(part)) for part in parts)
    return Corpus(learned, held_out)


def table_loss(corpus: Corpus, order: int = 4, limit: int = 400_000) -> float:
    """The loss, in nats a character of the held-out text, of counting which characters follow `order - 1` others.

    Counts of long contexts are mixed with those of shorter ones, the more the more different characters followed:
    Witten and Bell, The zero-frequency problem, 1991.

    Args:
        corpus: the texts.
        order: how many characters are looked at, the counted one included.
        limit: how many characters are scored at most.
    """
    np = need("numpy", "numpy")
    symbols = len(SYMBOLS)
    learned, held_out = corpus.learned.numpy(), corpus.held_out.numpy()[:limit]
    chance = np.full(len(held_out), 1 / symbols)
    for length in range(1, order + 1):
        known, asked = _runs(learned, length, symbols), _runs(held_out, length, symbols)
        runs, counts = np.unique(known, return_counts=True)
        contexts, first, kinds = np.unique(runs // symbols, return_index=True, return_counts=True)
        seen = _looked_up(runs, counts, asked)
        total = _looked_up(contexts, np.add.reduceat(counts, first), asked // symbols)
        followers = _looked_up(contexts, kinds, asked // symbols)
        mixed = (seen + followers * chance) / np.maximum(total + followers, 1)
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


def _looked_up(keys, values, asked):  # type: ignore[no-untyped-def]
    """The values of sorted keys; 0 for others."""
    np = need("numpy", "numpy")
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where(keys[at] == asked, values[at], 0)
