"""GradScaler: its factor against the rule it follows, its order of calls."""

from __future__ import annotations

import pickle

import pytest

import tl_autograd  # noqa: F401 - gives tensors their gradients
import tl_core as tl
import tl_nn as nn
from tl_amp import GradScaler
from tl_amp import cpu as cpu_amp
from tl_amp import cuda as cuda_amp
from tl_amp.grad_scaler import DeprecatedGradScaler, OptState


@pytest.fixture
def weight():
    return nn.Parameter(tl.tensor([1.0, 2.0]))


@pytest.fixture
def optimizer(weight):
    return nn.optim.SGD([weight], lr=0.5)


def backward(scaler, weight, factor=1.0):
    """The gradient of each element is `factor`."""
    weight.grad = None
    scaler.scale((weight * factor).sum()).backward()


def test_a_step_is_that_of_plain_training(weight, optimizer):
    scaler = GradScaler("cpu", init_scale=2.0**10)
    backward(scaler, weight, 3.0)
    assert weight.grad.tolist() == [3 * 2**10] * 2
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1 - 1.5, 2 - 1.5]
    assert weight.grad.tolist() == [3, 3]


@pytest.mark.parametrize("factor", [3.0, float("inf")])
def test_sparse_gradients_are_divided(factor):
    layer = nn.Embedding.from_pretrained(tl.ones(3, 2), freeze=False, sparse=True)
    optimizer, scaler = nn.optim.SparseAdam(layer.parameters(), lr=0.5), GradScaler("cpu", init_scale=4.0)
    scaler.scale((layer(tl.tensor([1])) * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert layer.weight.grad._values().tolist() == [[factor] * 2]
    assert layer.weight[1].tolist() == [0.5 if factor == 3 else 1.0] * 2


def test_the_factor_grows_and_shrinks(weight, optimizer):
    scaler = GradScaler("cpu", init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
    finite, infinite = 1.0, float("inf")
    for factor, expected in [
        (finite, 4.0),
        (finite, 12.0),
        (finite, 12.0),
        (infinite, 3.0),
        (finite, 3.0),
        (float("nan"), 0.75),
        (finite, 0.75),
        (finite, 2.25),
    ]:
        before = weight.tolist()
        backward(scaler, weight, factor)
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == expected
        assert (weight.tolist() == before) == (factor != finite)


def test_gradients_may_be_clipped_between(weight, optimizer):
    scaler = GradScaler("cpu", init_scale=8.0)
    backward(scaler, weight, 4.0)
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [4, 4]
    weight.grad.clamp_(max=1)
    scaler.step(optimizer)
    assert weight.tolist() == [0.5, 1.5]
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    scaler.update()
    backward(scaler, weight)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)


def test_one_optimizer_of_two_is_left_out(weight, optimizer):
    other = nn.Parameter(tl.ones(1))
    second = nn.optim.SGD([other], lr=1.0)
    scaler = GradScaler("cpu", init_scale=4.0)
    scaler.scale(weight.sum()).backward()
    scaler.scale(other.sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.step(second)
    scaler.update()
    assert weight.tolist() == [0.5, 1.5] and other.tolist() == [1]
    assert scaler.get_scale() == 2.0


def test_the_result_of_the_step(weight):
    class Told(nn.optim.SGD):
        def step(self, *args, **kwargs):
            super().step()
            return args, kwargs

    optimizer = Told([weight], lr=1.0)
    scaler = GradScaler("cpu")
    backward(scaler, weight)
    assert scaler.step(optimizer, 1, a=2) == ((1,), {"a": 2})


def test_outputs_keep_their_structure():
    scaler = GradScaler("cpu", init_scale=2.0)
    first, (second, third) = scaler.scale([tl.ones(1), (tl.ones(2), tl.ones(()))])
    assert (first.tolist(), second.tolist(), third.item()) == ([2], [2, 2], 2)
    with pytest.raises(ValueError, match="got int"):
        scaler.scale(3)


@pytest.mark.parametrize("new", [16.0, 16, tl.tensor(16.0), tl.tensor([16.0])])
def test_a_factor_of_ones_own(weight, new):
    scaler = GradScaler("cpu")
    scaler.scale(weight.sum())
    scaler.update(new)
    assert scaler.get_scale() == 16.0
    with pytest.raises(AssertionError, match="new_scale must be a number"):
        scaler.update(tl.ones(2))


def test_the_order_of_calls(weight, optimizer):
    scaler = GradScaler("cpu")
    for call in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), scaler.update):
        with pytest.raises(AssertionError, match=r"call scale\(\) on a loss first"):
            call()
    scaler.scale(weight.sum())
    with pytest.raises(AssertionError, match="no optimizer has been stepped"):
        scaler.update()
    with pytest.raises(AssertionError, match="no parameter of this optimizer has a gradient"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="Closure"):
        scaler.step(optimizer, closure=lambda: 1)


def test_float16_gradients_are_refused():
    half = nn.Parameter(tl.ones(2, dtype=tl.float16))
    optimizer = nn.optim.SGD([half], lr=1.0)
    scaler = GradScaler("cpu", init_scale=2.0)
    backward(scaler, half)
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(optimizer)


def test_the_factor_does_not_overflow(weight, optimizer):
    scaler = GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    backward(scaler, weight, 2.0**-100)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**127


def test_a_run_goes_on(weight, optimizer):
    first = GradScaler("cpu", init_scale=4.0, growth_interval=2)
    backward(first, weight)
    first.step(optimizer)
    with pytest.raises(AssertionError, match="pickled"):
        pickle.dumps(first)
    first.update()
    expected = {
        "scale": 4.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2,
        "_growth_tracker": 1,
    }
    assert first.state_dict() == expected
    second = GradScaler("cpu")
    second.load_state_dict(expected)
    for scaler in (second, pickle.loads(pickle.dumps(first))):
        assert scaler.state_dict() == expected
        backward(scaler, weight)
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 8.0
    with pytest.raises(RuntimeError, match="empty"):
        second.load_state_dict({})


def test_a_scaler_that_is_switched_off(weight, optimizer):
    scaler = GradScaler("cpu", enabled=False)
    loss = weight.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 1.5]
    assert (scaler.is_enabled(), scaler.get_scale(), scaler.state_dict()) == (False, 1.0, {})
    scaler.load_state_dict({})


