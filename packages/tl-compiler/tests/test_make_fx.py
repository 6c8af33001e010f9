"""Recorded programs do what the functions do, after transforms, and at other sizes."""

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
from tl_autograd import func
from tl_compiler.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from tl_core.operators.packets import aten
from tl_core.pytree import tree_map
from tl_nn import functional


def loss(x, y):
    return tl.tanh(x @ y).sum()


def targets(gm):
    return [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_operators_below_transforms(mode):
    x, y = tl.randn(3, 4), tl.randn(4, 5)
    gm = make_fx(func.grad(loss), tracing_mode=mode)(x, y)
    assert "aten.tanh_backward.default" in targets(gm)
    assert tl.equal(gm(x, y), func.grad(loss)(x, y))


def test_symbolic_programs_run_at_other_sizes():
    def step(x, w):
        out = nn.functional.linear(x, w)
        return tl_autograd.grad(out.pow(2).mean(), [w])[0]

    gm = make_fx(step, tracing_mode="symbolic")(tl.randn(3, 4), tl.randn(5, 4, requires_grad=True))
    x, w = tl.randn(7, 9), tl.randn(6, 9, requires_grad=True)
    assert tl.allclose(gm(x, w), step(x, w))


def test_a_batch_has_become_operators():
    x = tl.randn(3, 4)
    gm = make_fx(func.vmap(lambda row: row.sum() * 2))(x)
    assert tl.allclose(gm(x), x.sum(1) * 2)


def test_containers_and_names_of_arguments():
    gm = make_fx(lambda d: {"r": d["a"] * 2 + tl.ones(2), "s": (d["a"],)})({"a": tl.ones(2)})
    out = gm({"a": tl.zeros(2)})
    assert tl.equal(out["r"], tl.ones(2))
    assert "def forward(self, x_1)" in make_fx(lambda x: x + 1)(tl.ones(1)).code


def test_decompositions_replace_operators():
    aten = tl.ops.aten
    gm = make_fx(lambda x: tl.relu(x), {aten.relu.default: lambda x: aten.clamp_min.default(x, 0)})(
        tl.randn(3)
    )
    assert "aten.relu.default" not in targets(gm)


def test_whole_operators_above_autograd():
    linear = nn.Linear(3, 2)
    assert targets(make_fx(lambda x: linear(x).flatten(), pre_dispatch=True)(tl.randn(2, 3))) == [
        "aten.linear.default",
        "aten.flatten.using_ints",
    ]


@pytest.mark.parametrize(
    ("f", "target", "rest"),
    [
        (lambda x: functional.max_pool2d(x, 2), "max_pool2d_with_indices", ([2, 2], [2, 2])),
        (lambda x: functional.max_pool2d(x, 2, 1), "max_pool2d_with_indices", ([2, 2], [1, 1])),
        (lambda x: functional.max_pool1d(x[0], 2, padding=1), "max_pool1d_with_indices", ([2], [2], [1])),
        (lambda x: functional.avg_pool2d(x, 2, 2, 1, count_include_pad=False), "avg_pool2d",
         ([2, 2], [2, 2], [1, 1], False, False)),
        (lambda x: functional.avg_pool3d(x, 2, divisor_override=3), "avg_pool3d",
         ([2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, 3)),
        (lambda x: functional.adaptive_avg_pool2d(x, 2), "_adaptive_avg_pool2d", ([2, 2],)),
        (lambda x: functional.adaptive_max_pool3d(x, 2), "adaptive_max_pool3d", ([2, 2, 2],)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["real", "fake"])
def test_pools_are_the_operators_that_others_know(mode, f, target, rest):
    x = tl.randn(2, 3, 4, 6)
    result = make_fx(f, tracing_mode=mode)(x)
    (node,) = (n for n in result.graph.nodes if str(n.target) == f"aten.{target}.default")
    assert node.args[1:] == rest
    assert tl.equal(result(x), f(x))


def test_a_table_replaces_operators_that_others_know():
    table = {aten.avg_pool2d.default: lambda x, *rest: x.sin()}
    result = make_fx(lambda x: functional.avg_pool2d(x, 2), decomposition_table=table)(tl.randn(1, 4, 4))
    assert targets(result) == ["aten.sin.default"]


class Pair(tl.Tensor):
    """Two tensors that are computed with side by side."""

    @staticmethod
    def __new__(cls, a, b):
        return tl.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype, device=a.device)

    def __init__(self, a, b):
        self.parts = a, b

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def part(i):
            return tree_map(lambda x: x.parts[i] if isinstance(x, Pair) else x, args)

        return cls(func(*part(0), **(kwargs or {})), func(*part(1), **(kwargs or {})))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_tensors_that_stand_for_others_are_taken_apart(mode):
    def f(a, b, y):
        return (Pair(a, b) * y).parts

    a, b, y = tl.randn(3), tl.randn(3), tl.randn(3)
    result = make_fx(f, tracing_mode=mode)(a, b, y)
    assert targets(result) == ["aten.mul.Tensor", "aten.mul.Tensor"]
    assert all(map(tl.equal, result(y, a, b), (y * b, a * b)))


def test_values_of_traced_tensors():
    with pytest.raises(RuntimeError, match="data-dependent"):
        make_fx(lambda x: x if x.sum() > 0 else -x)(tl.ones(2))
    assert get_proxy_mode() is None


def test_structure_that_depends_on_sizes_is_refused():
    with pytest.raises(RuntimeError, match="depend on the sizes"):
        make_fx(lambda x: x.sin() if x.shape[0] < 5 else x.cos(), tracing_mode="symbolic")(tl.ones(3))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_constant_that_is_written_is_new_at_each_run(mode):
    def counted(x):
        y = tl.tensor(3.0)
        y.add_(1)
        return x + y

    gm = make_fx(counted, tracing_mode=mode)(tl.zeros(2))
    assert "aten.lift_fresh_copy.default" in targets(gm)
    assert [gm(tl.zeros(2)).tolist() for _ in range(2)] == [[4.0, 4.0]] * 2


def test_graphs_are_lazy_where_that_is_asked_for():
    from tl_compiler.fx._lazy_graph_module import _LazyGraphModule, _use_lazy_graph_module

    with _use_lazy_graph_module(True):
        gm = make_fx(tl.sin)(tl.ones(2))
    assert isinstance(gm, _LazyGraphModule) and gm._needs_recompile()
    assert tl.equal(gm(tl.ones(2)), tl.ones(2).sin()) and not gm._needs_recompile()


def test_the_code_of_an_overload_whose_name_is_a_keyword() -> None:
    graph = make_fx(lambda x: x.clone().random_(2, 5))(tl.ones(40))
    assert 'getattr(torch.ops.aten.random_, "from")' in graph.code
    values = graph(tl.ones(40))
    assert values.min() >= 2 and values.max() < 5
