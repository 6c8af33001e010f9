"""Wrappers of modules, averages of models and optimizers in parts: equal to plain training."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.futures import Future
from tl_distributed.algorithms._checkpoint.checkpoint_wrapper import (
    ActivationWrapper,
    CheckpointImpl,
    OffloadWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from tl_distributed.algorithms.ddp_comm_hooks import default_hooks
from tl_distributed.algorithms.model_averaging.averagers import ModelAverager
from tl_distributed.algorithms.model_averaging.utils import (
    average_parameters_or_parameter_groups,
    get_params_to_average,
)
from tl_distributed.base.grad_bucket import GradBucket
from tl_distributed.optim.apply_optimizer_in_backward import apply_optimizer_in_backward
from tl_distributed.optim.functional_optimizer import FunctionalOptimizer
from tl_distributed.optim.utils import as_functional_optim, functional_optim_map, register_functional_optim
from tl_distributed.parallel.delayed import reduce_after
from tl_distributed.parallel.mixed_precision import cast
from tl_distributed.parallel.used import used_leaves
from tl_nn.optim import SGD


def mlp():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    with tl.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tl.linspace(-1, 1, parameter.numel()).view(parameter.shape))
    return model


def gradients(model):
    # a reentrant checkpoint needs an input that requires a gradient
    model(tl.tensor([[1.0, -2.0, 3.0]], requires_grad=True)).sum().backward()
    return [parameter.grad.tolist() for parameter in model.parameters()]


@pytest.mark.parametrize(
    "wrap",
    [
        offload_wrapper,
        checkpoint_wrapper,
        lambda module: checkpoint_wrapper(module, CheckpointImpl.REENTRANT),
        lambda module: checkpoint_wrapper(module, CheckpointImpl.NO_REENTRANT),
    ],
)
def test_wrapped_modules_have_the_same_gradients_and_names(wrap):
    plain, model = mlp(), mlp()
    model[0] = wrap(model[0])
    assert isinstance(model[0], ActivationWrapper)
    assert [name for name, _ in model[0].named_parameters()] == ["weight", "bias"]
    assert list(model.state_dict()) == list(plain.state_dict())
    assert model[0].in_features == 3
    assert gradients(model) == gradients(plain)
    model.load_state_dict(plain.state_dict())


def test_wrapping_by_a_check():
    model = mlp()
    apply_activation_checkpointing(
        model, checkpoint_wrapper_fn=offload_wrapper, check_fn=lambda m: isinstance(m, nn.Linear)
    )
    assert [isinstance(module, OffloadWrapper) for module in model] == [True, False, True]
    assert gradients(model) == gradients(mlp())
    with pytest.raises(ValueError, match="Subclasses should implement this"):
        ActivationWrapper(nn.Tanh())(tl.ones(1))


def test_models_are_averaged(ranks):
    def body(rank):
        weights = [nn.Parameter(tl.full((2,), float(rank))), nn.Parameter(tl.full((3,), 10.0 * rank))]
        weights[1].grad = tl.zeros(3)
        assert get_params_to_average(weights) == get_params_to_average([{"params": weights}]) == [weights[1]]
        average_parameters_or_parameter_groups([{"params": weights}], None)
        return [weight.tolist() for weight in weights]

    assert ranks(2, body) == [[[0, 0], [5, 5, 5]], [[1, 1], [5, 5, 5]]]
    with pytest.raises(NotImplementedError, match="got int"):
        get_params_to_average([3])
    with pytest.raises(TypeError, match="abstract"):
        ModelAverager()


def test_compressed_gradients_are_rounded_to_halves(world):
    sizes = []

    def hook(state, bucket):
        sizes.append(bucket.buffer().dtype)
        future = Future()
        future.set_result(bucket.buffer())
        return future

    buffer = tl.tensor([1.0, 1 + 2.0**-12])
    result = default_hooks.fp16_compress_wrapper(hook)(
        None, GradBucket(0, buffer, [tl.zeros(2)], True)
    ).wait()
    assert sizes == [tl.float16] and result.tolist() == [1, 1] and result.dtype == tl.float32


def test_optimizers_in_the_backward_pass():
    plain, model = mlp(), mlp()
    optimizer = SGD(plain.parameters(), lr=0.1)
    gradients(plain)
    optimizer.step()
    apply_optimizer_in_backward(SGD, model.parameters(), {"lr": 0.1})
    model(tl.tensor([[1.0, -2.0, 3.0]])).sum().backward()
    for own, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert tl.allclose(own, other) and own.grad is None


def test_optimizers_that_are_handed_gradients():
    weight = nn.Parameter(tl.tensor([1.0, 2.0]))
    optimizer = FunctionalOptimizer(SGD, [weight], lr=0.5)
    optimizer.step([tl.tensor([2.0, 4.0])])
    optimizer.step([None])
    assert weight.tolist() == [0, 0] and weight.grad is None
    with pytest.raises(ValueError, match="Gradients length: 0"):
        optimizer.step([])
    with pytest.raises(ValueError, match="empty parameter list"):
        FunctionalOptimizer(SGD, [])


def test_optimizers_of_other_packages():
    class Mine(SGD):
        pass

    with pytest.raises(ValueError, match="does not have a functional counterpart"):
        as_functional_optim(Mine, [])
    register_functional_optim(Mine, lambda params, **options: ("mine", params, options))
    try:
        assert as_functional_optim(Mine, [1], lr=2) == ("mine", [1], {"lr": 2})
    finally:
        del functional_optim_map[Mine]


def test_leaves_that_outputs_depend_on():
    a, b, c = (tl.ones(2, requires_grad=True) for _ in range(3))
    product = a * b
    assert used_leaves({"x": [product]}) == used_leaves((product, product + 1)) == {id(a), id(b)}
    assert used_leaves([c, 3, None]) == {id(c)}
    assert used_leaves(product.detach()) == set()


class Pair(NamedTuple):
    first: Any
    second: Any


def test_inputs_in_another_type():
    x, n = tl.ones(2), tl.ones(2, dtype=tl.int64)
    result = cast({"a": [x, n], "b": (x, 3)}, tl.bfloat16)
    assert [result["a"][0].dtype, result["a"][1].dtype, result["b"][0].dtype] == [
        tl.bfloat16,
        tl.int64,
        tl.bfloat16,
    ]
    assert result["b"][1] == 3 and cast(x, None) is x
    pair = cast(Pair(x, 3), tl.bfloat16)
    assert type(pair) is Pair and (pair.first.dtype, pair.second) == (tl.bfloat16, 3)


def test_gradients_of_some_parameters_are_averaged_last(ranks):
    def body(rank):
        first, second = (nn.Parameter(tl.ones(2)) for _ in range(2))
        reduce_after([("second", second)], [first, second], dist.group.WORLD)
        ((rank + 1.0) * (first + second)).sum().backward()
        return first.grad.tolist(), second.grad.tolist()

    assert ranks(2, body) == [([1, 1], [1.5, 1.5]), ([2, 2], [1.5, 1.5])]
