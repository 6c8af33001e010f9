"""The private names that libraries import: levels by their numbers, batches apart from their dimensions."""

import warnings

import pytest

import tl_core as tl
from tl_autograd import _C, func
from tl_autograd.compat.functorch import apis, deprecated, eager_transforms, native, utils, vmap
from tl_autograd.func import interpreter as pyfunctorch


@pytest.fixture(autouse=True)
def no_level_is_left():
    yield
    assert _C.top_level() is None


def test_levels_by_their_numbers():
    x = tl.arange(6.0).reshape(2, 3)
    level = native._vmap_increment_nesting(3, "error")
    assert level == 1 == native.current_level() and native.are_transforms_active()
    batched = native._add_batch_dim(x, 1, level)
    assert native.is_batchedtensor(batched) and native.maybe_get_bdim(batched) == 1
    inner = native._grad_increment_nesting()
    wrapped = native._wrap_for_grad(batched, inner)
    assert native.is_gradtrackingtensor(wrapped) and native.maybe_get_level(wrapped) == 2 == native.dlevel(
        wrapped
    )
    assert [result.key().name for result in native.get_interpreter_stack()] == ["Vmap", "Grad"]
    assert native.get_unwrapped(wrapped) is not None
    assert native._unwrap_for_grad(wrapped, inner).shape == (2,)
    with pytest.raises(RuntimeError, match="no Vmap"):
        native._vmap_decrement_nesting()
    assert native._grad_decrement_nesting() == 2
    doubled = batched * 2
    out = native._remove_batch_dim(doubled, level, 3, 0)
    assert tl.equal(out, 2 * x.T)
    assert native._remove_batch_dim(tl.ones(2), level, 3, 0).shape == (3, 2)
    assert native._vmap_decrement_nesting() == 1
    assert native.dlevel(wrapped) == -1 and native.maybe_current_level() is None
    with pytest.raises(RuntimeError, match="level 1"):
        native._add_batch_dim(x, 0, 1)


def test_the_stack_can_be_left():
    def f(x):
        with pyfunctorch.temporarily_clear_interpreter_stack() as levels:
            assert len(levels) == 2 and not native.are_transforms_active()
        with pyfunctorch.temporarily_pop_interpreter_stack():
            assert native.get_dynamic_layer_stack_depth() == 1
        assert native.get_dynamic_layer_stack_depth() == 2
        return x.sum()

    assert tl.equal(func.vmap(func.grad(f))(tl.ones(2, 3)), tl.ones(2, 3))


def test_batches_with_their_dimensions():
    out, dims = vmap.restore_vmap(lambda a, b: (a + b, b), (1, None), 3, "error")(tl.ones(2, 3), tl.ones(2))
    assert dims[1] is None and out[0].shape[dims[0]] == 3


def test_helpers():
    args = (1, 2, 3)
    assert eager_transforms._slice_argnums(args, 1) == (2,)
    assert eager_transforms._slice_argnums(args, 1, as_tuple=False) == 2
    assert eager_transforms._slice_argnums(args, (0, -1)) == (1, 3)
    x = tl.arange(24.0).reshape(2, 3, 4)
    assert tl.equal(native.reshape_dim_into(0, 1, x), x.movedim(0, 1).reshape(3, 8))
    assert native.reshape_dim_outof(2, 2, x).shape == (2, 3, 2, 2)
    with pytest.raises(RuntimeError, match="no part of size 5"):
        native.reshape_dim_outof(2, 5, x)
    assert tl.equal(apis.chunk_vmap(tl.sin, chunks=3)(x[0]), x[0].sin())
    with pytest.warns(FutureWarning, match="torch.func.grad"):
        assert deprecated.grad(lambda a: a * a)(tl.tensor(3.0)) == 6
    with utils.enable_single_level_autograd_function():
        assert native.get_single_level_autograd_function_allowed()
    assert not native.get_single_level_autograd_function_allowed()


def test_loops_warn_and_can_be_refused():
    def histograms():
        return func.vmap(lambda a: tl.nonzero_static(a, size=4))(tl.rand(3, 8))

    with pytest.warns(UserWarning, match="There is a performance drop.*aten::nonzero_static"):
        histograms()
    native._set_vmap_fallback_warning_enabled(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            histograms()
        native._set_vmap_fallback_enabled(False)
        with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::nonzero_static"):
            histograms()
    finally:
        native._set_vmap_fallback_enabled(True)
        native._set_vmap_fallback_warning_enabled(True)


def test_a_context_with_other_saved_tensors():
    from tl_autograd.compat.functorch.autograd_function import CtxWithSavedTensors

    class Context:
        saved_tensors = (1,)
        needs_input_grad = (True,)

    ctx = Context()
    inner = CtxWithSavedTensors(ctx, (2,))
    outer = CtxWithSavedTensors(inner, (3,))
    outer.noted = 4
    assert (inner.saved_tensors, outer.saved_tensors, outer.needs_input_grad) == ((2,), (3,), (True,))
    assert ctx.noted == inner.noted == 4
    ctx._pt_inner_ctx = 1
    with pytest.raises(RuntimeError, match="name collision"):
        CtxWithSavedTensors(ctx, ())


def test_gradients_with_the_batch_of_their_input():
    from tl_autograd.compat.functorch.autograd_function import reductify_leaf

    g = tl.arange(24.0).reshape(2, 3, 4)
    assert reductify_leaf(None, None, 0, 2) is None
    assert tl.equal(reductify_leaf(g, 1, None, 3), g.sum(1))
    assert tl.equal(reductify_leaf(g, 0, 1, 2), g.movedim(0, 1))
    assert tl.equal(reductify_leaf(g[0], None, 1, 2), g[0].unsqueeze(1).expand(3, 2, 4))
    assert tl.equal(reductify_leaf(g, 0, 1, 2, (4,)), g.sum(1).movedim(0, 1))


def test_what_only_recording_heeds_is_refused_in_transforms():
    x = tl.rand(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        func.vmap(lambda y: x.sum().backward())(tl.rand(3))
    with pytest.raises(RuntimeError, match=r"Tensor.retain_grad\(\)"):
        func.grad(lambda y: (y := y.sin(), y.retain_grad(), y.sum())[2])(tl.rand(3))


def test_the_older_vmap_checks_more_narrowly():
    from tl_autograd.func import older_vmap

    x = tl.arange(6.0).reshape(2, 3)
    first, second = older_vmap.vmap(lambda r: (r, r * 2), out_dims=(0, 1))(x)
    assert tl.equal(first, x) and tl.equal(second, (x * 2).t())
    assert older_vmap._vmap(lambda r: (None, r), allow_none_pass_through=True)(x)[0] is None
    wrong = {
        "got type <class 'float'> as the return": {"func": lambda r: 3.14},
        "got type <class 'int'> for return 1": {"func": lambda r: (r, 3)},
        "must only return Tensors, got type <class 'list'>": {"func": lambda r: [r, r]},
        "must have one dim per output": {"func": lambda r: (r, r), "out_dims": (0,)},
        "must be an int or a tuple of int": {"func": lambda r: r, "out_dims": "front"},
        "Got in_dim=-1 for some input": {"func": lambda r: r, "in_dims": -1},
    }
    for text, arguments in wrong.items():
        with pytest.raises(ValueError, match=text):
            older_vmap.vmap(**arguments)(x)
