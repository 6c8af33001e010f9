"""Names that the reference keeps private and other libraries use: each is the object that it stands for."""

import gc
import importlib
import subprocess
import sys
from typing import ClassVar

import pytest

import tl

STANDS_FOR = {
    "_C.DisableTorchFunctionSubclass": "tl_core.overrides.DisableTorchFunctionSubclass",
    "_C.Function": "tl_autograd.Function",
    "_C.TensorBase": "tl_core.Tensor",
    "_subclasses.fake_tensor.FakeTensorConverter": "tl_core.subclasses.fake_converter.FakeTensorConverter",
    "_subclasses.fake_tensor.FakeTensorMode": "tl_core.subclasses.FakeTensorMode",
    "_subclasses.fake_tensor.MetaConverter": "tl_core.subclasses.meta_utils.MetaConverter",
    "_subclasses.fake_tensor.is_fake": "tl_core.subclasses.fake_tensor.is_fake",
    "_subclasses.fake_tensor.unset_fake_temporarily": "tl_core.subclasses.fake_mode.unset_fake_temporarily",
    "ao.quantization.observer.HistogramObserver": "tl_quantization.HistogramObserver",
    "nn.modules.loss.Module": "tl_nn.Module",
    "nn.modules.loss.TripletMarginLoss": "tl_nn.TripletMarginLoss",
    "nn.utils.prune.PruningContainer": "tl_nn.utils.pruning_methods.PruningContainer",
    "nn.utils.prune._validate_pruning_amount": "tl_nn.utils.pruning_amounts._validate_pruning_amount",
    "_tensor_str.PRINT_OPTS": "tl_core.tensors.printing.PRINT_OPTS",
    "_utils._rebuild_parameter": "tl_checkpoint.rebuild.parameter",
    "_utils._rebuild_tensor_v2": "tl_checkpoint.rebuild.tensor",
    "_tensor._rebuild_from_type_v2": "tl_checkpoint.rebuild.from_type",
    "utils.hooks.BackwardHook": "tl_nn.modules.backward_hook.BackwardHook",
    "utils.hooks.RemovableHandle": "tl_autograd.hooks.RemovableHandle",
    "_VF.lstm": "tl_core.lstm",
    "_C._LinAlgError": "tl_core.linalg.LinAlgError",
    "_C._TensorBase": "tl_core.Tensor",
    "_C._disabled_torch_function_impl": "tl_core.overrides.disabled_torch_function",
    "_C.ScriptModule": "tl_compiler.jit.ScriptModule",
    "_jit_internal.unused": "tl_compiler.jit.unused",
    "_lowrank.svd_lowrank": "tl_core.svd_lowrank",
    "torch_version.TorchVersion": "tl._release.Release",
    "_C._dispatch_get_registrations_for_dispatch_key": (
        "tl_core.library.schema_lists._dispatch_get_registrations_for_dispatch_key"
    ),
    "_export.pass_base._ExportPassBaseDeprecatedDoNotUse": "tl_compiler.export.pass_base.ExportPassBase",
    "_export.passes.lift_constants_pass.ConstantAttrMap": "tl_compiler.export.constant_attributes.ConstantAttrMap",
    "_export.utils.sequential_split": "tl_compiler.export.graph_parts.sequential_split",
    "_higher_order_ops.auto_functionalize.auto_functionalized": (
        "tl_compiler.higher_order.auto_functionalize.auto_functionalized"
    ),
    "_higher_order_ops.wrap.wrap_with_autocast": "tl_compiler.higher_order.wrap.wrap_with_autocast",
    "export._remove_effect_tokens_pass._remove_effect_tokens": (
        "tl_compiler.export._remove_effect_tokens_pass._remove_effect_tokens"
    ),
}


@pytest.mark.parametrize(("name", "real"), STANDS_FOR.items())
def test_a_private_name_is_its_object(name, real):
    parent, _, last = name.rpartition(".")
    module, _, real_name = real.rpartition(".")
    assert getattr(importlib.import_module(f"tl.{parent}"), last) is getattr(
        importlib.import_module(module), real_name
    )


