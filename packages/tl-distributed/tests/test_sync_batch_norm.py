"""SyncBatchNorm on several ranks, which are threads here, equals BatchNorm of the joined batch."""

from __future__ import annotations

import copy

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_autograd import grad
from tl_distributed.parallel import DistributedDataParallel

PLAIN = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
SHAPES = {2: (), 3: (5,), 4: (3, 2), 5: (2, 3, 2)}
SPLITS = {"even": [4, 4], "uneven": [1, 6], "empty": [0, 5], "three": [2, 0, 3]}


def join_inputs(dims, dtype=tl.float64, count=8, offset=3.0):
    generator = tl.Generator().manual_seed(dims)
    shape = (count, 4, *SHAPES[dims])
    inputs = tl.randn(shape, generator=generator, dtype=tl.float64) * 2 + offset
    return inputs.to(dtype), tl.randn(shape, generator=generator, dtype=tl.float64).to(dtype)


def layer(kind, dtype, **options):
    norm = kind(4, dtype=dtype, **options)
    with tl.no_grad():
        for number, parameter in enumerate(norm.parameters()):
            parameter.copy_(tl.linspace(0.5, 2, 4) - number)
    return norm


def run(made, inputs, gradient):
    """Output, gradient of the input, gradients of the parameters, running statistics."""
    leaf = inputs.detach().clone().requires_grad_()
    made.zero_grad()
    result = made(leaf)
    result.backward(gradient)
    for_parameters = [p.grad.to(p.dtype) for p in made.parameters()]
    return result.detach(), leaf.grad, for_parameters, [b.clone() for b in made.buffers()]


def compare(ranks, dims, split, dtype=tl.float64, steps=2, prepare=lambda t: t, tolerance=1e-9, **options):
    sizes = SPLITS[split]
    inputs, gradients = join_inputs(dims, dtype, sum(sizes))
    expected = layer(PLAIN[dims], dtype, **options)
    references = [run(expected, inputs + step, gradients) for step in range(steps)]

    def body(rank):
        norm = layer(nn.SyncBatchNorm, dtype, **options)
        mine = [prepare(t.split(sizes)[rank]) for t in (inputs, gradients)]
        return [run(norm, mine[0] + step, mine[1]) for step in range(steps)]

    results = ranks(len(sizes), body)

    def close(a, b):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert tl.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance), (a, b)

    for step, (result, for_input, for_parameters, buffers) in enumerate(references):
        mine = [each[step] for each in results]
        close(tl.cat([each[0] for each in mine]), result)
        close(tl.cat([each[1] for each in mine]), for_input)
        for number, parameter in enumerate(for_parameters):
            close(sum(each[2][number] for each in mine), parameter)
        for each in mine:
            for own, other in zip(each[3], buffers, strict=True):
                close(own, other)
    return results


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("dims", SHAPES)
def test_it_is_that_of_the_joined_batch(ranks, dims, split):
    compare(ranks, dims, split)


@pytest.mark.parametrize(
    "options",
    [
        {"affine": False},
        {"momentum": None},
        {"momentum": 0.7},
        {"track_running_stats": False},
        {"bias": False},
        {"eps": 0.5},
    ],
    ids=lambda o: next(iter(o)),
)
def test_options(ranks, options):
    compare(ranks, 3, "uneven", steps=3, **options)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(tl.float32, 2e-5), (tl.float16, 2e-2), (tl.bfloat16, 1e-1)]
)
def test_other_types(ranks, dtype, tolerance):
    compare(ranks, 4, "uneven", dtype=dtype, tolerance=tolerance, steps=1)


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16])
def test_half_inputs_with_single_parameters(ranks, dtype):
    inputs, gradients = join_inputs(4, dtype)
    expected = layer(nn.BatchNorm2d, tl.float32)
    result, for_input, for_parameters, buffers = run(expected, inputs, gradients)

    def body(rank):
        return run(layer(nn.SyncBatchNorm, tl.float32), inputs.chunk(2)[rank], gradients.chunk(2)[rank])

    first, second = ranks(2, body)
    assert first[0].dtype == dtype and first[2][0].dtype == tl.float32
    assert tl.allclose(tl.cat([first[0], second[0]]).float(), result.float(), rtol=1e-2, atol=1e-2)
    assert tl.allclose(tl.cat([first[1], second[1]]).float(), for_input.float(), rtol=1e-2, atol=1e-2)
    assert tl.allclose(first[2][0] + second[2][0], for_parameters[0], rtol=1e-3, atol=1e-3)
    assert tl.allclose(first[3][0], buffers[0], rtol=1e-4)


@pytest.mark.parametrize("dims", [4, 5])
def test_layouts_with_channels_last_stay(ranks, dims):
    layout = tl.channels_last if dims == 4 else tl.channels_last_3d
    result = compare(ranks, dims, "even", prepare=lambda t: t.contiguous(memory_format=layout))
    for steps in result:
        assert all(step[0].is_contiguous(memory_format=layout) for step in steps)
        assert all(step[1].is_contiguous(memory_format=layout) for step in steps)


