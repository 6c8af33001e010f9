"""Keys, layers and modes that calls of operators meet."""

import warnings

import pytest

import tl_core as tl
from tl_core import _C, overrides
from tl_core.dispatch import (
    autocast,
    context_managers,
    fallbacks,
    keys,
    layers,
    modes,
    queries,
    registrations,
)
from tl_core.dispatch.keys import DispatchKey, DispatchKeySet
from tl_core.operators.packets import aten
from tl_core.subclasses.fake_mode import FakeTensorMode, active_fake_mode
from tl_core.subclasses.python_dispatch import TorchDispatchMode, is_infra_mode


class Log(TorchDispatchMode):
    """Records the names of operators."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Export(Log):
    """Says that it records a program."""

    exports = True


def test_keys_of_tensors():
    assert keys.keys_of(tl.ones(2)).has(DispatchKey.CPU)
    assert keys.keys_of(tl.ones(2, device="meta")).has(DispatchKey.Meta)
    assert keys.keys_of(tl.ones(2, 2).to_sparse()).has(DispatchKey.SparseCPU)
    assert keys.keys_of(tl.ones(2, dtype=tl.complex64).conj()).has(DispatchKey.Conjugate)
    assert not keys.keys_of(tl.ones(2)).has(DispatchKey.Conjugate)
    with tl.inference_mode():
        assert not keys.keys_of(tl.ones(2)).has(DispatchKey.AutogradCPU)
    assert "AutogradCPU" in keys.text_of_keys(tl.ones(2))
    with FakeTensorMode():
        assert keys.is_tensor_subclass_like(tl.ones(2))
    assert not keys.is_tensor_subclass_like(tl.ones(2))


def test_layers_of_keys():
    assert layers.layer_of("AutogradCPU") == layers.layer_of("Autograd") == _C._LAYER_AUTOGRAD
    assert layers.layer_of("CPU") is None
    assert layers.layers_of(DispatchKeySet(DispatchKey.AutocastCPU, DispatchKey.CPU)) == {_C._LAYER_AUTOCAST}
    assert layers.device_key("cpu") == "CPU" and layers.device_key("meta") == "Meta"
    with pytest.raises(RuntimeError, match="device type at start of device string: toaster"):
        layers.device_key("toaster")


def test_excluded_layers():
    autograd = _C._LAYER_AUTOGRAD
    with layers.excluded_layers(autograd):
        assert _C._is_layer_excluded(autograd)
        with layers.AutoDispatchBelowAutograd():
            assert _C._is_layer_excluded(autograd)
        assert _C._is_layer_excluded(autograd)
    assert not _C._is_layer_excluded(autograd)
    with layers.ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.AutogradCPU)):
        assert _C._is_layer_excluded(autograd)
    with layers.layers_outside(DispatchKeySet(DispatchKey.AutogradCPU)):
        assert not _C._is_layer_excluded(autograd) and _C._is_layer_excluded(_C._LAYER_PYTHON)
    assert layers.switch_autograd(True) is False
    assert layers.switch_autograd(False) is True


def test_included_keys():
    before = fallbacks.included_keys()
    with fallbacks.IncludeDispatchKeyGuard(DispatchKey.Functionalize):
        assert fallbacks.included_keys().has(DispatchKey.Functionalize)
    assert fallbacks.included_keys() == before


def test_modes():
    with Log() as outer, Log() as inner:
        assert modes.modes_in_force() == [outer, inner] and modes.is_handled((1,))
        with modes.innermost_off() as mode:
            assert mode is inner and modes.modes_in_force() == [outer]
            tl.ones(1)
        with modes.modes_off() as off:
            assert off == [outer, inner] and modes.modes_in_force() == []
            tl.zeros(1)
        with modes.modes_off(lambda mode: mode is outer) as off:
            assert off == [inner]
        with modes.no_modes():
            tl.zeros(1)
        assert modes.modes_in_force() == [outer, inner]
    assert outer.names == ["aten.ones.default"] and inner.names == []
    assert modes.all_same_mode([outer, outer]) and not modes.all_same_mode([outer, inner])


def test_gradients_in_no_modes():
    assert tl.is_grad_enabled()
    with modes.no_modes():
        assert not tl.is_grad_enabled()
    assert tl.is_grad_enabled()


def test_programs():
    assert (modes.is_compiling(), modes.is_exporting()) == (False, False)
    with Export():
        assert (modes.is_compiling(), modes.is_exporting()) == (True, True)
    with Log():
        assert (modes.is_compiling(), modes.is_exporting()) == (False, False)


def test_modes_of_the_framework():
    assert modes.is_programs(Log()) and not is_infra_mode(Log())
    assert modes.mode_of_fakes() is active_fake_mode() is None
    with FakeTensorMode() as mode:
        assert modes.mode_of_fakes() is active_fake_mode() is mode
        assert not modes.is_programs(mode) and is_infra_mode(mode)


def test_handlers_of_functions():
    assert modes.ask_handlers(len, ([],)) is NotImplemented
    with Log() as log:
        assert modes.ask_handlers(len, ([1, 2],)) == 2
        assert modes.ask_recorder(len, ([1],), {}) is NotImplemented
        log.records_functions = True
        assert modes.ask_recorder(len, ([1],), {}) == 1
    assert log.names == [str(len)] * 2


def test_context_decorator():
    double = context_managers.context_decorator(
        tl.inference_mode, lambda x: (x, tl.is_inference_mode_enabled())
    )
    assert double(3) == (3, True) and not tl.is_inference_mode_enabled()

    def steps():
        yield tl.is_inference_mode_enabled()

    assert next(context_managers.context_decorator(tl.inference_mode, steps)()) is True


def test_registrations():
    double = registrations.Registration("relu", "CPU", lambda x: x * 2)
    registrations.put(double)
    try:
        assert queries.has_kernel("relu", "CPU") and aten.relu.default(tl.tensor([-1.0])).item() == -2
    finally:
        registrations.withdraw(double)
    assert aten.relu.default(tl.tensor([-1.0])).item() == 0
    assert queries.has_kernel("relu", "CPU") and not queries.has_kernel("relu", "Functionalize")


def test_overloads_of_calls():
    x = tl.ones(2)
    assert queries.resolve_packet(aten.add, x, x) == "Tensor"
    assert queries.resolve_packet(aten.sum, x, [0]) == "dim_IntList"
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        queries.resolve_packet(aten.sum, "text")


def test_older_names_of_autocast():
    before = autocast.get_autocast_dtype("cpu"), autocast.get_autocast_dtype("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            autocast.set_autocast_cpu_dtype(tl.float16)
            autocast.set_autocast_gpu_dtype(tl.bfloat16)
            autocast.set_autocast_cpu_enabled(True)
            assert autocast.get_autocast_cpu_dtype() is autocast.get_autocast_dtype("cpu") is tl.float16
            assert autocast.get_autocast_gpu_dtype() is autocast.get_autocast_dtype("cuda") is tl.bfloat16
            assert autocast.is_autocast_cpu_enabled() and autocast.is_autocast_enabled("cpu")
            assert (tl.ones(2, 2) @ tl.ones(2, 2)).dtype is tl.float16
        finally:
            autocast.set_autocast_cpu_enabled(False)
            autocast.set_autocast_dtype("cpu", before[0])
            autocast.set_autocast_dtype("cuda", before[1])
    with pytest.warns(DeprecationWarning):
        assert autocast.is_autocast_cpu_enabled() is False
    assert autocast.is_autocast_cache_enabled() is True
    autocast.check_known("f", "cpu")
    with pytest.raises(RuntimeError, match="f: autocast does not know"):
        autocast.check_known("f", "meta")


def test_function_overrides():
    class Meters(list):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "meters"

    @overrides.overridable
    def halved(x):
        return x / 2

    assert halved(3) == 1.5 and halved(Meters()) == "meters"
    assert overrides.handle_torch_function(halved, (Meters(),), Meters()) == "meters"
    assert overrides.has_torch_function_unary(Meters()) and not overrides.has_torch_function_unary(tl.ones(1))
    assert overrides.has_torch_function_variadic(tl.ones(1), Meters())
    assert not overrides.has_torch_function_variadic(1, tl.ones(1))
    assert overrides.is_tensor_like(Meters()) and overrides.is_tensor_like(tl.ones(1))
    assert not overrides.is_tensor_like([])


def test_function_modes():
    assert overrides.function_modes() == []
    with overrides.BaseTorchFunctionMode() as mode:
        assert overrides.function_modes() == [mode] and tl.add(tl.ones(1), 2).item() == 3
    assert overrides.function_modes() == []