def test_a_metaclass_may_derive_from_that_of_tensors():
    class Meta(tl._C._TensorMeta):
        pass

    class Marked(tl.Tensor, metaclass=Meta):
        pass

    assert type(Marked) is Meta and isinstance(tl.ones(1).as_subclass(Marked), tl.Tensor)


def test_the_size_of_an_element():
    assert tl._utils._element_size(tl.bfloat16) == 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [("_check", RuntimeError), ("_check_index", IndexError), ("_check_value", ValueError),
     ("_check_type", TypeError), ("_check_not_implemented", NotImplementedError)],
)  # fmt: skip
def test_a_condition_raises_its_error(name, kind):
    check = getattr(tl, name)
    check(True, lambda: 1 / 0)
    with pytest.raises(kind, match="why"):
        check(False, lambda: "why")
    with pytest.raises(kind, match="Expected cond to be True"):
        check(False)
    with pytest.raises(TypeError, match="cond must be a bool"):
        check(1)


def test_conditions_on_tensors():
    tl._check_tensor_all(tl.tensor([True, True]))
    with pytest.raises(RuntimeError, match="rows"):
        tl._check_tensor_all(tl.tensor([True, False]), lambda: "rows")
    with pytest.raises(AssertionError, match="odd"):
        tl._assert(tl.tensor(False), "odd")


# ---- torch._C ------------------------------------------------------------------------------------------------------
def test_names_of_the_native_module_answer():
    c = tl._C
    assert c._get_accelerator() == tl.device("cpu") and c._get_default_device() == tl.device("cpu")
    with pytest.raises(RuntimeError, match="no accelerator"):
        c._get_accelerator(True)
    assert c._get_tracing_state() is None and not c._is_tracing() and c._cuda_getDeviceCount() == 0
    assert c._log_api_usage_once("library.name") is None
    assert c._infer_size((2, 1), (3,)) == (2, 3)
    assert c._VariableFunctions.add is tl.add
    with tl.overrides.BaseTorchFunctionMode() as mode:
        assert c._len_torch_function_stack() == 1 and c._get_function_stack_at(0) is mode
        assert tl.overrides._get_current_function_mode() is mode
        assert (tl.ones(2) + 1).tolist() == [2, 2]
    assert tl.overrides._get_current_function_mode() is None
    with tl._C.DisableTorchFunctionSubclass():
        assert not tl._C._is_torch_function_all_disabled() and not tl._C._is_torch_function_enabled()
        with tl._C._EnableTorchFunction():
            assert tl._C._is_torch_function_enabled()
        assert not tl._C._is_torch_function_enabled()
    with tl._C.DisableTorchFunction():
        assert tl._C._is_torch_function_all_disabled() and not tl._C._is_torch_function_enabled()


def test_settings_of_torchscript_are_read_back():
    assert tl._C._jit_set_profiling_executor(False) is True
    assert tl._C._jit_set_profiling_executor(True) is False
    assert (
        tl._C._get_graph_executor_optimize(True) is False
        and tl._C._get_graph_executor_optimize(False) is True
    )


def test_classes_of_torchscript_can_be_asked_about_but_not_made():
    assert not isinstance(tl.ones(1), (tl._C.Value, tl._C.Graph)) and issubclass(tl._C.ListType, tl._C.Type)
    with pytest.raises(RuntimeError, match="Graph is a part of TorchScript"):
        tl._C.Graph()
    with pytest.raises(RuntimeError, match="graphs of TorchScript"):
        tl._C.parse_ir("graph():")


def test_the_arguments_of_to_are_read():
    assert tl._C._nn._parse_to("cpu", tl.float64)[:2] == (tl.device("cpu"), tl.float64)


def test_an_asynchronous_assertion():
    assert tl._assert_async(tl.tensor(True)) is None
    with pytest.raises(RuntimeError, match="was zero"):
        tl._assert_async(tl.tensor(0), "was zero")
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        tl._assert_async(tl.ones(2))


