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
masked._where masked._canonical_dim masked._reduction_identity _C._nn.thnn_conv2d _C._linalg.linalg_norm
_subclasses.functional_tensor.FunctionalTensor _to_functional_tensor _sync
_prims.executor.make_traced _prims.rng_prims.run_with_rng_state
_prims_common.wrappers._maybe_convert_to_dtype profiler._memory_profiler._CATEGORY_TO_COLORS _tensor._convert
testing._internal.composite_compliance.is_view_fn testing._internal.distributed.fake_pg.FakeStore
utils._ordered_set.OrderedSet utils._sympy.numbers.IntInfinity utils._sympy.value_ranges.ValueRanges
utils.data.graph.DataPipeGraph utils.data.datapipes.utils.common.DILL_AVAILABLE xpu.is_current_stream_capturing
nn.functional._list_with_default nn.functional._max_pool2d nn.functional._pair nn.functional.Tensor
nn.functional.GRID_SAMPLE_PADDING_MODES _utils._get_restore_location _utils._rebuild_tensor_v3 _utils.try_import
_jit_internal.boolean_dispatched _jit_internal.createResolutionCallbackFromEnv DisableTorchFunctionSubclass
_tensor_str.get_printoptions serialization._open_zipfile_writer ops.aten.quantize_per_channel
_fake_quantize_learnable_per_channel_affine fused_moving_avg_obs_fake_quant _cast_Float _euclidean_dist _trilinear
_C._cpu._init_amx _C._jit_can_fuse_on_gpu _C._jit_clear_class_registry _C.ScriptMethod ScriptObject _ops.ops.aten
_export.error.InternalError _export.utils._is_aten_op _inductor.compile_fx.graph_returns_tuple
_inductor.custom_graph_pass.CustomGraphPass _inductor.utils.is_symbolic _refs.linalg.norm _refs.nn.functional.relu
_refs.special.i0e utils._stats.count
_inductor.decomposition.register_decomposition ops.c10d_functional.wait_tensor sparse._triton_ops_meta.minimize
sparse.SparseSemiStructuredTensorCUSPARSELT utils.flop_counter._unpack_flash_attention_nested_shapes version.git_version
_amp_update_scale_ batch_norm_stats fbgemm_linear_quantize_weight _grouped_mm native_norm slice_inverse _scaled_mm
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_is_there(name):
    result, path = tl, "tl"
    for part in name.split("."):
        path += f".{part}"
        try:
            result = getattr(result, part)
        except AttributeError:
            result = importlib.import_module(path)
    assert result is not None


def test_values_are_cast_in_containers():
    x = {"a": [tl.ones(1), tl.ones(1, dtype=tl.float64)], "b": ("text", 3)}
    result = tl.amp.autocast_mode._cast(x, "cpu", tl.bfloat16)
    assert (
        result["a"][0].dtype is tl.bfloat16
        and result["a"][1].dtype is tl.float64
        and result["b"] == ("text", 3)
    )
    mode = tl.amp._enter_autocast("cpu", tl.bfloat16)
    assert (tl.ones(1, 1) @ tl.ones(1, 1)).dtype is tl.bfloat16
    tl.amp._exit_autocast(mode)
    assert (tl.ones(1, 1) @ tl.ones(1, 1)).dtype is tl.float32


