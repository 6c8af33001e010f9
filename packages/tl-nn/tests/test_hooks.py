"""Hooks around a module's call and in its backward."""

import copy
import pickle
import warnings
from collections import OrderedDict

import pytest

import tl_autograd
import tl_core as tl
import tl_nn as nn
from tl_autograd.hooks import RemovableHandle
from tl_nn.modules import module as module_file


class Scaled(nn.Module):
    """Multiplies by a keyword argument."""

    def forward(self, input, factor=1.0):
        return input * factor


def test_hooks_run_in_order():
    layer, records = nn.Identity(), []
    for name in ("first", "second"):
        layer.register_forward_pre_hook(lambda module, args, name=name: records.append("pre " + name))
        layer.register_forward_hook(lambda module, args, output, name=name: records.append(name))
    layer.register_forward_pre_hook(lambda module, args: records.append("pre zeroth"), prepend=True)
    layer.register_forward_hook(lambda module, args, output: records.append("zeroth"), prepend=True)
    assert layer(1) == 1
    assert records == ["pre zeroth", "pre first", "pre second", "zeroth", "first", "second"]


def test_hooks_change_arguments_and_output():
    layer = Scaled()
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"factor": kwargs["factor"] * 2}), with_kwargs=True
    )
    layer.register_forward_hook(lambda module, args, output: output + 0.5)
    layer.register_forward_hook(
        lambda module, args, kwargs, output: (output, kwargs["factor"]), with_kwargs=True
    )
    assert layer(1.0, factor=3.0) == (12.5, 6.0)


def test_pre_hook_with_kwargs_must_return_a_pair():
    layer = nn.Identity()
    layer.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\)"):
        layer(1)


def test_removed_hooks_leave_nothing():
    layer = nn.Identity()
    handles = [
        layer.register_forward_pre_hook(lambda *args: None, with_kwargs=True),
        layer.register_forward_hook(lambda *args: None, with_kwargs=True, always_call=True),
        layer.register_full_backward_hook(lambda *args: None),
        layer.register_full_backward_pre_hook(lambda *args: None),
    ]
    for handle in handles:
        handle.remove()
        handle.remove()
    state = vars(layer)
    assert not any(state[name] for name in state if "hooks" in name)


def test_handle_as_context_manager():
    layer = nn.Identity()
    with layer.register_forward_hook(lambda module, args, output: output + 1):
        assert layer(1) == 2
    assert layer(1) == 1


def test_handle_survives_pickle_and_its_owner():
    hooks = OrderedDict()
    handle = RemovableHandle(hooks)
    hooks[handle.id] = "hook"
    twin = pickle.loads(pickle.dumps(handle))
    assert twin.id == handle.id
    del hooks
    handle.remove()


def test_always_called_hook_runs_after_an_error():
    layer, records = nn.Linear(2, 2), []
    layer.register_forward_hook(lambda module, args, output: records.append("plain"))
    layer.register_forward_hook(lambda module, args, output: records.append(output), always_call=True)
    with pytest.raises(RuntimeError):
        layer(tl.zeros(1, 3))
    assert records == [None]
    layer(tl.zeros(1, 2))
    assert records[1] == "plain" and records[2].shape == (1, 2)


def test_error_in_an_always_called_hook_is_a_warning():
    layer = nn.Linear(2, 2)

    def fail(module, args, output):
        raise KeyError("inner")

    layer.register_forward_hook(fail, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(RuntimeError):
        layer(tl.zeros(1, 3))
    with pytest.raises(KeyError, match="inner"):
        layer(tl.zeros(1, 2))


def test_full_backward_hook_sees_and_replaces():
    layer, records = nn.Linear(2, 3, bias=False), []
    with tl.no_grad():
        layer.weight.fill_(1.0)

    def hook(module, grad_input, grad_output):
        records.append((module, grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    layer.register_full_backward_hook(hook)
    x = tl.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert records == [(layer, [[3.0, 3.0]], [[1.0, 1.0, 1.0]])]
    assert x.grad.tolist() == [[30.0, 30.0]]
    assert layer.weight.grad.tolist() == [[1.0, 1.0]] * 3


def test_full_backward_pre_hook_replaces_before():
    layer = nn.Linear(1, 1, bias=False)
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 5,))
    x = tl.ones(1, 1, requires_grad=True)
    layer(x).sum().backward()
    assert layer.weight.grad.item() == 5.0


def test_backward_hooks_of_several_values():
    class Pair(nn.Module):
        def forward(self, left, number, right):
            return left * number, right * 2, "text"

    pair, records = Pair(), []
    pair.register_full_backward_hook(lambda module, grad_in, grad_out: records.append((grad_in, grad_out)))
    left, right = tl.ones(2, requires_grad=True), tl.ones(3, requires_grad=True)
    first, second, text = pair(left, 4.0, right)
    assert text == "text"
    (first.sum() + second.sum()).backward()
    ((grad_in, grad_out),) = records
    assert grad_in[0].tolist() == [4.0, 4.0] and grad_in[1] is None and grad_in[2].tolist() == [2.0] * 3
    assert grad_out[0].tolist() == [1.0, 1.0] and grad_out[2] is None


def test_backward_hook_without_differentiable_inputs():
    layer, records = nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda module, grad_in, grad_out: records.append(grad_in))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(tl.ones(1, 2)).sum().backward()
    assert records == [(None,)]