# ---- torch._utils --------------------------------------------------------------------------------------------------
def test_tensors_become_one_and_come_apart():
    parts = [tl.arange(4.0).view(2, 2), tl.tensor(7.0), tl.empty(0)]
    flat = tl._utils._flatten_dense_tensors(parts)
    assert flat.tolist() == [0, 1, 2, 3, 7]
    back = tl._utils._unflatten_dense_tensors(flat, parts)
    assert [b.shape for b in back] == [p.shape for p in parts] and all(
        b.equal(p) for b, p in zip(back, parts)
    )
    back[1].fill_(9)
    assert flat[4] == 9


def test_tensors_are_grouped_by_type_and_size():
    xs = [tl.zeros(2), tl.zeros(2, dtype=tl.int64), tl.zeros(3), tl.zeros(2)]
    groups = [[x.numel() for x in g] for g in tl._utils._take_tensors(xs, 16)]
    assert groups == [[2], [3], [2], [2]] or sorted(map(tuple, groups)) == [(2,), (2,), (2,), (3,)]
    assert all(len({x.dtype for x in g}) == 1 for g in tl._utils._take_tensors(xs, 10**6))
    grouped = [x for g in tl._utils._take_tensors(xs, 10**6) for x in g]
    assert [x.dtype for x in tl._utils._reorder_tensors_as(grouped, xs)] == [x.dtype for x in xs]


class Picky(Exception):
    def __init__(self, one, two):
        super().__init__(one)


@pytest.mark.parametrize(
    ("error", "kind"), [(ValueError("v"), ValueError), (KeyError("k"), KeyError), (Picky(1, 2), RuntimeError)]
)
def test_an_error_is_raised_elsewhere_with_its_traceback(error, kind):
    try:
        raise error
    except Exception:
        wrapped = tl._utils.ExceptionWrapper(where="in worker 3")
    with pytest.raises(kind, match=r"(?s)in worker 3.*Original Traceback.*test_private_names"):
        wrapped.reraise()


@pytest.mark.parametrize(("device", "index"), [(3, 3), ("cuda:2", 2)])
def test_the_index_of_a_device(device, index):
    assert tl._utils._get_device_index(device) == index


def test_a_device_without_index_is_refused_unless_it_may():
    assert tl._utils._get_device_index("cuda", optional=True) == 0
    assert tl._utils._get_device_index("cpu", allow_cpu=True) == -1
    for device in ("cuda", "cpu", None):
        with pytest.raises(ValueError, match="Expected a"):
            tl._utils._get_device_index(device)


def test_properties_of_classes_and_old_keywords():
    class A:
        @tl._utils.classproperty
        def label(cls):
            return cls.__name__

    assert A.label == A().label == "A"
    assert tl._utils._get_async_or_non_blocking("f", False, {"async": True}) is True
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        tl._utils._get_async_or_non_blocking("f", False, {"x": 1})
    assert tl._utils.render_call(tl.add, (1,), {"alpha": 2}) == "torch.add(1, alpha=2)"
    assert tl._utils._import_dotted_name("os.path.join") is importlib.import_module("os").path.join


# ---- torch._prims_common, torch._jit_internal and others -----------------------------------------------------------
def test_facts_about_element_types():
    p = tl._prims_common
    assert p.is_integer_dtype(tl.uint8) and not p.is_integer_dtype(tl.bool) and p.is_boolean_dtype(tl.bool)
    assert p.corresponding_real_dtype(tl.complex64) is tl.float32
    assert p.corresponding_complex_dtype(tl.float64) is tl.complex128
    assert [p.dtype_to_type(d) for d in (tl.bool, tl.int8, tl.half, tl.cfloat)] == [bool, int, float, complex]
    assert p.type_to_dtype(complex) is tl.complex64 and p.get_higher_type(int, float) is float
    assert p.get_higher_dtype(tl.int8, tl.ones(1)) is tl.float32 and p.get_higher_dtype(None, None) is None
    with pytest.raises(ValueError, match="expected bool, int, float or complex"):
        p.type_to_dtype(str)


