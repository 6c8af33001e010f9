"""Checkpoints give the same gradients and random numbers as the plain call, and save less."""

import functools
import gc
import warnings
import weakref

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import checkpoint as cp
from tl_autograd import graph
from tl_autograd.checkpoint_log import OperatorLog, explanation
from tl_core.operators import packets as ops


def gradients(call, x, w):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    y = call(x, w)
    y.sum().backward()
    return y.detach(), x.grad, w.grad


def layer(x, w):
    return tl.dropout(x @ w, 0.5, True).sigmoid() * x


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_and_random_numbers_agree(reentrant):
    x, w = tl.randn(4, 4), tl.randn(4, 4)
    tl.manual_seed(3)
    plain = gradients(layer, x, w)
    after = tl.rand(1)
    tl.manual_seed(3)
    again = gradients(lambda x, w: cp.checkpoint(layer, x, w, use_reentrant=reentrant), x, w)
    assert all(tl.equal(a, b) for a, b in zip(plain, again, strict=True))
    assert tl.equal(after, tl.rand(1))


def test_what_the_function_saves_dies_with_the_call():
    records = []

    def watched(x):
        middle = x.exp()
        records.append(weakref.ref(middle))
        return middle.sin()

    x = tl.ones(3, requires_grad=True)
    y = cp.checkpoint(watched, x, use_reentrant=False)
    gc.collect()
    assert records[0]() is None
    y.sum().backward()
    want = (tl.ones(3).exp().cos() * tl.ones(3).exp()).tolist()
    assert x.grad.tolist() == pytest.approx(want)
    assert len(records) == 2


def test_it_stops_early_unless_told_otherwise():
    runs = []

    def function(x):
        y = x.exp()
        runs.append("middle")
        y = y.sin()
        runs.append("end")
        return y + 1

    for early, want in ((True, ["middle"]), (False, ["middle", "end"])):
        x = tl.ones(2, requires_grad=True)
        with cp.set_checkpoint_early_stop(early):
            y = cp.checkpoint(function, x, use_reentrant=False)
        runs.clear()
        y.sum().backward()
        assert runs == want


def test_nested_keyword_and_nested_structures():
    inner = lambda x: cp.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False) * 2  # noqa: E731
    x = tl.tensor([0.3], dtype=tl.float64, requires_grad=True)
    cp.checkpoint(
        lambda *, parts: inner(parts["x"][0]).exp(), parts={"x": [x]}, use_reentrant=False
    ).backward()
    result = x.grad.item()
    x.grad = None
    (x.exp().sin() * 2).exp().backward()
    assert result == pytest.approx(x.grad.item())


def test_grad_retained_and_second_order():
    x = tl.tensor([0.5], dtype=tl.float64, requires_grad=True)
    y = cp.checkpoint(lambda t: t.exp() * t, x, use_reentrant=False)
    (g,) = _grad(y, x)
    (second,) = _grad(g, x)
    e = x.exp().item()
    assert g.item() == pytest.approx(1.5 * e) and second.item() == pytest.approx(2.5 * e)
    y = cp.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
    for _ in range(2):
        y.backward(retain_graph=True)
    assert x.grad.item() == pytest.approx(2 * x.exp().cos().item() * e)


def _grad(y, x):
    from tl_autograd import grad

    return grad(y.sum(), [x], create_graph=True)


def test_sequential():
    steps = [tl.Tensor.exp, tl.Tensor.sin, tl.Tensor.cos, tl.Tensor.tanh, lambda x: x * 2]
    for reentrant in (True, False):
        x = tl.tensor([0.1, 0.2], requires_grad=True)
        cp.checkpoint_sequential(steps, 2, x, use_reentrant=reentrant).sum().backward()
        plain = x.detach().requires_grad_()
        (plain.exp().sin().cos().tanh() * 2).sum().backward()
        assert x.grad.tolist() == pytest.approx(plain.grad.tolist())


