"""Functions and operators whose calls graphs keep: `strict_mode`, `invoke_subgraph`, `out_dtype`, and `foreach_map`."""

import io

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import higher_order
from tl_compiler.export import Dim, export, load, save
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.higher_order import foreach_map, invoke_subgraph, out_dtype, strict_mode
from tl_core.operators.packets import aten

small = tl.tensor([[100, -100], [3, 4]], dtype=tl.int8)


def wave(x):
    return (x.sin() + 1,)


def around(x):
    y = x.exp()
    return invoke_subgraph(lambda a: a * y, "f", x) + strict_mode(lambda a: a + y, (x,))


PROGRAMS = {
    "strict_mode": lambda x: strict_mode(wave, (x,))[0] * 2,
    "invoke_subgraph": lambda x: invoke_subgraph(wave, "wave", *invoke_subgraph(wave, "wave", x))[0],
    "around": lambda x: (
        lambda y: invoke_subgraph(lambda a: a * y, "f", x) + strict_mode(lambda a: a + y, (x,))
    )(x.exp()),
    "out_dtype": lambda x: out_dtype(aten.mm.default, tl.float64, x, x).float(),
    "foreach_map": lambda x: sum(
        foreach_map(
            lambda a, b: a * b,
            [x, x + 1],
            [x.cos(), x],
        )
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_eager_graphs_and_gradients(name):
    f, x = PROGRAMS[name], tl.rand(3, 3, dtype=tl.float32)
    expected = f(x)
    assert make_fx(f)(x)(x + 0.5).equal(f(x + 0.5))
    leaf = x.clone().requires_grad_()
    f(leaf).sum().backward()
    step = 1e-3
    forward = (f(x.double() + step).sum() - f(x.double() - step).sum()) / (2 * step)
    assert tl.allclose(leaf.grad.sum().double(), forward.double(), rtol=1e-3)
    assert expected.shape == x.shape


class Module(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f, self.linear = f, nn.Linear(3, 3)

    def forward(self, x):
        return self.f(self.linear(x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_files(name):
    module, x = Module(PROGRAMS[name]), tl.rand(3, 3)
    program, file = export(module, (x,)), io.BytesIO()
    save(program, file)
    file.seek(0)
    assert program.module()(x).equal(module(x)) and load(file).module()(x).equal(module(x))


def test_one_graph_for_an_identifier():
    graph = make_fx(PROGRAMS["invoke_subgraph"])(tl.rand(3))
    calls = [n for n in graph.graph.nodes if n.target is invoke_subgraph]
    assert len(calls) == 2 and len({n.args[0].target for n in calls}) == 1
    assert [n.args[1] for n in calls] == ["wave", "wave"]


def test_wider_results():
    assert out_dtype(aten.mm.default, tl.int32, small, small).tolist() == [[9700, -10400], [312, -284]]
    assert out_dtype(aten.mul.Tensor, tl.int32, small, 100).tolist() == [[10000, -10000], [300, 400]]
    half = tl.ones(2, 2, dtype=tl.float16)
    assert out_dtype(aten.mm.default, tl.float32, half, half).dtype == tl.float32


@pytest.mark.parametrize(
    ("op", "dtype", "error", "said"),
    [
        (aten.mm, tl.int32, ValueError, "must be an OpOverload"),
        (aten.relu.default, tl.int32, ValueError, "only allows the following operators"),
        (aten.add_.Tensor, tl.int32, ValueError, "functional operator"),
        (aten.topk.default, tl.int32, ValueError, "single tensor"),
        (aten.mm.default, "int32", TypeError, "must be torch.dtype, got str"),
    ],
)
def test_out_dtype_refuses(op, dtype, error, said):
    with pytest.raises(error, match=said):
        out_dtype(op, dtype, small, small)


def test_foreach_map():
    x = tl.ones(2)
    assert [t.tolist() for t in foreach_map(tl.add, (x, x * 2), 2)] == [[3, 3], [4, 4]]
    assert foreach_map(lambda a, alpha: (a, a * alpha), [x, x], alpha=3)[0][1].tolist() == [3, 3]
    assert foreach_map(tl.neg, []) == []
    with pytest.raises(ValueError, match=r"lengths \[1, 2\]"):
        foreach_map(tl.add, [x], [x, x])
    with pytest.raises(ValueError, match="expected lists"):
        foreach_map(tl.add, x, x)


def test_invoke_subgraph_takes_operands_in_one_tuple():
    x = tl.rand(2)
    assert invoke_subgraph(wave, None, (x,))[0].equal(wave(x)[0])
    with pytest.raises(TypeError, match="'identifier' must be a str or None, got int"):
        invoke_subgraph(wave, 3, x)


def test_the_package_gives_the_functions():
    for name in ("foreach_map", "invoke_subgraph", "out_dtype", "strict_mode"):
        assert callable(getattr(higher_order, name))


def test_out_dtype_at_other_sizes():
    module = Module(lambda x: out_dtype(aten.mm.default, tl.float64, x, x.t()))
    program = export(module, (tl.rand(4, 3),), dynamic_shapes=({0: Dim("rows", min=2)},))
    x = tl.rand(7, 3)
    assert program.module()(x).equal(module(x))