@pytest.mark.parametrize(
    ("args", "kind", "expected"),
    [
        ((tl.ones(1, dtype=tl.int32), 2.0), "DEFAULT", (tl.float32, tl.float32)),
        ((tl.ones(1, dtype=tl.half), tl.ones((), dtype=tl.float64)), "DEFAULT", (tl.float32, tl.float16)),
        ((tl.ones(1, dtype=tl.half),), "NO_OPMATH", (tl.float16, tl.float16)),
        ((tl.ones(1, dtype=tl.int8),), "INT_TO_FLOAT", (tl.float32, tl.float32)),
        ((tl.ones(1), 1), "ALWAYS_BOOL", (tl.float32, tl.bool)),
        ((tl.ones(1, dtype=tl.cfloat),), "COMPLEX_TO_FLOAT", (tl.complex64, tl.float32)),
        ((tl.ones(1, dtype=tl.bool),), "BOOL_TO_LONG", (tl.int64, tl.int64)),
    ],
)
def test_types_of_elementwise_functions(args, kind, expected):
    p = tl._prims_common
    kinds = p.ELEMENTWISE_TYPE_PROMOTION_KIND
    assert p.elementwise_dtypes(*args, type_promotion_kind=kinds[kind]) == expected


def test_facts_about_shapes():
    p = tl._prims_common
    assert p.canonicalize_dim(3, -1) == 2 and p.canonicalize_dims(3, (-1, 0)) == (2, 0)
    with pytest.raises(IndexError, match=r"\[-3, 2\], but got 3"):
        p.canonicalize_dim(3, 3)
    assert p.make_contiguous_strides_for((2, 3, 0)) == tl.empty(2, 3, 0).stride()
    assert p.make_contiguous_strides_for((2, 3), row_major=False) == (1, 2)
    assert p.compute_required_storage_length((2, 3), (3, 1), 4) == 10
    assert p.compute_required_storage_length((2, 0), (3, 1), 4) == 0
    assert p.is_non_overlapping_and_dense(tl.ones(2, 3).t()) and not p.is_non_overlapping_and_dense(
        tl.ones(4)[::2]
    )
    assert p.suggest_memory_format(tl.ones(2, 3, 4, 4).to(memory_format=tl.channels_last)) is tl.channels_last
    assert p.reduction_dims((2, 3), None) == (0, 1)
    with pytest.raises(RuntimeError, match="duplicate"):
        p.reduction_dims((2, 3), (0, -2))


def test_decorators_for_torchscript_leave_functions_as_they_are():
    j = tl._jit_internal
    assert j._overload(len) is len and not j.is_scripting() and j.BroadcastingList2[int] is None
    assert j.is_optional(int | None) and j.is_tuple(tuple[int, ...]) and not j.is_optional(int)
    pick = j.boolean_dispatch("both", 1, False, lambda x, both: (x, x), lambda x, both=False: x, "m", "pick")
    assert pick(1) == 1 and pick(1, True) == pick(1, both=True) == (1, 1) and pick.__name__ == "pick"
    here = 5
    assert j.createResolutionCallbackFromFrame()("here") is here


def test_small_private_modules():
    assert tl._six.string_classes is str and tl._six.inf == float("inf")
    assert tl._linalg_utils.qform(None, tl.ones(2, 1)).tolist() == [[2.0]]
    assert tl.utils._foreach_utils._get_fused_kernels_supported_devices() == ["cpu"]
    grouped = tl.utils._foreach_utils._group_tensors_by_device_and_dtype(
        [[tl.ones(1), tl.ones(2, dtype=tl.int64), tl.ones(3)], [tl.zeros(1), tl.zeros(2), tl.zeros(3)], []],
        True,
    )
    lists, indices = grouped[tl.device("cpu"), tl.float32]
    assert indices == [0, 2] and [len(x) for x in lists[0]] == [1, 3] and lists[2] == []
    assert tl.torch_version.TorchVersion("2.10") > "2.9"