def test_differing_runs_are_found():
    calls = []

    def fickle(x):
        calls.append(0)
        return x.exp().sin() if len(calls) == 1 else x.exp()

    def growing(x):
        calls.append(0)
        return x.repeat(len(calls)).exp().sum()

    with cp.set_checkpoint_early_stop(False):
        y = cp.checkpoint(fickle, tl.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(
        cp.CheckpointError, match="saved during forward: 2\nNumber of tensors saved during recomp"
    ):
        y.sum().backward()
    calls.clear()
    y = cp.checkpoint(growing, tl.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(
        cp.CheckpointError, match=r"'shape': \(2,\).*\nrecomputed metadata: \{'shape': \(4,\)"
    ):
        y.backward()


def test_wrong_calls():
    x = tl.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed"):
        cp.checkpoint(tl.exp, x)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        cp.checkpoint(tl.exp, x, use_reentrant=False, determinism_check="often")
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        cp.checkpoint(tl.exp, x, use_reentrant=True, a=1)
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        cp.create_selective_checkpoint_contexts(2)
    with pytest.raises(ValueError, match="to be an OpOverload"):
        cp.create_selective_checkpoint_contexts([2])
    with pytest.raises(ValueError, match=r"aten\.sin\.default"):
        cp.create_selective_checkpoint_contexts([ops.aten.sin])
    y = cp.checkpoint(tl.exp, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\)"):
        _grad(y, x)


def test_context_managers_stand_around_both_runs():
    names = []

    class Told:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            names.append(self.name)

        def __exit__(self, *exc):
            pass

    x = tl.ones(2, requires_grad=True)
    y = cp.checkpoint(tl.exp, x, use_reentrant=False, context_fn=lambda: (Told("first"), Told("second")))
    assert names == ["first"]
    y.sum().backward()
    assert names == ["first", "second"]


def test_saved_tensors_may_change_where_that_is_allowed():
    with graph.allow_mutation_on_saved_tensors():
        a = tl.full((2,), 3.0, requires_grad=True)
        b = a.clone()
        c = (b**2).sum()
        b.zero_()
        c.backward()
    assert a.grad.tolist() == [6.0, 6.0]


# ---- selective


def _selective(f, x, policy, **options):
    contexts = functools.partial(cp.create_selective_checkpoint_contexts, policy, **options)
    return cp.checkpoint(f, x, use_reentrant=False, context_fn=contexts)


def test_kept_results_are_not_computed_again():
    x = tl.rand(4, 4, dtype=tl.float64, requires_grad=True)
    runs = []

    def policy(ctx, op, *args, **kwargs):
        runs.append((ctx.is_recompute, str(op)))
        return op is ops.aten.mm.default

    def f(x):
        return (x.cos() @ x).sin().sum()

    (expected,) = _grad(f(x), x)
    for source in (policy, [ops.aten.mm.default]):
        assert _grad(_selective(f, x, source), x)[0].equal(expected)
    assert [op for again, op in runs if not again] == [
        "aten.cos.default",
        "aten.mm.default",
        "aten.sin.default",
        "aten.sum.default",
    ]
    # sin keeps its argument, the last that is needed: the second run ends before it is computed
    assert [op for again, op in runs if again] == ["aten.cos.default", "aten.mm.default"]


def test_results_that_are_kept_may_not_change_unless_that_is_said():
    def f(x):
        return x.sin().mul_(2).cos().exp()

    def grad(**options):
        x = tl.ones(3, requires_grad=True)
        y = _selective(f, x, [ops.aten.sin.default], **options)
        y.sum().backward()
        return x.grad

    with pytest.raises(RuntimeError, match="has been mutated"):
        grad()
    assert grad(allow_cache_entry_mutation=True) is not None


def test_a_second_backward_needs_what_was_given_away():
    x = tl.ones(3, requires_grad=True)
    y = _selective(lambda x: x.sin().cos().exp(), x, [ops.aten.sin.default]).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.backward()


def test_operators_with_several_results_and_policies_of_both_kinds():
    x = tl.rand(5, dtype=tl.float64, requires_grad=True)

    def f(x):
        a, b = tl.var_mean(x)
        return a * b

    (expected,) = _grad(f(x), x)
    for policy in (cp.CheckpointPolicy.MUST_SAVE, cp.CheckpointPolicy.PREFER_RECOMPUTE, True, False):
        assert tl.allclose(_grad(_selective(f, x, lambda *args, said=policy, **kwargs: said), x)[0], expected)
    with pytest.raises(TypeError, match="returns a CheckpointPolicy"):
        _selective(f, x, lambda *args, **kwargs: 1)


def test_gradients_inside_of_a_checkpoint_without_early_stop():
    def inner(x):
        (result,) = tl_autograd.grad(x.sin().exp().sin(), x)
        return x.sin() + result.detach()

    def call(x):
        y = cp.checkpoint(inner, x, use_reentrant=False)
        return tl_autograd.grad(y, x)[0]

    x = tl.tensor(0.3, dtype=tl.float64, requires_grad=True)
    with cp.set_checkpoint_early_stop(False):
        assert tl.allclose(call(x), x.cos())


def test_a_second_run_that_saves_more():
    runs = []

    def grows(x):
        runs.append(1)
        y = x.sin().exp()
        return y.sin() if len(runs) > 1 else y

    with cp.set_checkpoint_early_stop(False):
        y = cp.checkpoint(grows, tl.ones(1, requires_grad=True), use_reentrant=False)
        with pytest.raises(RuntimeError, match="trying to save more tensors during recomputation"):
            y.backward()


def test_what_needs_no_gradient_comes_back_as_it_is():
    records = []

    class Keep(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            records.extend(ctx.saved_tensors)
            return g, None

    x, y = tl.ones(1, requires_grad=True), tl.ones(1)
    cp.checkpoint(Keep.apply, x, y, use_reentrant=False).backward()
    assert records[0] is y


def test_the_operators_of_both_runs_are_told_where_that_is_asked_for():
    def runs(first, second):
        calls = iter((first, second))
        return lambda x: next(calls)(x)

    def failing(**options):
        x = tl.ones(1, requires_grad=True)
        f = runs(lambda x: x.sin().exp(), lambda x: x.sin() * tl.tensor([1.0, 2.0]))
        with pytest.raises(cp.CheckpointError) as caught:
            cp.checkpoint(f, x, use_reentrant=False, **options).backward()
        return str(caught.value)

    message = failing(debug=True)
    assert "because you passed `debug=True` to checkpoint" in message
    assert "float32[1] = aten.exp.default(float32[1])" in message
    again = message.partition("during recomputation")[2]  # which ends where all has been saved
    assert "aten.sin.default" in again and "aten.exp" not in again
    with cp.set_checkpoint_debug_enabled(True):
        assert "Operators executed" in failing()
    with cp.set_checkpoint_debug_enabled(False):
        assert "Operators executed" not in failing(debug=True)
    with pytest.raises(ValueError, match="incompatible with non-default context_fn"):
        cp.checkpoint(lambda x: x, tl.ones(1), use_reentrant=False, debug=True, context_fn=lambda: None)


def test_copies_of_inputs_are_leaves_with_the_same_flags():
    x = tl.ones(2, requires_grad=True)
    moved, constant, other = cp.detach_variable((x * 3, tl.zeros(1), "text"))
    assert moved.is_leaf and moved.requires_grad and moved.tolist() == [3.0, 3.0]
    assert not constant.requires_grad and other == "text"
    with pytest.raises(RuntimeError, match=r"Only tuple of tensors is supported.*list"):
        cp.detach_variable([x])


def test_inputs_without_gradients_are_warned_of():
    with pytest.warns(
        UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"
    ):
        cp.check_backward_validity([tl.ones(1), 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cp.check_backward_validity([tl.ones(1), tl.ones(1, requires_grad=True)])


def test_the_reentrant_function_is_a_function_of_its_own():
    x = tl.tensor([2.0], requires_grad=True)
    y = cp.CheckpointFunction.apply(lambda a, n: a**n, False, x, 3)
    assert type(y.grad_fn).__name__ == "CheckpointFunctionBackward" and y.item() == 8.0
    y.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad"):
        tl_autograd.grad(cp.CheckpointFunction.apply(lambda a: a * a, False, x), x)


def test_random_states_of_devices():
    assert cp.get_device_states(tl.ones(2), tl.empty(1, device="meta"), 3) == ([], [])
    with pytest.raises(NotImplementedError, match="random states of accelerators"):
        cp.set_device_states([0], [tl.get_rng_state()])
    before = tl.get_rng_state()
    cp.set_device_states([], [])
    assert tl.equal(tl.get_rng_state(), before)


def test_the_device_type_of_functions_without_tensors():
    assert cp.DefaultDeviceType.get_device_type() == "cuda" == cp._infer_device_type(1, [])
    cp.DefaultDeviceType.set_device_type("xpu")
    try:
        assert cp._infer_device_type("text") == "xpu" and cp._infer_device_type([tl.ones(1)]) == "cpu"
    finally:
        cp.DefaultDeviceType.set_device_type()
    assert cp.DefaultDeviceType.get_device_type() == "cuda"


def test_contexts_that_do_nothing_are_the_default():
    first, second = cp.noop_context_fn()
    with pytest.raises(ZeroDivisionError), first, second:
        raise ZeroDivisionError
    x = tl.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="incompatible with non-default context_fn"):
        cp.checkpoint(tl.sin, x, use_reentrant=False, debug=True, context_fn=lambda: (first, second))
    y = cp.checkpoint(tl.sin, x, use_reentrant=False, debug=True, context_fn=cp.noop_context_fn)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(x.cos().tolist())


def test_policies_see_the_run():
    runs = []

    def policy(ctx, op, *args, **kwargs):
        assert isinstance(ctx, cp.SelectiveCheckpointContext)
        runs.append((op is ops.aten.exp.default, ctx.is_recompute))
        return cp.CheckpointPolicy.PREFER_RECOMPUTE

    x = tl.ones(2, requires_grad=True)
    contexts = functools.partial(cp.create_selective_checkpoint_contexts, policy)
    cp.checkpoint(lambda a: a.exp().sin(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert (True, False) in runs and (True, True) in runs
    assert cp.SelectiveCheckpointContext(is_recompute=False, op_output=x).op_output is x


def test_logs_of_both_runs():
    first, second = OperatorLog(), OperatorLog()
    with first:
        tl.add(tl.ones(2), tl.ones(3, 2, dtype=tl.float64), alpha=2)
    with second:
        tl.ones(1).neg()
    assert first.lines[-1] == "float64[3, 2] = aten.add.Tensor(float32[2], float64[3, 2], alpha=2)"
    assert second.lines[-1] == "float32[1] = aten.neg.default(float32[1])"
    parts = explanation(first, second).splitlines()
    start, middle = (
        parts.index("Operators executed during the original forward:"),
        parts.index("Operators executed during recomputation:"),
    )
    assert parts[start + 1 : middle] == first.lines and parts[middle + 1 :] == second.lines


def test_a_block_whose_tensors_a_function_recomputes():
    calls = []

    def function(x):
        calls.append(tl.rand(2))
        return (x * calls[-1]).exp()

    x = tl.tensor([0.5, 2.0], requires_grad=True)
    with cp.recomputation(function, (x,), {}):
        y = function(x)
    (grad,) = tl_autograd.grad(y.sum(), x)
    assert len(calls) == 2 and calls[0].tolist() == calls[1].tolist()
    expected = calls[0] * (calls[0] * x.detach()).exp()
    assert grad.tolist() == pytest.approx(expected.tolist())
    with (
        pytest.raises(ValueError, match="determinism_check"),
        cp.recomputation(function, (x,), {}, determinism_check="x"),
    ):
        pass
