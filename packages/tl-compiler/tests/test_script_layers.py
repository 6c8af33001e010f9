"""TorchScript of functions and layers with numbers in the place of lists: each dimension, each position."""

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit

SIZES = {1: (2, 3, 8), 2: (2, 3, 8, 6), 3: (1, 2, 6, 8, 6)}
# Calls of `nn.functional` on inputs of n dimensions; N stands for n.
CALLS = [
    *(f"F.max_pool{n}d(x, 2)" for n in (1, 2, 3)), *(f"F.max_pool{n}d(x, 3, 2, 1, 1)" for n in (1, 2, 3)),
    *(f"F.max_pool{n}d(x, kernel_size=2, stride=1)" for n in (1, 2, 3)),
    *(f"F.max_pool{n}d(x, 2, return_indices=True)[1]" for n in (1, 2, 3)),
    *(f"F.avg_pool{n}d(x, 2)" for n in (1, 2, 3)), *(f"F.avg_pool{n}d(x, 3, 2, 1)" for n in (1, 2, 3)),
    *(f"F.avg_pool{n}d(x, 3, stride=1, padding=1)" for n in (1, 2, 3)),
    *(f"F.adaptive_avg_pool{n}d(x, 2)" for n in (1, 2, 3)), *(f"F.adaptive_max_pool{n}d(x, 2)" for n in (1, 2, 3)),
    *(f"F.interpolate(x, 5, mode='nearest').mean(-{n})" for n in (1, 2, 3)),
    *(f"F.interpolate(x, scale_factor=2).mean(-{n})" for n in (1, 2, 3)),
    *(f"F.pad(x, [1, 2]).mean(-{n})" for n in (1, 2, 3)),
]  # fmt: skip
LAYERS = [
    *(
        getattr(nn, f"{kind}Pad{n}d")(2)
        for n in (1, 2, 3)
        for kind in ("Reflection", "Replication", "Circular", "Zero")
    ),
    *(getattr(nn, f"ConstantPad{n}d")(2, 1.5) for n in (1, 2, 3)),
    *(
        getattr(nn, f"{kind}Pool{n}d")(2)
        for n in (1, 2, 3)
        for kind in ("Max", "Avg", "AdaptiveAvg", "AdaptiveMax")
    ),
    *(getattr(nn, f"BatchNorm{n}d")(2 if n == 3 else 3) for n in (1, 2, 3)),
    *(getattr(nn, f"InstanceNorm{n}d")(2 if n == 3 else 3) for n in (1, 2, 3)),
    *(getattr(nn, f"Conv{n}d")(2 if n == 3 else 3, 2, 3, 2, 1) for n in (1, 2, 3)),
    *(getattr(nn, f"ConvTranspose{n}d")(2 if n == 3 else 3, 2, 3, 2, 1) for n in (1, 2, 3)),
]


def dimensions(text: str) -> int:
    """The number before the last "d" of a name, or behind the last minus sign."""
    return int(text[-2]) if text.endswith("d") else int(text.rsplit("(-", 1)[1][0])


def ramp(n: int) -> tl.Tensor:
    size = 1
    for k in SIZES[n]:
        size *= k
    return (tl.arange(size, dtype=tl.float32) * 0.7).sin().reshape(SIZES[n])


@pytest.mark.parametrize("text", CALLS)
def test_functions_take_numbers_for_lists(text: str, tmp_path, monkeypatch) -> None:
    n = dimensions(text) if "(-" in text else dimensions(text[: text.index("(")])
    (tmp_path / "calls_of_layers.py").write_text(
        f"import tl_nn.functional as F\nfrom tl_core import Tensor\n\ndef f(x: Tensor):\n    return {text}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "calls_of_layers", raising=False)
    from calls_of_layers import f

    program = jit.script(f)
    assert tl.equal(program(ramp(n)), f(ramp(n)))


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_layers_of_each_dimension(layer) -> None:
    x = ramp(dimensions(type(layer).__name__))
    with tl.no_grad():
        assert tl.equal(jit.script(layer.eval())(x), layer(x))