def test_a_device_that_is_not_there():
    with pytest.warns(UserWarning, match="'cuda' is not available"):
        assert not GradScaler().is_enabled()
    with pytest.warns(FutureWarning, match="deprecated"):
        assert not cuda_amp.GradScaler(enabled=False).is_enabled()
    with pytest.warns(FutureWarning, match="deprecated"):
        assert cpu_amp.GradScaler().is_enabled()


def test_settings():
    for wrong in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(AssertionError, match=next(iter(wrong))):
            GradScaler("cpu", **wrong)
    scaler = GradScaler("cpu")
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.1)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (
        4.0,
        0.1,
        7,
    )


class _Dividing(nn.optim.SGD):
    """Divides by the factor itself, as the attributes tell it."""

    _step_supports_amp_scaling = True

    def step(self, closure=None):
        self.told = self.grad_scale, self.found_inf.item()


def test_an_optimizer_that_divides_itself_is_told_the_factor(weight):
    scaler, optimizer = GradScaler("cpu", init_scale=4.0), _Dividing([weight], lr=0.5)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    assert optimizer.told[0].item() == 4.0 and optimizer.told[1] == 0.0
    assert weight.grad.tolist() == [4.0, 4.0]
    assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
    scaler.update()
    weight.grad.fill_(float("inf"))
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert optimizer.told == (None, 1.0)
    scaler.update()
    assert scaler.get_scale() == 2.0


def test_an_optimizer_that_takes_the_scaler_is_given_it(weight):
    class Taking(_Dividing):
        def step(self, closure=None, *, grad_scaler=None):
            self.told = grad_scaler

    scaler, optimizer = GradScaler("cpu"), Taking([weight], lr=0.5)
    scaler.scale(weight.sum()).backward()
    with pytest.warns(FutureWarning, match="stop passing itself"):
        scaler.step(optimizer)
    assert optimizer.told is scaler


def test_the_factor_is_a_tensor_once_a_loss_is_scaled(weight):
    scaler = GradScaler("cpu", init_scale=4.0)
    assert scaler._scale is None
    scaler.scale(weight.sum())
    assert scaler._scale.item() == 4.0 and scaler._scale.dtype == tl.float32
    scaler._init_growth_tracker = 3
    assert scaler.state_dict()["_growth_tracker"] == 3 == scaler._init_growth_tracker


def test_old_names_are_scalers_of_one_device():
    for module, kind in ((cpu_amp, "cpu"), (cuda_amp, "cuda")):
        assert issubclass(module.GradScaler, DeprecatedGradScaler) and module.GradScaler.device_type == kind
    with pytest.warns(FutureWarning, match=r"`torch\.cpu\.amp\.GradScaler\(args\.\.\.\)` is deprecated"):
        scaler = cpu_amp.GradScaler(8.0, 3.0, 0.25, 7)
    assert isinstance(scaler, GradScaler) and scaler.get_scale() == 8.0 and scaler.get_growth_factor() == 3.0
    assert scaler.get_backoff_factor() == 0.25 and scaler.get_growth_interval() == 7 and scaler.is_enabled()


def test_states_of_an_optimizer_since_the_last_update():
    weight = tl.ones(1, requires_grad=True)
    optimizer, scaler = nn.optim.SGD([weight], lr=0.5), GradScaler("cpu", init_scale=4.0)
    scaler.scale(weight.sum()).backward()
    stages = []
    for step in (lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), scaler.update):
        step()
        stages.append(scaler._stages.get(id(optimizer), OptState.READY))
    assert stages == [OptState.UNSCALED, OptState.STEPPED, OptState.READY] and weight.item() == 0.5