# ---- torch.utils.weak, _contextlib, _device, optim -----------------------------------------------------------------
def test_weak_references_go_by_identity():
    a, b = tl.ones(2), tl.ones(2)
    weak = tl.utils.weak
    assert weak.WeakIdRef(a) == weak.WeakIdRef(a) and weak.WeakIdRef(a) != weak.WeakIdRef(b)
    assert hash(weak.WeakIdRef(a)) == hash(weak.WeakIdRef(a))
    ref = weak.TensorWeakRef(a)
    assert ref() is a
    reference = weak.WeakTensorKeyDictionary({a: 1, b: 2})
    assert (
        reference[a] == 1
        and len(reference) == 2
        and {id(k) for k in reference} == {id(a), id(b)}
        and 3 not in reference
    )
    assert dict(enumerate(reference.copy().values())) == {0: 1, 1: 2}
    del reference[b]
    assert b not in reference and len(reference) == 1
    del a
    gc.collect()
    assert ref() is None and len(reference) == 0 and not list(reference)
    with pytest.raises(TypeError, match="expected a Tensor, got int"):
        weak.TensorWeakRef(3)
    with pytest.raises(KeyError):
        reference[b]


def test_contexts_decorate_functions():
    c = tl.utils._contextlib

    class Counting(c._DecoratorContextManager):
        seen: ClassVar[list[int]] = []

        def __enter__(self):
            self.seen.append(1)

        def __exit__(self, *error):
            self.seen.append(-1)

    @Counting()
    def f(x):
        return x + sum(Counting.seen)

    assert f(1) == 2 and f(1) == 2 and sum(Counting.seen) == 0 and f.__name__ == "f"
    assert c.context_decorator(tl.no_grad, tl.is_grad_enabled)() is False
    assert c.context_decorator(tl.no_grad(), tl.is_grad_enabled)() is False and tl.is_grad_enabled()


def test_the_default_device_as_a_context():
    with tl.utils._device.DeviceContext("meta") as context:
        assert tl.ones(1).is_meta and context.device == tl.device("meta")
    assert not tl.ones(1).is_meta
    assert tl.utils._device.set_device("meta")(tl.ones)(2).is_meta


def test_what_other_optimizers_use():
    o = tl.optim.optimizer
    assert o._get_value(tl.tensor(3.0)) == 3 and o._get_value(2) == 2 and o._stack_if_compiling(5) == 5
    assert o._dispatch_sqrt(9) == 3 and o._dispatch_sqrt(tl.tensor(9.0)) == 3
    assert o._get_scalar_dtype() is tl.float32 and o._disable_dynamo_if_unsupported()(len) is len
    params, states = [tl.ones(2), tl.ones(2, dtype=tl.cfloat)], [tl.zeros(2), tl.zeros(2, dtype=tl.cfloat)]
    o._view_as_real(params, states)
    assert [p.shape for p in (*params, *states)] == [(2,), (2, 2), (2,), (2, 2)]


def test_streams_and_events_of_the_cpu():
    with tl.Stream("cpu") as stream:
        event = stream.record_event()
        stream.wait_event(event), stream.wait_stream(tl.Stream()), stream.synchronize()
    assert stream.query() and event.query() and event.device == stream.device == tl.device("cpu")
    start, end = tl.Event(enable_timing=True), tl.Event("cpu", enable_timing=True)
    start.record(stream)
    end.record()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(event)
    for make in (lambda: tl.Stream("cuda"), lambda: tl.Event("cuda"), lambda: tl.Event(interprocess=True)):
        with pytest.raises(RuntimeError, match=r"not available|can't be shared"):
            make()


def test_higher_order_operators_are_found_before_they_are_loaded():
    program = "import tl; print(tl.ops.higher_order.cond, hasattr(tl.ops.higher_order, 'nothing'))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["cond", "False"]