def test_backward_hook_must_keep_the_number():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, grad_in, grad_out: (None, None, None))
    out = layer(tl.ones(1, 2, requires_grad=True)).sum()
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 3, but expected 1"):
        out.backward()


def test_backward_hooks_are_off_without_gradients():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *args: pytest.fail("ran"))
    with tl.no_grad():
        assert not layer(tl.ones(1, 2, requires_grad=True)).requires_grad


def test_partial_backward_hook():
    layer, records = nn.Tanh(), []
    layer.register_backward_hook(lambda module, grad_in, grad_out: records.append(grad_out[0].tolist()))
    layer(tl.zeros(2, requires_grad=True)).sum().backward()
    assert records == [[1.0, 1.0]]


def test_partial_and_full_hooks_exclude_each_other():
    layer = nn.Tanh()
    layer.register_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        layer.register_full_backward_hook(lambda *args: None)


def test_global_hooks():
    layer, records = nn.Tanh(), []
    layer.register_forward_hook(lambda *args: records.append("own"))
    pre = module_file.register_module_forward_pre_hook(lambda module, args: records.append("pre"))
    post = module_file.register_module_forward_hook(
        lambda module, args, kwargs, output: records.append("global"), with_kwargs=True
    )
    backward = module_file.register_module_full_backward_hook(lambda *args: records.append("backward"))
    backward_pre = module_file.register_module_full_backward_pre_hook(
        lambda *args: records.append("backward pre")
    )
    with pre, post, backward, backward_pre:
        layer(tl.zeros(1, requires_grad=True)).sum().backward()
    assert records == ["pre", "global", "own", "backward pre", "backward"]
    layer(tl.zeros(1))
    assert records[-1] == "own"


def test_global_partial_and_full_hooks_exclude_each_other():
    refused = pytest.raises(RuntimeError, match="as a global Module hook")
    with module_file.register_module_backward_hook(lambda *args: None), refused:
        module_file.register_module_full_backward_hook(lambda *args: None)
    with module_file.register_module_full_backward_hook(lambda *args: None), refused:
        module_file.register_module_backward_hook(lambda *args: None)


def test_copies_keep_their_hooks():
    layer = nn.Linear(1, 1)
    layer._register_load_state_dict_pre_hook(count_loads, with_module=True)
    twin = copy.deepcopy(layer)
    twin.load_state_dict(layer.state_dict())
    assert twin.loads == 1 and not hasattr(layer, "loads")


def count_loads(module, *args):
    module.loads = getattr(module, "loads", 0) + 1


class _Forward(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.forward = forward


@pytest.mark.parametrize(
    ("forward", "args", "reason"),
    [
        (lambda given: given[0] * 2, lambda x: ([x],), "does not take as input a single Tensor"),
        (lambda x: [x * 2], lambda x: (x,), "does not return a single Tensor"),
        (lambda x: (x * 2, x * 3), lambda x: (x,), "outputs are generated by different autograd Nodes"),
        (lambda x: x * 2 * 3, lambda x: (x,), "the forward contains multiple autograd Nodes"),
    ],
)
def test_partial_backward_hooks_say_what_they_miss(forward, args, reason):
    module = _Forward(forward)
    module.register_backward_hook(lambda *_: None)
    with pytest.warns(FutureWarning, match=reason):
        module(*args(tl.ones(2, requires_grad=True)))


def test_partial_backward_hooks_of_one_operation_do_not_warn():
    module, records = _Forward(lambda x: x * 2), []
    module.register_backward_hook(lambda module, grad_in, grad_out: records.append(grad_out))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module(tl.ones(2, requires_grad=True) * 1).sum().backward()
    assert len(records) == 1


def test_backward_hooks_and_second_derivatives():
    """The second backward comes to the inputs without the outputs: no hook is called, and nothing is refused."""
    calls = []
    loss = nn.MSELoss()
    loss.register_full_backward_hook(lambda module, grad_in, grad_out: calls.append(1))
    x, y = tl.rand(2, requires_grad=True), tl.rand(2)
    (first,) = tl_autograd.grad(loss(x, y), x, create_graph=True)
    (second,) = tl_autograd.grad(first.sum(), x)
    assert len(calls) == 1 and tl.allclose(second, tl.ones(2))


def test_pre_hooks_of_a_module_that_writes_its_result():
    class Sums(nn.Module):
        def forward(self, x):
            result = tl.zeros_like(x[0])
            for row in x:
                result += row
            return result

    module, records = Sums(), []
    module.register_full_backward_pre_hook(lambda _, grads: records.append(grads[0].tolist()))
    x = tl.ones(2, 3, requires_grad=True)
    module(x).sum().backward()
    assert records == [[1.0, 1.0, 1.0]] and x.grad.tolist() == [[1.0] * 3] * 2
