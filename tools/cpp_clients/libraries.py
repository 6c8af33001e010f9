"""A child process: imports torchao and xformers.ops, and compares what they compute with what PyTorch 2.13 computes.

`python -m tl.torch libraries.py` prints a line for each result. The status is 1 if one differs.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator
from typing import Any

import torch

quantization: Any = importlib.import_module("torchao.quantization")
quant_primitives: Any = importlib.import_module("torchao.quantization.quant_primitives")
attention: Any = importlib.import_module("xformers.ops")

# Sums, sums of magnitudes and single elements, recorded from PyTorch 2.13 on a CPU.
RECORDED: dict[str, list[float]] = {
    "Int8WeightOnlyConfig": [-89.1397, 1124.2024, 0.7501],
    "Int8DynamicActivationInt8WeightConfig": [-88.9307, 1118.4557, 0.6955],
    "IntxWeightOnlyConfig": [-89.1397, 1124.2025, 0.7501],
    "Int8DynamicActivationIntxWeightConfig": [-89.2165, 1126.2151, 0.8150],
    "Float8WeightOnlyConfig": [-89.3829, 1131.6252, 0.9086],
    "Int4WeightOnlyConfig": [-89.2924, 1130.2125, 0.7505],
    "affine, SYMMETRIC": [0.13072, 0.0, -397.0, -5.18954],
    "affine, SYMMETRIC_NO_CLIPPING_ERR": [0.13123, 0.0, -381.0, -5.0],
    "affine, ASYMMETRIC": [0.13072, -10.0, -528.0, -4.81046],
    "BlockDiagonalMask": [-3.0, -3.0, -2.0, -2.0, -2.0],
    "LowerTriangularMask": [0.0, -1.0, -2.0, -3.0],
    "SwiGLU": [-8.0722, 78.2147],
}
BOUND = 1e-6  # of the largest number of a result


def steps(rows: int, columns: int, period: int, scale: float) -> Any:
    """A matrix of small numbers that repeat."""
    return (torch.arange(rows * columns).reshape(rows, columns) % period - period // 2).float() / scale


def quantized(name: str, x: Any) -> Any:
    """The output of two layers after `quantize_` with a configuration."""
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    with torch.no_grad():
        model[0].weight.copy_(steps(64, 32, 17, 7))
        model[2].weight.copy_(steps(64, 64, 13, 5))
        model[0].bias.fill_(0.1)
        model[2].bias.fill_(-0.2)
    quantization.quantize_(model, getattr(quantization, name)())
    return model(x)


def results() -> Iterator[tuple[str, list[float]]]:
    """The numbers of each result.

    Yields:
        tuple[str, list[float]]: The name and the numbers.
    """
    x = steps(5, 32, 11, 3)
    for name in RECORDED:
        if name.endswith("Config"):
            y = quantized(name, x)
            yield name, [y.sum().item(), y.abs().sum().item(), y.flatten()[7].item()]
    for mapping in quant_primitives.MappingType:
        scale, zero = quant_primitives.choose_qparams_affine(x, mapping, (1, 16), torch.int8)
        q = quant_primitives.quantize_affine(x, (1, 16), scale, zero, torch.int8)
        back = quant_primitives.dequantize_affine(q, (1, 16), scale, zero, torch.int8)
        yield f"affine, {mapping.name}", [t.float().sum().item() for t in (scale, zero, q, back)]
    mask = attention.fmha.BlockDiagonalMask.from_seqlens([2, 3]).materialize((5, 5))
    yield "BlockDiagonalMask", mask.nan_to_num(neginf=-1).sum(0).tolist()
    mask = attention.fmha.attn_bias.LowerTriangularMask().materialize((4, 4))
    yield "LowerTriangularMask", mask.nan_to_num(neginf=-1).sum(0).tolist()
    layer = attention.SwiGLU(8, 16, bias=False)
    with torch.no_grad():
        for i, weight in enumerate(layer.parameters()):
            weight.copy_(steps(weight.shape[0], weight.shape[1], 7, 5 + i))
    y = layer(x[:, :8])
    yield "SwiGLU", [y.sum().item(), y.abs().sum().item()]


def main() -> int:
    """Computes and compares."""
    wrong = 0
    for name, numbers in results():
        wanted = RECORDED[name]
        bound = max(BOUND * max(map(abs, wanted)), 5e-5)  # the recorded numbers have four decimals
        same = len(numbers) == len(wanted) and all(
            math.isclose(a, b, abs_tol=bound) for a, b in zip(numbers, wanted, strict=True)
        )
        wrong += not same
        print(f"{name:40} {'equal' if same else f'DIFFERENT: {numbers}, recorded {wanted}'}")
    try:  # PyTorch's build for CPUs has no operator for it either
        attention.memory_efficient_attention(*[steps(5, 32, 11, 3).reshape(1, 5, 4, 8)] * 3)
    except NotImplementedError:
        print("memory_efficient_attention               refused, as in PyTorch")
    else:
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
