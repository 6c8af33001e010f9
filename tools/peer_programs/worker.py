"""Runs drawn programs with one library, and writes what they leave: `python -m tools.peer_programs.worker MODULE`.

Reads one program a line from the standard input, as JSON, and writes one pickled outcome for each.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import pickle
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any

_QUIET = "without gradients "


def run(library: Any, statements: list[str]) -> list[Any]:
    """What each statement does, then the numbers of all tensors, then the gradients of the leaves.

    Args:
        library: the module.
        statements: the program, as `drawing.draw_program` returns it.
    """
    tensors: list[Any] = []
    outcome: list[Any] = []
    names = {"m": library, "f": getattr(getattr(library, "nn", None), "functional", None)}
    for statement in statements:
        operands, _, expression = statement.partition(": ")
        x, y = (tensors[int(i)] if tensors else None for i in operands.split())
        quiet = expression.startswith(_QUIET)
        try:
            with library.no_grad() if quiet else contextlib.nullcontext():
                result = eval(
                    expression.removeprefix(_QUIET), {**names, "x": x, "y": y}
                )  # of this tool's texts
        except Exception as error:
            tensors.append(x)
            outcome.append(("raises", type(error).__name__, str(error)))
            continue
        tensors.append(x if result is None else result)
        outcome.append(("returns", _facts(tensors[-1])))
    outcome.append(("numbers", [_numbers(t) for t in tensors]))
    outcome.append(_gradients(library, tensors))
    return outcome


def _facts(t: Any) -> tuple[Any, ...]:
    strides = tuple(t.stride()) if t.numel() > 1 else ()
    dtype = str(t.dtype).rpartition(".")[2]
    return tuple(t.shape), strides, t.storage_offset(), t.requires_grad, t.is_conj(), dtype


def _numbers(t: Any) -> Any:
    return t.detach().resolve_conj().resolve_neg().numpy().copy()


def _gradients(library: Any, tensors: list[Any]) -> tuple[Any, ...]:
    total = None
    leaves = [t for t in tensors[:3] if t.is_leaf and t.requires_grad]
    try:
        for t in tensors:
            if not t.requires_grad:
                continue
            real = library.view_as_real(t.resolve_conj()) if t.is_complex() else t
            weights = library.tensor([math.cos(i) for i in range(real.numel())], dtype=library.float64)
            part = (real * weights.reshape(real.shape)).sum()
            total = part if total is None else total + part
        if total is not None and leaves:
            total.backward()
    except Exception as error:
        return "raises", type(error).__name__, str(error)
    return "gradients", [None if t.grad is None else _numbers(t.grad) for t in leaves]


def answer(library: Any, runs: Callable[[Any, list[str]], list[Any]]) -> None:
    """Answers programs until the input ends.

    Args:
        library: the module.
        runs: the function of the module and the statements of a program that returns the outcome.
    """
    library.set_num_threads(1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        outcome = pickle.dumps(("returns", runs(library, json.loads(line)["program"])))
        sys.stdout.buffer.write(struct.pack("<q", len(outcome)) + outcome)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    answer(importlib.import_module(sys.argv[1]), run)
