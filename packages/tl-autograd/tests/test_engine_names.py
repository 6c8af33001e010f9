"""The names of the engine that programs look for in the reference's native module."""

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd.compat import engine_names as names
from tl_autograd.compat import native_names


def test_functions_whose_derivative_raises_or_is_undefined():
    x = tl.ones(2, requires_grad=True)
    y = names._functions.DelayedError("not twice", 1)(x * 2)
    with pytest.raises(RuntimeError, match="not twice"):
        y.sum().backward()
    undefined = names._functions.UndefinedGrad()(x * 2)
    assert undefined.tolist() == [2, 2]
    undefined.sum().backward()
    assert x.grad is None or x.grad.tolist() == [0, 0]
    node = (x * 2).grad_fn.next_functions[0][0]
    assert isinstance(node, names._functions.AccumulateGrad)
    with pytest.raises(AttributeError):
        names._functions.Nothing  # noqa: B018


def test_a_weak_reference_to_a_tensor():
    x = tl.ones(2)
    ref = names._WeakTensorRef(x)
    assert not ref.expired()
    del x
    assert ref.expired()


def test_saved_tensor_hooks_can_be_asked_for_and_refused():
    assert native_names._saved_tensors_hooks_is_enabled()
    native_names._saved_tensors_hooks_disable("not here")
    try:
        assert not native_names._saved_tensors_hooks_is_enabled()
        with (
            pytest.raises(RuntimeError, match="not here"),
            tl_autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        ):
            pass
    finally:
        native_names._saved_tensors_hooks_enable()
    assert native_names._saved_tensors_hooks_is_enabled()


def test_warnings_of_loops_and_tangents_are_switches():
    assert names._debug_only_are_vmap_fallback_warnings_enabled()
    names._debug_only_display_vmap_fallback_warnings(False)
    assert not names._debug_only_are_vmap_fallback_warnings_enabled()
    names._debug_only_display_vmap_fallback_warnings(True)
    assert names._is_fwd_grad_enabled() and names._current_graph_task_id() == -1