def test_inputs_that_are_expanded_or_transposed(ranks):
    inputs = tl.arange(24.0, dtype=tl.float64).reshape(4, 6)
    expected = run(layer(nn.BatchNorm1d, tl.float64), inputs.t(), tl.ones(6, 4, dtype=tl.float64))

    def body(rank):
        mine = inputs.t()[3 * rank : 3 * rank + 3]
        norm = layer(nn.SyncBatchNorm, tl.float64)
        result = norm(mine.requires_grad_(False))
        wide = norm(tl.ones(1, 4, dtype=tl.float64).expand(3, 4) * rank)
        return result, wide

    results = ranks(2, body)
    assert tl.allclose(tl.cat([each[0].detach() for each in results]), expected[0])
    assert results[0][1].shape == (3, 4)


def test_large_means_lose_nothing(ranks):
    inputs, _ = join_inputs(2, tl.float64, 8, offset=1e4)
    expected = nn.BatchNorm1d(4, dtype=tl.float64)(inputs.float().double())

    def body(rank):
        return nn.SyncBatchNorm(4)(inputs.float().chunk(2)[rank]).detach()

    assert tl.allclose(tl.cat(ranks(2, body)).double(), expected, rtol=2e-3, atol=2e-3)


def test_a_group_and_those_outside_of_it(ranks):
    inputs, _ = join_inputs(2, tl.float64, 9)

    def body(rank):
        pair = dist.new_group([0, 2])
        norm = layer(nn.SyncBatchNorm, tl.float64, process_group=pair)
        return norm(inputs.chunk(3)[rank]).detach()

    first, second, third = ranks(3, body)
    plain = layer(nn.BatchNorm1d, tl.float64)
    both = plain(tl.cat([inputs[:3], inputs[6:]])).detach()
    assert tl.allclose(tl.cat([first, third]), both)
    assert tl.allclose(second, layer(nn.BatchNorm1d, tl.float64)(inputs[3:6]).detach())


def test_evaluation_and_a_single_process(ranks):
    inputs, _ = join_inputs(2, tl.float64, 8)

    def body(rank):
        norm = layer(nn.SyncBatchNorm, tl.float64).eval()
        unkept = nn.SyncBatchNorm(4, track_running_stats=False, dtype=tl.float64).eval()
        mine = inputs.chunk(2)[rank]
        if rank == 0:  # no collective: this rank alone calls
            assert tl.equal(norm(mine), layer(nn.BatchNorm1d, tl.float64).eval()(mine))
            assert tl.allclose(unkept(mine), nn.BatchNorm1d(4, dtype=tl.float64)(mine))
        return True

    assert all(ranks(2, body))
    alone = layer(nn.SyncBatchNorm, tl.float64)
    assert tl.equal(alone(inputs), layer(nn.BatchNorm1d, tl.float64)(inputs))


def test_in_data_parallel_training(ranks):
    inputs, targets = join_inputs(4, tl.float64, 8)
    tl.manual_seed(3)
    initial = nn.Sequential(
        nn.Conv2d(4, 4, 1, dtype=tl.float64),
        nn.BatchNorm2d(4, dtype=tl.float64),
        nn.Tanh(),
        nn.Conv2d(4, 4, 1, dtype=tl.float64),
    )

    def train(model, x, y, module):
        for _ in range(3):
            model.zero_grad()
            (model(x) - y).square().mean().backward()
            with tl.no_grad():
                for parameter in module.parameters():
                    parameter -= 0.1 * parameter.grad
        return [t.detach() for t in (*module.parameters(), *module.buffers())]

    plain = copy.deepcopy(initial)
    expected = train(plain, inputs, targets, plain)

    def body(rank):
        module = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(initial))
        assert isinstance(module[1], nn.SyncBatchNorm)
        model = DistributedDataParallel(module)
        return train(model, inputs.chunk(2)[rank], targets.chunk(2)[rank], module)

    first, second = ranks(2, body)
    for a, b, c in zip(first, second, expected, strict=True):
        assert tl.equal(a, b) and tl.allclose(a, c, rtol=1e-9, atol=1e-11)


def test_without_gradients(ranks):
    inputs, _ = join_inputs(2, tl.float64, 8)

    def body(rank):
        with tl.no_grad():
            result = layer(nn.SyncBatchNorm, tl.float64)(inputs.chunk(2)[rank])
        assert not result.requires_grad
        frozen = layer(nn.SyncBatchNorm, tl.float64)
        frozen(inputs.chunk(2)[rank]).sum().backward()  # the input needs none: no collective in the backward
        return result, frozen.bias.grad

    first, second = ranks(2, body)
    assert tl.allclose(tl.cat([first[0], second[0]]), layer(nn.BatchNorm1d, tl.float64)(inputs).detach())
    assert first[1].tolist() == [4] * 4


def test_gradients_of_gradients_are_refused(ranks):
    def body(rank):
        leaf = tl.randn(3, 4).requires_grad_()
        (gradient,) = grad(layer(nn.SyncBatchNorm, tl.float32)(leaf).square().sum(), leaf, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            gradient.sum().backward()

    ranks(2, body)


def test_errors(ranks):
    def body(rank):
        norm = nn.SyncBatchNorm(4)
        with pytest.raises(ValueError, match="at least 2D input"):
            norm(tl.ones(4))
        with pytest.raises(RuntimeError, match="expected 4 channels"):
            norm(tl.ones(2, 3))
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            norm(tl.ones(1 - rank, 4))
        with pytest.raises(TypeError, match="must be a group of processes, got int"):
            nn.SyncBatchNorm(4, process_group=3)(tl.ones(2, 4))
        assert norm(tl.ones(0, 4)).shape == (0, 4)
        assert norm.running_mean.tolist() == [0] * 4 and norm.running_var.tolist() == [1] * 4

    ranks(2, body)
