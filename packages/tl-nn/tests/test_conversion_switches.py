"""How modules change their parameters: in place, by new ones, or by swapping."""

import subprocess
import sys

import pytest

import tl_core as tl
import tl_nn as nn
from tl_core.settings import conversions as switches


@pytest.fixture
def swapping():
    switches.set_swap_module_params_on_conversion(True)
    yield
    switches.set_swap_module_params_on_conversion(False)


@pytest.fixture
def overwriting():
    switches.set_overwrite_module_params_on_conversion(True)
    yield
    switches.set_overwrite_module_params_on_conversion(False)


def trained():
    module = nn.Linear(2, 1)
    module(tl.ones(1, 2)).sum().backward()
    return module


def test_both_are_off_and_take_bools_only():
    assert not switches.get_swap_module_params_on_conversion()
    assert not switches.get_overwrite_module_params_on_conversion()
    with pytest.raises(TypeError, match="takes bool, got int"):
        switches.set_swap_module_params_on_conversion(1)


def test_parameters_are_the_same_objects_by_default():
    module = trained()
    weight = module.weight
    module.double()
    assert module.weight is weight and weight.dtype is weight.grad.dtype is tl.float64


def test_overwriting_makes_new_parameters(overwriting):
    module = trained()
    weight = module.weight
    module.double()
    assert module.weight is not weight and weight.dtype is tl.float32
    assert isinstance(module.weight, nn.Parameter) and module.weight.grad.dtype is tl.float64
    module.float().float()
    assert module.weight.requires_grad


@pytest.mark.parametrize(
    "convert", [lambda m: m.double(), lambda m: m.to("meta"), lambda m: m.to_empty(device="meta")]
)
def test_swapping_keeps_the_object_whatever_it_becomes(swapping, convert):
    module = trained()
    weight = module.weight
    convert(module)
    assert module.weight is weight and isinstance(weight, nn.Parameter) and weight.requires_grad
    assert weight.dtype is tl.float64 or weight.is_meta
    assert weight.grad.dtype is weight.dtype and weight.grad.is_meta == weight.is_meta


def test_swapping_into_a_subclass(swapping):
    class Marked(tl.Tensor): ...

    module = nn.Linear(1, 1)
    weight = module.weight
    module._apply(lambda t: t.detach().clone().as_subclass(Marked))
    assert module.weight is weight and weight.requires_grad


def test_swapping_goes_on_training(swapping):
    module = trained()
    optimizer = nn.optim.SGD(module.parameters(), lr=1.0)
    before = module.double().weight.detach().clone()
    optimizer.zero_grad()
    module(tl.ones(1, 2, dtype=tl.float64)).sum().backward()
    optimizer.step()
    assert module.weight.equal(before - 1)


def test_a_parameter_that_cannot_be_swapped_is_named(swapping):
    module = trained()
    view = module.weight.view(2)
    with pytest.raises(RuntimeError, match=r"Couldn't swap Linear\.weight"):
        module.double()
    assert module.weight.dtype is tl.float32 and module.weight.grad is not None
    del view


def test_a_state_is_loaded_by_swapping(swapping):
    module, other = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    with tl.no_grad():
        other.weight.fill_(3)
        other.running_mean.fill_(4)
    weight, mean = module.weight, module.running_mean
    module.load_state_dict(other.state_dict())
    assert module.weight is weight and weight.tolist() == [3, 3] and isinstance(weight, nn.Parameter)
    assert module.running_mean is mean and mean.tolist() == [4, 4]
    assert other.weight.tolist() == [3, 3]


def test_what_module_load_returns_becomes_the_parameter(swapping):
    class Scaled(nn.Parameter):
        def module_load(self, other, assign=False):
            return self if other.numel() == 1 else other * 2

    module = nn.Module()
    module.p = Scaled(tl.zeros(2))
    p = module.p
    module.load_state_dict({"p": tl.ones(2)})
    assert module.p is p and p.tolist() == [2, 2]


def test_module_load_may_not_return_an_argument(swapping):
    class Same(nn.Parameter):
        def module_load(self, other, assign=False):
            return other

    module = nn.Module()
    module.p = Same(tl.zeros(2))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        module.load_state_dict({"p": tl.ones(2)})


def test_module_load_by_hand():
    x, y = tl.zeros(2), tl.ones(2)
    assert x.module_load(y).tolist() == [1, 1] and x.tolist() == [1, 1]
    assert x.module_load(y, assign=True).data_ptr() == y.data_ptr()


EXTENSION = """
import tl_core as tl, tl_nn as nn
from tl_core.settings.extension_devices import rename_privateuse1_backend
from tl_nn.extension_methods import generate_methods_for_privateuse1_backend as generate
rename_privateuse1_backend("npu")
try:
    generate(for_tensor=False)
except RuntimeError as error:
    assert "npu() method for modules" in str(error)
else:
    raise AssertionError("modules without tensors")
generate(for_storage=True, unsupported_dtype=[tl.float64])
x = tl.ones(2)
assert x.is_npu is False and tl.Tensor.npu.__qualname__ == "Tensor.npu"
assert nn.utils.rnn.pack_sequence([x.view(2, 1)]).is_npu is False and not x.untyped_storage().is_npu
for move in (x.npu, nn.Linear(1, 1).npu, x.untyped_storage().npu):
    try:
        move()
    except RuntimeError as error:
        assert "npu" in str(error), error
    else:
        raise AssertionError("nobody has registered the device")
try:
    tl.ones(2, dtype=tl.float64).storage().npu()
except RuntimeError as error:
    assert "float64" in str(error)
try:
    generate()
except RuntimeError as error:
    assert "has one already" in str(error)
else:
    raise AssertionError("twice")
"""


def test_methods_are_named_after_a_plug_ins_device():
    subprocess.run([sys.executable, "-c", EXTENSION], check=True, timeout=120)
