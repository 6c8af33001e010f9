"""Private names of PyTorch that published libraries import, and what each does."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import typing
from importlib.machinery import ModuleSpec

import pytest

import tl
from tl import _names
from tl.fx import _symbolic_trace as tracing

NAMES = """
accelerator.memory_stats accelerator.get_device_capability amp.autocast_mode._cast amp.autocast_mode._enter_autocast
amp.grad_scaler._refresh_per_optimizer_state autograd._is_checkpoint_valid
autograd.graph.set_override_stale_capture_stream
cpu._is_avx512_supported cpu.get_capabilities cuda._lazy_init cuda.amp.autocast_mode._cast classes.load_library
distributed.checkpoint._nested_dict.FLATTEN_MAPPING distributed.checkpoint._traverse.traverse_state_dict
distributed.checkpoint.api._wrap_exception distributed.checkpoint.filesystem.DEFAULT_SUFFIX
distributed.checkpoint.utils.CheckpointException distributed.distributed_c10d._coalescing_manager
distributed.distributed_c10d._resolve_process_group _dynamo.output_graph.GraphCompileReason
_dynamo.source.NegateSource _dynamo.utils.get_metrics_context fx._symbolic_trace._Patcher
fx._symbolic_trace._autowrap_check fx._symbolic_trace._is_fx_tracing_flag fx._symbolic_trace.HAS_VARSTUFF
fx.graph._custom_builtins fx.graph.reflectable_magic_methods fx.proxy.ScopeContextManager fx.proxy.base_types
_guards.CompileContext.current_compile_id nn.attention.activate_flash_attention_impl nn.functional.SwizzleType
nn.utils.clip_grad._no_grad numa.binding.AffinityMode.NODE optim.Optimizer._group_tensors_by_device_and_dtype
_prims_common.wrappers._maybe_convert_to_dtype profiler._memory_profiler._CATEGORY_TO_COLORS _tensor._convert
testing._internal.composite_compliance.is_view_fn testing._internal.distributed.fake_pg.FakeStore
utils._ordered_set.OrderedSet utils._sympy.numbers.IntInfinity utils._sympy.value_ranges.ValueRanges
utils.data.graph.DataPipeGraph utils.data.datapipes.utils.common.DILL_AVAILABLE xpu.is_current_stream_capturing
_amp_update_scale_ batch_norm_stats fbgemm_linear_quantize_weight _grouped_mm native_norm slice_inverse _scaled_mm
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_is_there(name):
    found, path = tl, "tl"
    for part in name.split("."):
        path += f".{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(path)
    assert found is not None


def test_values_are_cast_in_containers():
    x = {"a": [tl.ones(1), tl.ones(1, dtype=tl.float64)], "b": ("text", 3)}
    got = tl.amp.autocast_mode._cast(x, "cpu", tl.bfloat16)
    assert got["a"][0].dtype is tl.bfloat16 and got["a"][1].dtype is tl.float64 and got["b"] == ("text", 3)
    mode = tl.amp._enter_autocast("cpu", tl.bfloat16)
    assert (tl.ones(1, 1) @ tl.ones(1, 1)).dtype is tl.bfloat16
    tl.amp._exit_autocast(mode)
    assert (tl.ones(1, 1) @ tl.ones(1, 1)).dtype is tl.float32


