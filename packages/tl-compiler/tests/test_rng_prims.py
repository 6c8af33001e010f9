"""`torch._prims.rng_prims` and `torch._prims.executor`; the numbers are those of PyTorch 2.13."""

import pytest

import tl_core as tl
from tl_compiler.compat.prims_executor import execute, make_traced
from tl_compiler.compat.rng_prims import run_and_save_rng_state, run_with_rng_state
from tl_compiler.tracer.make_fx import make_fx
from tl_core.operators.packets import aten

# torch.manual_seed(0), then rand_like of three numbers, then rand(1), then rand(2).
FIRST, NEXT, LAST = [0.4963, 0.7682, 0.0885], [0.1320], [0.3074, 0.6341]


def near(result, numbers):
    return tl.allclose(result, tl.tensor(numbers), atol=1e-4)


def test_a_state_gives_its_numbers_again():
    tl.manual_seed(0)
    state, result = run_and_save_rng_state(aten.rand_like.default, tl.zeros(3))
    assert state.shape == (5056,) and near(result, FIRST) and near(tl.rand(1), NEXT)
    assert near(run_with_rng_state(state, aten.rand_like.default, tl.zeros(3)), FIRST)
    assert near(run_and_save_rng_state(aten.rand.default, [2], device=tl.device("cpu"))[1], LAST)


def test_an_error_leaves_the_generator_as_it_was():
    state = tl.get_rng_state()
    tl.rand(5)
    before = tl.get_rng_state()
    with pytest.raises(RuntimeError):
        run_with_rng_state(state, aten.bernoulli.p, tl.zeros(3), 2.0)
    assert tl.equal(tl.get_rng_state(), before)


def twice(x):
    state, result = run_and_save_rng_state(aten.rand_like.default, x, dtype=tl.float64)
    return result, run_with_rng_state(state, aten.rand_like.default, x, dtype=tl.float64)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_graphs_have_one_node_for_a_call(mode):
    graph = make_fx(twice, tracing_mode=mode)(tl.zeros(3))
    calls = [n for n in graph.graph.nodes if n.target in (run_and_save_rng_state, run_with_rng_state)]
    assert [n.args[-2:] for n in calls] == [
        (aten.rand_like.default, calls[0].args[-1]),
        (aten.rand_like.default, calls[0].args[-1]),
    ]
    assert [n.kwargs for n in calls] == [{"dtype": tl.float64}] * 2
    tl.manual_seed(0)
    first, second = graph(tl.zeros(3))
    assert tl.equal(first, second) and first.dtype == tl.float64


def test_derivatives_raise():
    x = tl.ones(3, requires_grad=True)
    state, result = run_and_save_rng_state(aten.bernoulli.p, x, 0.5)
    assert result.requires_grad and not state.requires_grad
    with pytest.raises(RuntimeError, match="Autograd not implemented for run_and_save_rng_state"):
        result.sum().backward()
    with pytest.raises(RuntimeError, match="Autograd not implemented for run_with_rng_state"):
        run_with_rng_state(state, aten.bernoulli.p, x, 0.5).sum().backward()


@pytest.mark.parametrize("args", [([2],), (tl.zeros(2, device="meta"),)])
def test_devices_without_a_generator(args):
    with pytest.raises(AssertionError, match="Backend not supported for"):
        run_and_save_rng_state(aten.rand_like.default, *args)


def test_executor():
    types = []

    def scale(x, y=1):
        types.append(type(x))
        return {"out": x * 2 + y}

    function = make_traced(scale)
    for _ in range(2):
        assert function(tl.ones(2), y=tl.ones(2), executor="aten")["out"].tolist() == [3, 3]
    assert len(types) == 2
    with pytest.raises(ValueError, match="Allowed values are: aten"):
        function(tl.ones(2), executor="nvfuser")
    assert execute(make_fx(lambda x: x - 1)(tl.ones(2)), tl.ones(2)).tolist() == [0, 0]
