"""Drawn programs of views, writes and gradients, run by PyTorch and by tl, whose outcomes are compared.

    python -m tools.peer_programs --peer-python PYTHON [--of views|training] [--programs N] [--seed N]

`--of training` draws training loops: models, optimizers, schedules, and what happens between steps.

A program whose numbers or gradients differ, or that ends tl's process, fails the run. Other differences are listed: a
statement or a backward pass that only one of the two refuses, other strides.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from tools.peer_programs.drawing import draw_program
from tools.peer_programs.loops import draw_loop
from tools.peer_schemas.process import Worker

SHOWN = 3  # programs of one kind of difference that are shown


# What is drawn, the program that runs it, and the relative difference of numbers: eight steps multiply the first one.
KINDS = {
    "views": (draw_program, "tools.peer_programs.worker", 1e-9),
    "training": (draw_loop, "tools.peer_programs.trainer", 1e-6),
}


def _same(peer: Any, own: Any, tolerance: float) -> bool:
    if peer is None or own is None:
        return peer is own
    return peer.shape == own.shape and np.allclose(peer, own, tolerance, tolerance / 100, equal_nan=True)


def difference(peer: list[Any], own: list[Any], tolerance: float = 1e-9) -> tuple[str, int] | None:
    """The first difference's kind and the index of its statement.

    Args:
        peer: PyTorch's outcome.
        own: tl's.
        tolerance: the relative difference of numbers that counts as none.
    """
    for index, (expected, found) in enumerate(zip(peer, own, strict=True)):
        if expected[0] == "raises" and found[0] == "raises":
            if index < len(peer) - 1:
                continue
            return None
        if expected[0] == "raises":
            return ("accepted" if index < len(peer) - 1 else "differentiated"), index
        if found[0] == "raises":
            return ("refused" if index < len(peer) - 1 else "not differentiated"), index
        if expected[0] == "returns":
            if expected[1] != found[1]:
                return "other tensor", index
        elif len(expected[1]) != len(found[1]) or not all(
            _same(*pair, tolerance) for pair in zip(expected[1], found[1], strict=True)
        ):
            return f"other {expected[0]}", index
    return None


def main() -> int:
    """Compares, and returns 1 if numbers or gradients differ."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.peer_programs", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--peer-python", required=True, help="the interpreter that has PyTorch")
    parser.add_argument("--of", choices=KINDS, default="views", help="what is drawn (views)")
    parser.add_argument("--programs", type=int, default=1000, help="how many programs (1000)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="decides the draws")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    draw, program, tolerance = KINDS[options.of]
    peer, own = Worker(options.peer_python, "torch", program), Worker(sys.executable, "tl", program)
    kinds: Counter[str] = Counter()
    try:
        for number in range(options.programs):
            statements = draw(f"{options.seed} {number}")
            expected, found = (side.ask({"program": statements}) for side in (peer, own))
            if expected[0] == "dies":
                continue
            verdict = ("dies", 0) if found[0] == "dies" else difference(expected[1], found[1], tolerance)
            if verdict is None:
                continue
            kind, index = verdict
            kinds[kind] += 1
            if kinds[kind] <= SHOWN or kind in ("dies", "other numbers", "other gradients"):
                _show(number, kind, index, statements, expected[1], found[1])
    finally:
        peer.close()
        own.close()
    print(f"{options.programs} programs: {dict(kinds)}")
    return 1 if any(kinds[kind] for kind in ("dies", "other numbers", "other gradients")) else 0


def _show(number: int, kind: str, index: int, statements: list[str], expected: list[Any], found: Any) -> None:
    print(f"{number}: {kind} at {index}", flush=True)
    for i, statement in enumerate(statements[: index + 1]):
        print(f"    t{i} = {statement[:160]}")
    if found is not None:
        print(f"    PyTorch: {str(expected[index])[:300]}\n    tl: {str(found[index])[:300]}")


if __name__ == "__main__":
    sys.exit(main())