def test_a_checkpoint_is_not_valid_within_grad():
    records = []

    class Look(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            records.append(tl.autograd._is_checkpoint_valid())
            return grad * 2

    x = tl.ones(1, requires_grad=True)
    Look.apply(x).backward()
    tl.autograd.grad(Look.apply(x), x)
    assert records == [True, False] and tl.autograd._is_checkpoint_valid()


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
    assert tl._C._get_autograd_fallback_mode() == "warn"
    tl._C._set_autograd_fallback_mode("error")
    try:
        assert tl._C._get_autograd_fallback_mode() == "error"
    finally:
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
        value = tl.zeros(5000)
        snapshot = tl.cuda.memory._snapshot()
    finally:
        tl.cuda.memory._record_memory_history(None)
    assert "<html" in pictures.trace_plot(snapshot) and "<html" in pictures.segment_plot(snapshot)
    sizes = [int(line.rsplit(" ", 1)[1]) for line in pictures.memory(snapshot).splitlines()]
    assert value.nbytes <= sum(sizes) and sizes == sorted(sizes, reverse=True)
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


def test_masks_become_numbers():
    F, mask = tl.nn.functional, tl.tensor([True, False])
    result = F._canonical_mask(mask, "mask", None, "", tl.float64)
    assert result.dtype is tl.float64 and result.tolist() == [-float("inf"), 0.0]
    assert F._canonical_mask(result, "mask", tl.float64, "other", tl.float32) is result
    with pytest.warns(UserWarning, match="mismatched mask and other"):
        F._canonical_mask(mask, "mask", tl.float32, "other", tl.float32)
    with pytest.raises(AssertionError, match="only bool and floating types of mask"):
        F._canonical_mask(tl.ones(2, dtype=tl.int64), "mask", None, "", tl.float32)
    assert F._none_or_dtype(None) is None and F._none_or_dtype(mask) is tl.bool
    with pytest.raises(RuntimeError, match="must be None"):
        F._none_or_dtype(3)


@pytest.mark.parametrize("same", ["all", "keys", "none"])
def test_projections_of_attention(same):
    F, (w, b) = tl.nn.functional, (tl.randn(6, 2), tl.randn(6))
    q, k, v = (tl.randn(3, 2) for _ in range(3))
    k, v = {"all": (q, q), "keys": (k, k), "none": (k, v)}[same]
    packed = F._in_projection_packed(q, k, v, w, b)
    apart = F._in_projection(q, k, v, *w.chunk(3), *b.chunk(3))
    for one, other in zip(packed, apart, strict=True):
        tl.testing.assert_close(one, other)
    with pytest.raises(AssertionError, match="expecting w_k shape"):
        F._in_projection(q, k, v, w[:2], w[:3], w[:2])


def test_shapes_that_layers_check():
    F, x = tl.nn.functional, tl.ones(2, 3, 4)
    assert F._mha_shape_check(x, x, x, None, None, 2) and not F._mha_shape_check(
        x[0], x[0], x[0], None, None, 2
    )
    F._check_key_padding_mask(tl.ones(2, 3), 3, 2)
    with pytest.raises(AssertionError, match=r"shape\[1\] to be 4"):
        F._check_key_padding_mask(tl.ones(2, 3), 4, 2)
    with pytest.raises(ValueError, match="more than 1 spatial element"):
        F._verify_spatial_size((2, 3, 1, 1))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F._verify_batch_size((1, 3))
    assert F._list_with_default([None, 5], [7, 8, 9]) == [8, 5] and F._pair(3) == (3, 3)
    with pytest.raises(ValueError, match="at least 3"):
        F._list_with_default([None, 5], [7, 8])
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        assert F._get_softmax_dim("softmax", 4, 2) == 1
    assert F._unpool_output_size(tl.ones(1, 1, 2), [2], [2], [0], None) == [4]
    weight = tl.full((2, 2), 5.0)
    F._no_grad_embedding_renorm_(weight, tl.tensor([1]), 1.0, 2.0)
    assert weight[0].tolist() == [5.0, 5.0] and weight[1].norm().item() == pytest.approx(1.0, rel=1e-4)


def test_tensors_in_flat_buffers():
    utils = tl._utils
    parts = [tl.eye(2).to_sparse(), tl.ones(3).to_sparse()]
    flat = utils._flatten_sparse_tensors(parts)
    back = utils._unflatten_sparse_tensors(flat, parts)
    assert [t.to_dense().tolist() for t in back] == [t.to_dense().tolist() for t in parts]
    x = tl.arange(8).reshape(2, 4)
    assert utils._chunk_or_narrow_cat(x, 2, 1).tolist() == [[0, 1], [4, 5], [2, 3], [6, 7]]
    with pytest.raises(RuntimeError, match="no 3 equal parts"):
        utils._chunk_or_narrow_cat(x, 3, 1)
    z = tl.ones(2, dtype=tl.complex64)
    assert utils._handle_complex(z).shape == (2, 2) and utils._handle_complex(x) is x
    assert utils.get_tensor_metadata(z.conj()) == {"conj": True}
    utils.set_tensor_metadata(z, {"conj": True})
    assert z.is_conj()
    assert utils.try_import("json").__name__ == "json" and utils.try_import("no_such_module") is None


def test_archives_step_by_step(tmp_path):
    serialization, path = tl.serialization, tmp_path / "a.pt"
    tl.save({"x": tl.arange(3)}, path)
    with serialization._open_zipfile_reader(str(path)) as reader:
        assert not serialization._is_torchscript_zip(reader)
        assert serialization._load(reader, None, pickle)["x"].tolist() == [0, 1, 2]
    with serialization._open_zipfile_writer(str(tmp_path / "b.pt")) as writer:
        writer.write_record("a", b"12", 2)
    with serialization._open_zipfile_reader(str(tmp_path / "b.pt")) as reader:
        assert reader.get_record("a") == b"12"
    tl.save([tl.ones(2)], path, _use_new_zipfile_serialization=False)
    with open(path, "rb") as file:
        assert serialization._should_read_directly(file) and serialization._check_seekable(file)
        assert serialization._legacy_load(file, None, pickle)[0].tolist() == [1.0, 1.0]
    storage = tl.ones(2).untyped_storage()
    assert serialization._get_restore_location({"cuda:0": "cpu"})(storage, "cuda:0") is storage
    assert serialization._cpu_tag(storage) == "cpu" and serialization._meta_tag(storage) is None
    assert serialization._meta_deserialize(storage, "meta").device.type == "meta"


def test_decorations_of_scripts_are_kept():
    internal = tl._jit_internal

    class Net(tl.nn.Module):
        @tl.jit.export
        def shout(self):
            return 1

        @tl.jit.unused
        def hush(self):
            return 2

        @tl.jit.ignore
        def log(self):
            return 3

    net, modifiers = Net(), internal.FunctionModifiers
    assert (net.shout(), net.hush(), net.log()) == (1, 2, 3)
    assert internal.module_has_exports(net) and not internal.module_has_exports(tl.nn.Linear(1, 1))
    assert (
        internal.should_drop(net.hush)
        and internal.is_ignored_fn(net.log)
        and not internal.should_drop(net.log)
    )
    assert internal.get_torchscript_modifier(net.forward) == modifiers.DEFAULT
    assert internal.createResolutionCallbackFromEnv(tl)("nn.Linear") is tl.nn.Linear
    assert internal.createResolutionCallbackFromClosure(lambda: net)("net") is net
    assert internal.get_callable_argument_names(lambda a, b=1: 0) == ["a", "b"]
    pick = internal.boolean_dispatch("up", 0, False, abs, len, "m", "pick")
    assert internal.boolean_dispatched[pick]["if_true"] is abs


def test_print_options_are_told():
    with tl._tensor_str.printoptions(precision=2):
        assert tl._tensor_str.get_printoptions()["precision"] == 2
    corners = tl._tensor_str.get_summarized_data(tl.arange(20))
    assert corners.tolist() == [0, 1, 2, 17, 18, 19]


def test_references_of_operators_are_the_operators():
    from tl import _refs

    x = tl.tensor([[1.0, -2.0], [3.0, 4.0]])
    assert _refs.add(x, 1).equal(x + 1) and _refs.expand(x[:1], (3, 2)).shape == (3, 2)
    assert _refs.T(x).equal(x.T) and _refs.rpow(x, 2).equal(2**x) and _refs.rtruediv(x, 6).equal(6 / x)
    assert _refs.trunc_divide(x, 3).tolist() == [[0, 0], [1, 1]] and _refs.rfloordiv(x, 3).equal(3 // x)
    assert _refs.swap_axes(x, 0, 1).equal(x.T) and _refs.copy_to(tl.zeros(2, 2), x).equal(x)
    with pytest.raises(RuntimeError, match="allow_cross_device"):
        _refs.copy_to(tl.zeros(2, 2, device="meta"), x, allow_cross_device=False)
    assert not hasattr(_refs, "no_such_function")


def test_calls_are_counted_by_name():
    from tl.utils import _stats

    @_stats.count
    def twice(x):
        return 2 * x

    assert twice(1) == 2 and twice(x=2) == 4
    assert _stats.simple_call_counter[twice.__qualname__] == 2


def test_an_operator_says_what_is_registered_for_it():
    text = tl._C._dispatch_dump("aten::hstack")
    assert text.startswith("name: aten::hstack\nschema: aten::hstack(Tensor[] tensors) -> Tensor\n")
    assert "CompositeImplicitAutograd" in text.splitlines()
    assert tl._C._dispatch_dump("aten::no_such_operator") == "name: aten::no_such_operator\n"


def test_a_composite_operator_is_told_from_others():
    from tl._export.utils import _is_cia_op

    assert _is_cia_op(tl.ops.aten.hstack.default) and not _is_cia_op(tl.ops.aten.sin.default)


def test_copies_of_a_graph_module_keep_the_attributes_that_it_names():
    import copy

    module = tl.fx.symbolic_trace(lambda x: x + 1)
    module.meta[tl.fx.graph_module._USER_PRESERVED_ATTRIBUTES_KEY] = {"mark": 3}
    assert copy.deepcopy(module).mark == 3


def test_fusing_is_what_was_set():
    before = tl._C._jit_override_can_fuse_on_cpu(True)
    assert tl._C._jit_can_fuse_on_cpu()
    tl._C._jit_override_can_fuse_on_cpu(before)
    assert not tl._C._jit_can_fuse_on_cpu()


def test_options_of_modes_and_vectors_of_kernels(tmp_path, monkeypatch):
    from tl._inductor import cpu_vec_isa, list_mode_options, list_options
    from tl._inductor.runtime import cache_dir_utils

    assert list_mode_options()["default"] == {} and "max_autotune" in list_mode_options("max-autotune")
    assert set(list_mode_options("max-autotune")) <= set(list_options())
    with pytest.raises(RuntimeError, match="no mode 'fast'"):
        list_mode_options("fast")
    vectors = cpu_vec_isa.VecISA("AVX512")
    assert vectors.nelements(tl.bfloat16) == 32 and not cpu_vec_isa.VecISA("DEFAULT")
    assert cpu_vec_isa.pick_vec_isa().name == tl.backends.cpu.get_cpu_capability()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    assert cache_dir_utils.cache_dir() == str(tmp_path / "cache") and (tmp_path / "cache").is_dir()


def test_settings_by_their_dotted_names():
    config = importlib.import_module("tl._inductor.config")
    assert config.to_dict()["cpp.threads"] == getattr(config, "cpp.threads") == config.cpp.threads
    assert not hasattr(config, "cpp.no_such") and not hasattr(tl.nn, "no.such")
