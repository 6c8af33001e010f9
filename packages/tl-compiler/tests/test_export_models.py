"""Models exported with a dynamic batch, and sequences with a dynamic length, at every size against themselves."""

from __future__ import annotations

from typing import Any

import pytest
from batch_models import BATCHES, Bert, Encoder, Llama, Translator, Wave, ids, numbers
from models import MODELS, Recurrent
from sizes import same

import tl_core as tl
import tl_nn as nn
from tl_compiler.export import Dim, export


def run(module: Any, inputs: Any, shapes: Any, sizes: Any, example: Any) -> None:
    module.eval()
    with tl.no_grad():
        program = export(module, inputs(example), dynamic_shapes=shapes)
        traced = program.module()
        for size in sizes:
            same(traced(*inputs(size)), module(*inputs(size)), f"at {size}, exported at {example}")


@pytest.mark.parametrize("example", (2, 4))
@pytest.mark.parametrize("name", BATCHES)
def test_a_dynamic_batch(name: str, example: int) -> None:
    make, inputs, *other = BATCHES[name]
    b, args = Dim("b", min=1, max=64), inputs(example)
    shapes = tuple(
        dict.fromkeys(other[0][i] if other and i in other[0] else (0,), b) for i in range(len(args))
    )
    run(make(), inputs, shapes, (1, 2, 3, 5, 9), example)


@pytest.mark.parametrize("name", MODELS)
def test_batches_of_other_models(name: str) -> None:
    make, inputs = MODELS[name]
    tl.manual_seed(0)
    args = max(inputs(), key=lambda a: a[0].shape[0])

    def of(n: int) -> Any:
        return tuple(tl.cat([a] * n)[:n] if a.shape[0] == args[0].shape[0] else a for a in args)

    if args[0].ndim < 2:
        pytest.skip("has no batch")
    shapes = tuple({0: Dim("b", min=2)} for _ in args)
    run(make(), of, shapes, (2, 3, 7), 4)


LENGTHS: dict[str, Any] = {
    "llama": (Llama, lambda t: (ids(2, t), numbers(2, 2, 2, 2, 3, 4)), ({1: "t"}, None), 2, 13),
    "llama cache": (Llama, lambda t: (ids(2, 3), numbers(2, 2, 2, 2, t, 4)), (None, {4: "t"}), 2, 13),
    "bert": (Bert, lambda t: (ids(2, t), ids(2, t, 3) > 0), ({1: "t"}, {1: "t"}), 2, 12),
    "encoder": (Encoder, lambda t: (numbers(2, t, 8), ids(2, t, 5) == 4), ({1: "t"}, {1: "t"}), 2, 40),
    "translator": (Translator, lambda t: (ids(2, t), ids(2, 4)), ({1: "t"}, None), 2, 40),
    "wave": (Wave, lambda t: (numbers(2, 1, t),), ({2: "t"},), 3, 99),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda t: (ids(2, t, 10),), ({1: "t"},), 2, 40),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_a_dynamic_length(name: str) -> None:
    make, inputs, shapes, low, high = LENGTHS[name]
    t = Dim("t", min=low, max=high)
    texts = tuple(None if s is None else dict.fromkeys(s, t) for s in shapes)
    run(make(), inputs, texts, (low, low + 1, 7, high), 8)