def test_a_checkpoint_is_not_valid_within_grad():
    seen = []

    class Look(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(tl.autograd._is_checkpoint_valid())
            return grad * 2

    x = tl.ones(1, requires_grad=True)
    Look.apply(x).backward()
    tl.autograd.grad(Look.apply(x), x)
    assert seen == [True, False] and tl.autograd._is_checkpoint_valid()


class Scales(tl.nn.Module):
    def forward(self, x):
        return x * 2


class Model(tl.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scales()

    def forward(self, x):
        return self.inner(x) + 1


def test_a_tracer_knows_the_module_of_each_node():
    tracer = tl.fx.Tracer()
    tracer.trace(Model())
    assert tracer.node_name_to_scope["mul"] == ("inner", Scales)
    assert tracer.node_name_to_scope["add"] == ("", None) and tracer.scope.module_path == ""


def test_a_patcher_puts_back_what_it_replaced():
    names = {"a": 1}
    with tracing._Patcher() as patcher:
        patcher.patch(names, "a", 2)
        patcher.patch(names, "a", 3)
        patcher.patch(names, "b", 4)
        patcher.patch_method(Scales, "extra", 5)
        assert names == {"a": 2, "b": 4} and Scales.extra == 5
        patcher.revert_all_patches()
        assert names == {"a": 1} and not hasattr(Scales, "extra")
        patcher.reapply_all_patches()
        assert patcher.visit_once(names) and not patcher.visit_once(names)
    assert names == {"a": 1} and not hasattr(Scales, "extra")


def test_a_module_is_called_with_other_tensors_without_a_warning():
    import warnings

    layer = tl.nn.Linear(2, 1, bias=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call = tl.nn.utils.stateless._functional_call
        assert call(layer, {"weight": tl.tensor([[1.0, 10.0]])}, tl.tensor([1.0, 2.0])).item() == 21


def test_operators_without_a_derivative():
    assert tl._C._get_autograd_fallback_mode() == "error"
    tl._C._set_autograd_fallback_mode("error")
    with pytest.raises(NotImplementedError, match="without a derivative"):
        tl._C._set_autograd_fallback_mode("warn")
    with pytest.raises(ValueError, match="mode must be"):
        tl._C._set_autograd_fallback_mode("other")


def test_a_recording_is_ended_from_outside():
    with pytest.raises(RuntimeError, match="not running"):
        tl.autograd._disable_profiler()


def test_segments_and_buffers():
    offsets = tl.tensor([0, 1, 4])
    assert tl._segment_reduce(tl.arange(4.0), "sum", offsets=offsets).tolist() == [0, 6]
    assert tl.ByteStorage._from_buffer(b"abc").tolist() == [97, 98, 99]


def test_pictures_of_memory():
    from tl.cuda import _memory_viz as pictures

    tl.cuda.memory._record_memory_history()
    try:
        kept = tl.zeros(5000)
        snapshot = tl.cuda.memory._snapshot()
    finally:
        tl.cuda.memory._record_memory_history(None)
    assert "<html" in pictures.trace_plot(snapshot) and "<html" in pictures.segment_plot(snapshot)
    sizes = [int(line.rsplit(" ", 1)[1]) for line in pictures.memory(snapshot).splitlines()]
    assert kept.nbytes <= sum(sizes) and sizes == sorted(sizes, reverse=True)
    assert pictures.segments(snapshot, lambda text: text.split(" ")[0]).startswith("seg_")


def test_constructors_of_tensors():
    from tl._subclasses.fake_tensor import _is_tensor_constructor

    assert _is_tensor_constructor(tl.ops.aten.zeros.default)
    assert not _is_tensor_constructor(tl.ops.aten.zeros_like.default)


def test_hooks_of_pipes():
    Pipe = tl.utils.data.IterDataPipe
    pipe = tl.utils.data.datapipes.iter.IterableWrapper([1, 2])
    Pipe.set_getstate_hook(lambda state: {**state, "noted": True})
    try:
        with pytest.raises(RuntimeError, match="override"):
            Pipe.set_getstate_hook(print)
        assert pickle.loads(pickle.dumps(pipe)).noted
    finally:
        Pipe.set_getstate_hook(None)
    assert list(pickle.loads(pickle.dumps(pipe))) == [1, 2]


def test_devices_say_what_is_missing():
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        tl.accelerator.memory_stats()
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        tl.cuda._lazy_init()
    with pytest.raises(ValueError, match="Unknown flash attention impl"):
        tl.nn.attention.activate_flash_attention_impl("FA9")
    assert tl.cpu.get_capabilities()["num_logical_cores"] >= 1


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:  # a package above it isn't there
        return None


def _own_submodule(dotted: str) -> str | None:
    """The module that lies by its own name where the table sends the façade elsewhere."""
    above, _, last = dotted.rpartition(".")
    package = _spec(_names.module_of(above)) if above else None
    if package is None or package.submodule_search_locations is None:
        return None
    own = f"{package.name}.{last}"
    return own if own != _names.MODULES[dotted] and _spec(own) else None


def test_no_module_lies_where_the_table_names_another():
    # the attribute of the package would be that module, the import statement would give the other
    assert {dotted: own for dotted in _names.MODULES if (own := _own_submodule(dotted))} == {}
    assert tl.jit.annotations.List is typing.List  # noqa: UP006 - the name that is asked for
