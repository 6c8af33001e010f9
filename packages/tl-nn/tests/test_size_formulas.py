"""The sizes in the section `Shape:` of docstrings are the sizes of results, over random geometry."""

import random
import sys
from math import prod
from pathlib import Path

import pytest

import tl_core as tl
import tl_nn as nn

sys.path.insert(0, str(Path(__file__).parent))

from size_formulas import expression, size_formulas

TRIALS = 12
NAMES = ("D", "H", "W")
ENDS = (("left", "right"), ("top", "bottom"), ("front", "back"))


def sizes_by_docstring(kind, sizes, **arguments):
    """The spatial sizes of the output by the formula of a class: arguments are lists, a number a dimension."""
    formulas = size_formulas(kind)
    name = "L" if "L_out" in formulas else "S"
    rows = [dict(zip(arguments, row, strict=True)) for row in zip(*arguments.values(), strict=True)]
    return [formulas[f"{name}_out"](**{name: size}, **row) for size, row in zip(sizes, rows, strict=True)]


def draw(dims, low, high):
    return [random.randint(low, high) for _ in range(dims)]


def shape_of(layer, *shape):
    with tl.no_grad():
        return list(layer(tl.zeros(*shape)).shape)


@pytest.fixture(autouse=True)
def seed():
    random.seed(37)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("lazy", ["", "Lazy"])
def test_convolutions(dims, lazy):
    kind = getattr(nn, f"{lazy}Conv{dims}d")
    for _ in range(TRIALS):
        kernel, stride, padding, dilation = (draw(dims, *ends) for ends in ((1, 3), (1, 3), (0, 2), (1, 2)))
        sizes = draw(dims, 5, 9)
        arguments = {"kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        layer = kind(*[] if lazy else [2], 3, **{name: tuple(value) for name, value in arguments.items()})
        assert shape_of(layer, 2, *sizes) == [3, *sizes_by_docstring(kind, sizes, **arguments)]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("lazy", ["", "Lazy"])
def test_transposed_convolutions(dims, lazy):
    kind = getattr(nn, f"{lazy}ConvTranspose{dims}d")
    for _ in range(TRIALS):
        kernel, stride, padding, dilation = (draw(dims, *ends) for ends in ((1, 3), (1, 3), (0, 1), (1, 2)))
        arguments = {"kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        arguments["output_padding"] = [
            random.randrange(max(s, d)) for s, d in zip(stride, dilation, strict=True)
        ]
        sizes = draw(dims, 3, 5)
        layer = kind(*[] if lazy else [2], 3, **{name: tuple(value) for name, value in arguments.items()})
        assert shape_of(layer, 1, 2, *sizes) == [1, 3, *sizes_by_docstring(kind, sizes, **arguments)]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("name", "options"), [("MaxPool", ("dilation",)), ("AvgPool", ()), ("LPPool", ())])
def test_pooling(name, dims, options):
    kind = getattr(nn, f"{name}{dims}d")
    for _ in range(TRIALS):
        kernel, stride, sizes = draw(dims, 2, 3), draw(dims, 1, 3), draw(dims, 5, 9)
        arguments = {"kernel_size": kernel, "stride": stride}
        if name != "LPPool":
            arguments["padding"] = draw(dims, 0, 1)
        arguments |= {option: draw(dims, 1, 2) for option in options}
        layer = kind(*[2] if name == "LPPool" else [], **{k: tuple(v) for k, v in arguments.items()})
        assert shape_of(layer, 2, *sizes) == [2, *sizes_by_docstring(kind, sizes, **arguments)]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling(dims):
    kind = getattr(nn, f"MaxUnpool{dims}d")
    for _ in range(TRIALS):
        kernel, stride, padding = draw(dims, 2, 3), draw(dims, 1, 3), draw(dims, 0, 1)
        sizes, arguments = draw(dims, 3, 5), {"kernel_size": kernel, "stride": stride, "padding": padding}
        layer = kind(**{name: tuple(value) for name, value in arguments.items()})
        zeros = tl.zeros(1, *sizes)
        result = layer(zeros, zeros.to(tl.int64))
        assert list(result.shape) == [1, *sizes_by_docstring(kind, sizes, **arguments)]


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("name", ["ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"])
def test_padding(name, dims):
    kind = getattr(nn, f"{name}{dims}d")
    names = NAMES[-dims:]
    for _ in range(TRIALS):
        sizes, ends = draw(dims, 4, 6), draw(2 * dims, -1, 3)
        values = dict(zip(names, sizes, strict=True))
        values |= dict(zip([end for pair in ENDS[:dims] for end in pair], ends, strict=True))
        layer = kind(tuple(ends), *[1.0] if name == "ConstantPad" else [])
        formulas = size_formulas(kind)
        expected = [
            formulas[f"{n}_out"](**{k: v for k, v in values.items() if k not in names or k == n})
            for n in names
        ]
        assert shape_of(layer, 2, *sizes) == [2, *expected]


@pytest.mark.parametrize("kind", [nn.Unfold, nn.Fold])
def test_blocks(kind):
    factor = size_formulas(kind)["L"]
    for _ in range(TRIALS):
        kernel, stride, padding, dilation = (draw(2, *ends) for ends in ((1, 3), (1, 3), (0, 2), (1, 2)))
        sizes = draw(2, 5, 9)
        rows = zip(sizes, kernel, stride, padding, dilation, strict=True)
        count = prod(factor(S=s, kernel_size=k, stride=t, padding=p, dilation=d) for s, k, t, p, d in rows)
        options = {"dilation": tuple(dilation), "padding": tuple(padding), "stride": tuple(stride)}
        if kind is nn.Unfold:
            assert shape_of(kind(tuple(kernel), **options), 1, 2, *sizes) == [1, 2 * prod(kernel), count]
        else:
            layer = kind(tuple(sizes), tuple(kernel), **options)
            assert shape_of(layer, 1, 2 * prod(kernel), count) == [1, 2, *sizes]


@pytest.mark.parametrize("kind", [nn.Upsample, nn.UpsamplingNearest2d, nn.UpsamplingBilinear2d])
def test_resampling(kind):
    for _ in range(TRIALS):
        sizes, factor = draw(2, 2, 7), random.choice([0.5, 1.25, 2.0, 2.6])
        expected = sizes_by_docstring(kind, sizes, scale_factor=[factor, factor])
        assert shape_of(kind(scale_factor=factor), 1, 2, *sizes) == [1, 2, *expected]


def test_expressions():
    assert expression(r"\left\lfloor \frac{a}{b_{\mathrm{out}}} \right\rfloor") == (
        "floor( (Fraction(a) / (b_out)) )"
    )
    with pytest.raises(ValueError, match="no closing brace"):
        expression(r"\frac{a")
