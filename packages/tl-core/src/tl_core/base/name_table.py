"""Which module answers for which dotted name of PyTorch's API: `nn.functional` is `tl_nn.functional`.

The façade serves names by this table, and files name classes by it. The longest prefix wins:
`distributed.checkpoint.state_dict` is found through `distributed.checkpoint`, not through `distributed`. A name without
a line belongs to the core: `linalg` is `tl_core.linalg`. Names are data here; nothing that they name is loaded.
"""

from __future__ import annotations

from tl_core.base.quantization_names import GROUPS as QUANTIZATION_GROUPS
from tl_core.base.quantization_names import MODULES as QUANTIZATION_MODULES

__all__ = [
    "ALIASES", "CORE", "FACADE", "HOMES", "MODULES", "NATIVE_NAMESPACES", "OBJECTS", "ROOMS",
    "facade_of", "first_name_of", "home_of", "module_of", "real_name_of",
]  # fmt: skip

CORE = "tl_core"

_OBSERVERS = ("granularity", "histogram_observer", "observer_base", "range_observers", "rangeless_observers")
_RANKS = (  # modules below `distributed.`, and theirs below tl_distributed
    "tensor.experimental._attention:tensor.experimental.attention fsdp._fully_shard._fsdp_param:fsdp.managed_states "
    "fsdp._fully_shard._fsdp_param_group:fsdp.managed_states _functional_collectives:nn.functional_collectives "
    "fsdp._fully_shard._fsdp_init:fsdp.managed_states collective_utils:collectives.collective_utils "
    "_symmetric_memory:compat.symmetric_memory _state_dict_utils:compat.state_dict_utils "
    "fsdp._traversal_utils:fsdp.wrapper_states tensor._utils:tensor.layout tensor._api:tensor.api "
    "flight_recorder:backends.flight_recorder logging_handlers:groups.logging_handlers rendezvous:stores.rendezvous "
    "tensor._dtensor_spec:tensor.dtensor_spec fsdp._common_utils:fsdp.wrapper_names remote_device:base.remote_device "
    "argparse_util:launcher.argparse_util _composable:parallel.composable _composable.replicate:parallel.replicate "
    "_shard:compat.shard _shard.sharded_tensor.shard:compat.shard.sharded_tensor "
    "_shard.sharded_tensor.metadata:compat.shard.metadata _shard.sharded_tensor.api:compat.shard.sharded_tensor "
    "_shard.sharding_spec.api:compat.shard.sharding_spec _shard.sharding_spec._internals:compat.shard.sharding_spec "
    "_shard.sharding_spec.chunk_sharding_spec:compat.shard.sharding_spec "
    "c10d_logger:groups.c10d_logger device_mesh:groups.device_mesh constants:base.constants utils:collectives.utils"
)  # fmt: skip
MODULES = {
    "_C._autograd": "tl_autograd.compat.native_names",
    "_C._distributed_c10d": "tl_distributed.native_names",
    "_C._distributed_rpc": "tl_distributed.rpc.native_names",
    "_C._profiler": "tl_autograd.compat.native_profiler_names",
    "_VF": "tl_core.compat.vf",
    "_tensor": "tl_core.api.tensor_methods",
    "classes": "tl_core.extensions.custom_classes",
    "contrib": "tl_core.api.contrib",
    "ops": "tl_core.operators.packets",
    "quasirandom": "tl_core.functions.quasirandom",
    "return_types": "tl_core.base.return_types",
    "__config__": "tl_core.api.build_config",
    "__future__": "tl_core.settings.conversions",
    "_dynamo": "tl_compiler.compat.dynamo",
    "_dynamo.config": "tl_compiler.compiler.dynamo_config",
    "_dynamo.exc": "tl_compiler.compiler.errors",
    "_dynamo.output_graph": "tl_compiler.compiler.explanation",
    "_dynamo._trace_wrapped_higher_order_op": "tl_compiler.higher_order.index_mode",
    "_custom_op.functional": "tl_core.library.functional_variant",
    "_C._functorch": "tl_autograd.compat.functorch.native",
    "_functorch": "tl_autograd.compat.functorch",
    "_functorch.aot_autograd": "tl_compiler.aot.aot_autograd",
    "_functorch.compilers": "tl_compiler.aot.compilers",
    "_functorch.config": "tl_core.subclasses.config",
    "_functorch.functional_call": "tl_nn.func",
    "_functorch.make_functional": "tl_nn.make_functional",
    "_functorch.pyfunctorch": "tl_autograd.func.interpreter",
    "_functorch.partitioners": "tl_compiler.aot.partitioners",
    "_decomp": "tl_compiler.decompositions",
    "_higher_order_ops": "tl_compiler.higher_order",
    "_higher_order_ops.scan": "tl_compiler.higher_order.loops",
    "_higher_order_ops.torchbind": "tl_compiler.compat.torchbind",
    "_higher_order_ops.while_loop": "tl_compiler.higher_order.while_loop",
    "_inductor": "tl_compiler.compat.inductor",
    "_jit_internal": "tl_compiler.jit.internal",
    "_library.autograd": "tl_autograd.custom_operator",
    "_library.custom_ops": "tl_core.library.custom_ops",
    "_library.fake_impl": "tl_core.subclasses.fake_impl",
    "_library.infer_schema": "tl_core.library.schema_inference",
    "_custom_op": "tl_core.compat.older_custom_ops",
    "_custom_op.impl": "tl_core.compat.older_custom_ops.operators",
    "_custom_ops": "tl_core.compat.older_custom_ops.functions",
    "_library.simple_registry": "tl_core.library.simple_registry",
    "_library.utils": "tl_core.library.utils",
    "_linalg_utils": "tl_core.compat.linalg_utils",
    "_logging": "tl_core.base.component_logging",
    "_lobpcg": "tl_core.functions.lobpcg",
    "_lowrank": "tl_core.functions.lowrank",
    "_namedtensor_internals": "tl_core.tensors.named_tensor",
    "_dispatch.python": "tl_core.compat.dispatch_python",
    "_guards": "tl_core.subclasses.tracing_context",
    "testing._internal.composite_compliance": "tl_core.testing.composite_compliance",
    "testing._internal.distributed.fake_pg": "tl_distributed.stores.fake_store",
    "_prims_common.wrappers": "tl_core.compat.prims_wrappers",
    "_prims": "tl_core.compat.prims",
    "_prims.executor": "tl_compiler.compat.prims_executor",
    "_prims.rng_prims": "tl_compiler.compat.rng_prims",
    "_prims_common": "tl_core.compat.prims_common",
    "_refs": "tl_core.compat.refs",
    "_six": "tl_core.compat.six",
    "_subclasses": "tl_core.subclasses",
    "_subclasses.functional_tensor": "tl_autograd.compat.functional_tensor",
    "_tensor_str": "tl_core.tensors.printing",
    "_utils_internal": "tl_core.compat.utils_internal",
    "_utils": "tl_core.compat.utils",
    "_vmap_internals": "tl_autograd.func.older_vmap",
    "accelerator": "tl_backends.accelerator",
    "amp": "tl_amp",
    **{"distributed." + n: "tl_distributed." + m for n, m in (row.split(":") for row in _RANKS.split())},
    **{"ao." + n: "tl_quantization" + m for n, m in (row.split(":") for row in QUANTIZATION_MODULES.split())},
    "autograd": "tl_autograd",
    "autograd._functions": "tl_autograd.compat.older_functions",
    "backends": "tl_backends.backends",
    "checkpoint": "tl_checkpoint",
    "compiler": "tl_compiler.compiler",
    "cpu": "tl_backends.cpu",
    "cpu.amp": "tl_amp.cpu",
    "cuda": "tl_backends.cuda",
    "cuda._memory_viz": "tl_profiler.memory_viz",
    "cuda.amp": "tl_amp.cuda",
    "distributed": "tl_distributed",
    "distributed.checkpoint": "tl_checkpoint.distributed",
    "distributed.elastic.utils.data": "tl_data.elastic",
    "distributions": "tl_distributions",
    "export": "tl_compiler.export",
    "jit.quantized": "tl_quantization.compat.script_layers",
    "func": "tl_autograd.func",
    "fx": "tl_compiler.fx",
    "fx.passes.tests": "tl_compiler.compat.pass_tests",
    "hub": "tl_utils.hub",
    "jit": "tl_compiler.jit",
    "jit._builtins": "tl_compiler.compat.script.builtins",
    "jit._recursive": "tl_compiler.compat.script.recursive",
    **dict.fromkeys(("jit._script", "jit._trace"), "tl_compiler.jit.scripts"),
    "jit._state": "tl_compiler.compat.script.state",
    "jit.frontend": "tl_compiler.jit.frontend",
    "monitor": "tl_utils.monitor",
    "mps": "tl_backends.mps",
    "mtia": "tl_backends.mtia",
    "nn": "tl_nn",
    "nn.utils._expanded_weights": "tl_nn.utils.expanded_weights",
    "nn.utils._per_sample_grad": "tl_nn.utils.per_sample_grad",
    "nn.parallel.distributed": "tl_distributed.parallel.distributed_data_parallel",
    "numa.binding": "tl_distributed.base.numa",
    "onnx": "tl_compiler.onnx",
    **{f"onnx.symbolic_opset{n}": "tl_compiler.onnx.symbolic_functions" for n in range(7, 21)},
    **{f"onnx._internal.exporter{n}": "tl_compiler.compat.onnx_names" for n in ("", "._core", "._testing")},
    "optim": "tl_nn.optim",
    "package": "tl_compiler.package",
    "profiler": "tl_profiler",
    "serialization": "tl_checkpoint.serialization",
    "sparse._triton_ops_meta": "tl_core.compat.triton_meta",
    "sparse.semi_structured": "tl_core.sparse_layouts.semi_structured",
    "utils._triton": "tl_core.compat.triton",
    "utils.cpp_extension": "tl_core.extensions.cpp_extension",
    "utils._contextlib": "tl_core.dispatch.context_managers",
    "utils._device": "tl_core.compat.device_context",
    "utils._foreach_utils": "tl_core.tensors.foreach_utils",
    "testing._comparison": "tl_core.testing.comparison",
    "utils._import_utils": "tl_core.compat.import_utils",
    "utils._ordered_set": "tl_core.compat.ordered_set",
    "utils._mode_utils": "tl_core.dispatch.modes",
    "utils._python_dispatch": "tl_core.subclasses.python_dispatch",
    "utils._pytree": "tl_core.pytree",
    "utils._config_module": "tl_core.settings.config_module",
    "utils._sympy.numbers": "tl_compiler.symbolic.ranges",
    "utils._stats": "tl_utils._stats",
    "utils._traceback": "tl_utils._traceback",
    "utils._zip": "tl_utils._zip",
    "utils.backcompat": "tl_utils.backcompat",
    "utils.backend_registration": "tl_utils.backend_registration",
    "utils.benchmark": "tl_utils.benchmark",
    "utils.bottleneck": "tl_utils.bottleneck",
    "utils.bundled_inputs": "tl_utils.bundled_inputs",
    "utils.checkpoint": "tl_autograd.checkpoint",
    "utils.collect_env": "tl_utils.collect_env",
    "utils.cpp_backtrace": "tl_core.extensions.cpp_backtrace",
    "utils.data": "tl_data",
    "utils.data._utils": "tl_data.compat._utils",
    "utils.data.backward_compatibility": "tl_data.compat.backward_compatibility",
    "utils.data.datapipes": "tl_data.compat.datapipes",
    "utils.data.graph": "tl_data.compat.graph",
    "utils.data.graph_settings": "tl_data.compat.graph_settings",
    "utils.deterministic": "tl_core.settings.uninitialized_fill",
    "utils.dlpack": "tl_core.tensors.dlpack",
    "utils.file_baton": "tl_utils.file_baton",
    "utils.flop_counter": "tl_utils.flop_counter",
    "utils.hipify": "tl_utils.compat.hipify",
    "utils.jit": "tl_utils.jit",
    "utils.mkldnn": "tl_utils.mkldnn",
    "utils.mobile_optimizer": "tl_utils.mobile_optimizer",
    "utils.model_dump": "tl_utils.model_dump",
    "utils.model_zoo": "tl_utils.model_zoo",
    "utils.module_tracker": "tl_utils.module_tracker",
    "utils.serialization.config": "tl_checkpoint.config",
    "utils.show_pickle": "tl_utils.show_pickle",
    "utils.tensorboard": "tl_utils.tensorboard",
    "utils.throughput_benchmark": "tl_utils.throughput_benchmark",
    "utils.viz": "tl_utils.viz",
    "utils.weak": "tl_core.base.weak",
    "xpu": "tl_backends.xpu",
}

# PyTorch's experiments with graphs that no code of tl-compiler uses.
_EXPERIMENTS = (
    "accelerator_partitioner const_fold debug graph_gradual_typechecker merge_matmul meta_tracer migrate_gradual_types "
    "normalize optimization partitioner_utils recording refinement_types rewriter rules schema_type_annotation "
    "sym_node unification unify_refinements validator"
)
MODULES |= {
    f"fx.experimental.{name}": f"tl_compiler.compat.experimental.{name}" for name in _EXPERIMENTS.split()
}

# Second names of modules: older ones, and files of the reference that are one here.
ALIASES = {
    "_C._cpu": "cpu",
    "_export": "export",
    "_export.passes.lift_constants_pass": "export.constant_attributes",
    "_functorch.batch_norm_replacement": "_functorch.functional_call",
    **dict.fromkeys(
        ("_higher_order_ops.associative_scan", "_higher_order_ops.map"), "_higher_order_ops.scan"
    ),
    "_refs.fft": "fft",
    "_refs.linalg": "linalg",
    "_refs.nn": "nn",
    "_refs.nn.functional": "nn.functional",
    "_refs.special": "special",
    "distributed._composable.fsdp": "distributed.fsdp",
    "distributed._sharded_tensor": "distributed._shard.sharded_tensor",
    "distributed._sharding_spec": "distributed._shard.sharding_spec",
    "distributed._tensor": "distributed.tensor",
    "distributed.checkpoint._consolidate_hf_safetensors": "distributed.checkpoint.hf_storage",
    "distributed.checkpoint._nested_dict": "distributed.checkpoint.nested_dict",
    "distributed.checkpoint._traverse": "distributed.checkpoint.nested_dict",
    "distributed.tensor.device_mesh": "distributed.device_mesh",
    "nn.intrinsic": "ao.nn.intrinsic",
    "nn.qat": "ao.nn.qat",
    "nn.quantizable": "ao.nn.quantizable",
    "nn.quantized": "ao.nn.quantized",
    "nn.functional._Reduction": "nn._reduction",
    "nn.functional.grad": "nn.grad",
    "quantization": "ao.quantization",
    "utils._cxx_pytree": "utils._pytree",
    "utils._sympy.value_ranges": "utils._sympy.numbers",
}

_GRANULARITY = (
    "AffineQuantizedObserverBase Granularity MappingType PerAxis PerBlock PerGroup "
    "PerRow PerTensor PerToken TorchAODType ZeroPointDomain get_block_size"
)
OBJECTS = {
    "_C._jit_pass_inline": "tl_compiler.script.handle_functions:inline_calls",
    "_C._check_onnx_proto": "tl_compiler.compat.onnx_names:check_onnx_proto",
    "_C._freeze_module": "tl_compiler.script.handle_functions:freeze_handle",
    "distributed._all_gather_base": "tl_distributed.collectives.tensor_collectives:all_gather_into_tensor",
    "distributed.tensor.placement_types.DTensorSpec": "tl_distributed.tensor.dtensor_spec:DTensorSpec",
    "distributed.tensor.placement_types.DeviceMesh": "tl_distributed.groups.device_mesh:DeviceMesh",
    "distributed.tensor.placement_types.TensorMeta": "tl_distributed.tensor.dtensor_spec:TensorMeta",
    "distributed._make_nccl_premul_sum": "tl_distributed.base.reduction:_make_nccl_premul_sum",
    "distributed._reduce_scatter_base": "tl_distributed.collectives.tensor_collectives:reduce_scatter_tensor",
    "functional.align_tensors": "tl_core.tensors.named_tensor:align_tensors",
    "amp._enter_autocast": "tl_amp.autocast_mode:_enter_autocast",
    "amp._exit_autocast": "tl_amp.autocast_mode:_exit_autocast",
    "autograd._is_checkpoint_valid": "tl_autograd.compat.native_names:_is_checkpoint_valid",
    "cpu._get_cpu_capability": "tl_core.compat.native:_get_cpu_capability",
    "cuda.amp.autocast_mode._cast": "tl_amp.autocast_mode:_cast",
    "qscheme": "tl_quantization:QScheme",
    **{
        f"ao.quantization.observer.{name}": f"tl_quantization.granularity:{name}"
        for name in _GRANULARITY.split()
    },
    "ao.quantization.observer._is_activation_post_process": "tl_quantization.fake_quantize:_is_activation_post_process",
    "utils.generate_methods_for_privateuse1_backend": (
        "tl_nn.extension_methods:generate_methods_for_privateuse1_backend"
    ),
    "Tag": "tl_core.schemas.tags:Tag",
    "_C.Tag": "tl_core.schemas.tags:Tag",
    "_C._AutoDispatchBelowAutograd": "tl_core.dispatch.layers:AutoDispatchBelowAutograd",
    "_C._ExcludeDispatchKeyGuard": "tl_core.dispatch.layers:ExcludeDispatchKeyGuard",
    "_C.ExcludeDispatchKeyGuard": "tl_core.dispatch.layers:ExcludeDispatchKeyGuard",
    "_C._ForceDispatchKeyGuard": "tl_core.dispatch.fallbacks:ForceDispatchKeyGuard",
    "_C._IncludeDispatchKeyGuard": "tl_core.dispatch.fallbacks:IncludeDispatchKeyGuard",
    "_C._dispatch_tls_local_include_set": "tl_core.dispatch.fallbacks:included_keys",
    "_C._dispatch_tls_local_exclude_set": "tl_core.dispatch.fallbacks:excluded_keys",
    "_C.FunctionSchema": "tl_core.schemas.function_schema:FunctionSchema",
    "_C.Argument": "tl_core.schemas.function_schema:Argument",
    "parse_schema": "tl_core.schemas.parser:parse_schema",
    "_segment_reduce": "tl_core:segment_reduce",
    "autograd._disable_profiler": "tl_autograd.compat.native_names:_disable_profiler",
    "_C._set_math_sdp_allow_fp16_bf16_reduction": "tl_backends.backends.cuda:allow_fp16_bf16_reduction_math_sdp",
    "legacy_contiguous_format": "tl_core:contiguous_format",
    "_C._distributed_c10d._SymmetricMemory": "tl_distributed.compat.symmetric_memory:_SymmetricMemory",
    "_C._distributed_c10d.Reducer": "tl_distributed.parallel.reducer:Reducer",
    "_C.parse_schema": "tl_core.schemas.parser:parse_schema",
    "autograd._calculate_shape": "tl_autograd.gradient_shapes:_calculate_shape",
    "storage._load_from_bytes": "tl_checkpoint.legacy:load_from_bytes",
    "_ops.HigherOrderOperator": "tl_compiler.higher_order.base:HigherOrderOperator",
    "_ops.ops": "tl_core:ops",
    "_ops.OpOverload": "tl_core.operators.packets:OpOverload",
    "_ops.OpOverloadPacket": "tl_core.operators.packets:OpOverloadPacket",
    "_ops._OpNamespace": "tl_core.operators.packets:_OpNamespace",
    "Event": "tl_backends.streams:Event",
    "GradScaler": "tl_amp:GradScaler",
    "Stream": "tl_backends.streams:Stream",
    "_C.DisableTorchFunctionSubclass": "tl_core.overrides:DisableTorchFunctionSubclass",
    "_C.Function": "tl_autograd:Function",
    "_C.TensorBase": "tl_core:Tensor",
    "_C.DisableTorchFunction": "tl_core.overrides:DisableTorchFunction",
    "_C._EnableTorchFunction": "tl_core.overrides:_EnableTorchFunction",
    "_C.Future": "tl_core.futures:Future",
    **{f"_C.Script{kind}": f"tl_compiler.jit:Script{kind}" for kind in ("Function", "Module")},
    "ScriptModule": "tl_compiler.jit:ScriptModule",
    "ScriptObject": "tl_core.extensions.custom_classes:ScriptObject",
    "_C.ScriptObject": "tl_core.extensions.custom_classes:ScriptObject",
    "ScriptFunction": "tl_compiler.jit:ScriptFunction",
    "jit._overload": "tl_compiler.jit.internal:_overload",
    "jit._overload_method": "tl_compiler.jit.internal:_overload_method",
    "_C.Size": "tl_core:Size",
    "_C.StorageBase": "tl_core:UntypedStorage",
    "_C._FunctionBase": "tl_autograd:Function",
    "_mkldnn": "tl_core._C:_mkldnn",
    "functional.F": "tl_nn:functional",
    "_C._ConvBackend": "tl_core.compat.convolution_backends:_ConvBackend",
    "_C._select_conv_backend": "tl_core.compat.convolution_backends:_select_conv_backend",
    "_C._LinAlgError": "tl_core.base.errors:LinAlgError",
    "_C._StorageBase": "tl_core:UntypedStorage",
    "_C._TensorBase": "tl_core:Tensor",
    "_C._disabled_torch_function_impl": "tl_core.overrides:disabled_torch_function",
    "_C._nn._parse_to": "tl_nn.modules.to:_parse_to",
    "_C._nn.pad_sequence": "tl_nn.utils.rnn:pad_sequence",
    "DisableTorchFunction": "tl_core.overrides:DisableTorchFunction",
    "DisableTorchFunctionSubclass": "tl_core.overrides:DisableTorchFunctionSubclass",
    "DispatchKey": "tl_core.dispatch.keys:DispatchKey",
    "DispatchKeySet": "tl_core.dispatch.keys:DispatchKeySet",
    "ExcludeDispatchKeyGuard": "tl_core.dispatch.layers:ExcludeDispatchKeyGuard",
    "StorageBase": "tl_core:UntypedStorage",
    "_C.DispatchKey": "tl_core.dispatch.keys:DispatchKey",
    "_C.DispatchKeySet": "tl_core.dispatch.keys:DispatchKeySet",
    "_C._are_functorch_transforms_active": "tl_core.dispatch.modes:in_transform",
    "_C._DisableFuncTorch": "tl_core.dispatch.modes:no_transforms",
    "_C._DisableTorchDispatch": "tl_core.dispatch.modes:no_dispatch",
    "_C._TorchDispatchModeKey": "tl_core.subclasses.python_dispatch:TorchDispatchModeKey",
    "_C._dispatch_isTensorSubclassLike": "tl_core.dispatch.keys:is_tensor_subclass_like",
    "_C._dispatch_key_set": "tl_core.dispatch.keys:text_of_keys",
    "_C._dispatch_keys": "tl_core.dispatch.keys:keys_of",
    "_C._get_dispatch_mode": "tl_core.subclasses.python_dispatch:_get_dispatch_mode",
    "_C._get_dispatch_stack_at": "tl_core.subclasses.python_dispatch:_get_dispatch_stack_at",
    "_C._len_torch_dispatch_stack": "tl_core.subclasses.python_dispatch:_len_torch_dispatch_stack",
    "_C._pop_torch_dispatch_stack": "tl_core.subclasses.python_dispatch:_pop_mode",
    "_C._push_on_torch_dispatch_stack": "tl_core.subclasses.python_dispatch:_push_mode",
    "_C._set_dispatch_mode": "tl_core.subclasses.python_dispatch:_push_mode",
    "_C._unset_dispatch_mode": "tl_core.subclasses.python_dispatch:_unset_infra_mode",
    "_C._TensorMeta": "tl_core.api.tensor_methods:TensorMeta",
    "_nested_from_padded": "tl_core.nested.from_padded:from_padded",
    "_nested_from_padded_and_nested_example": "tl_core.nested.from_padded:from_padded_and_example",
    "_nested_tensor_from_mask": "tl_core.nested.from_padded:from_mask",
    "_nested_tensor_from_mask_left_aligned": "tl_core.nested.from_padded:is_left_aligned",
    "_tensor._rebuild_from_type": "tl_core.api.tensor_pickling:_rebuild_from_type",
    "_tensor._rebuild_from_type_v2": "tl_checkpoint.rebuild:from_type",
    "_utils._get_device_module": "tl_backends.device_modules:get_device_module",
    "utils.cmake_prefix_path": "tl_core.extensions.headers:cmake_prefix_path",
    "_utils._element_size": "tl_core.base.type_info:element_size",
    "_utils._get_restore_location": "tl_checkpoint.serialization_steps:_get_restore_location",
    "_utils._rebuild_meta_tensor_no_storage": "tl_checkpoint.rebuild:meta_tensor",
    "_utils._rebuild_nested_tensor": "tl_checkpoint.nested:strided",
    "_utils._rebuild_parameter": "tl_checkpoint.rebuild:parameter",
    "_utils._rebuild_parameter_with_state": "tl_checkpoint.rebuild:parameter_with_state",
    "_utils._rebuild_tensor_v3": "tl_checkpoint.rebuild:tensor_of_dtype",
    "_utils._rebuild_sparse_tensor": "tl_core.api.tensor_pickling:_rebuild_sparse_tensor",
    "_utils._rebuild_tensor_v2": "tl_checkpoint.rebuild:tensor",
    "align_tensors": "tl_core.tensors.named_tensor:align_tensors",
    "autocast": "tl_amp:autocast",
    "compile": "tl_compiler.compiler:compile",
    "cond": "tl_compiler.higher_order.cond:cond",
    "while_loop": "tl_compiler.higher_order.while_loop:while_loop",
    "sym_sqrt": "tl_core.symbolic.arithmetic:_sym_sqrt",
    "_efficientzerotensor": "tl_core.compat.zero_tensor:_efficientzerotensor",
    "_C._after_autograd_keyset": "tl_core.dispatch.layers:AFTER_AUTOGRAD",
    "eig": "tl_core.tensors.removed:eig",
    "lstsq": "tl_core.tensors.removed:lstsq",
    "matrix_rank": "tl_core.tensors.removed:matrix_rank",
    "solve": "tl_core.tensors.removed:solve",
    "symeig": "tl_core.tensors.removed:symeig",
    "_fused_sdp_choice": "tl_core.compat.attention:_fused_sdp_choice",
    "_native_multi_head_attention": "tl_core.compat.attention:_native_multi_head_attention",
    "_transform_bias_rescale_qkv": "tl_core.compat.attention:_transform_bias_rescale_qkv",
    "cosine_similarity": "tl_nn.functional:cosine_similarity",
    "func.functional_call": "tl_nn.func:functional_call",
    "get_device_module": "tl_backends.device_modules:get_device_module",
    "Future": "tl_core.futures:Future",
    "PyTorchFileReader": "tl_checkpoint.archive_files:PyTorchFileReader",
    "PyTorchFileWriter": "tl_checkpoint.archive_files:PyTorchFileWriter",
    "_C.PyTorchFileReader": "tl_checkpoint.archive_files:PyTorchFileReader",
    "_C.PyTorchFileWriter": "tl_checkpoint.archive_files:PyTorchFileWriter",
    "load": "tl_checkpoint:load",
    "lobpcg": "tl_core.functions.lobpcg:lobpcg",
    "nn.parallel.DistributedDataParallel": "tl_distributed.parallel:DistributedDataParallel",
    "pairwise_distance": "tl_nn.functional:pairwise_distance",
    "save": "tl_checkpoint:save",
    "compiled_with_cxx11_abi": "tl_core.api.build_config:compiled_with_cxx11_abi",
    "utils.get_cpp_backtrace": "tl_core.extensions.cpp_backtrace:get_cpp_backtrace",
    "utils.rename_privateuse1_backend": "tl_core.settings.extension_devices:rename_privateuse1_backend",
    "utils.set_module": "tl_core.base.public_names:set_module",
    "_C._current_graph_task_id": "tl_autograd.graph:current_graph_task_id",
    "utils.ThroughputBenchmark": "tl_utils.throughput_benchmark:ThroughputBenchmark",
    "distributed.DeviceMesh": "tl_distributed.groups.device_mesh:DeviceMesh",
    "distributed.init_device_mesh": "tl_distributed.groups.device_mesh:init_device_mesh",
    "is_anomaly_check_nan_enabled": "tl_autograd.anomaly_mode:is_anomaly_check_nan_enabled",
    "is_anomaly_enabled": "tl_autograd.anomaly_mode:is_anomaly_enabled",
    "set_anomaly_enabled": "tl_autograd.anomaly_mode:set_anomaly_enabled",
    "nn.functional.Tensor": "tl_core:Tensor",
    "nn.functional._get_softmax_dim": "tl_nn.functional.activations:_get_softmax_dim",
    "nn.functional._mha_shape_check": "tl_nn.functional.attention:_is_batched",
    "nn.Container": "tl_nn.modules.container:Container",
    "nn.utils.clip_grad._clip_grads_with_norm_": "tl_nn.utils.clip_grad:clip_grads_with_norm_",
    "nn.utils.clip_grad._get_total_norm": "tl_nn.utils.clip_grad:get_total_norm",
    "nn.utils.convert_parameters._check_param_device": "tl_nn.compat.parameter_devices:_check_param_device",
    "xpu._get_device_index": "tl_backends.compat.device_index:_get_xpu_device_index",
    "mtia._get_device_index": "tl_backends.compat.device_index:_get_mtia_device_index",
    "accelerator._get_device_index": "tl_backends.compat.device_index:_get_accelerator_device_index",
    "nn.functional._overload": "tl_compiler.jit.internal:_overload",
    "nn.functional._threshold": "tl_nn.functional:threshold",
    "nn.functional._unpool_output_size": "tl_nn.functional.max_pooling:_unpooled_size",
    "nn.functional._verify_batch_size": "tl_nn.functional.normalization:_check_several",
    "nn.functional.boolean_dispatch": "tl_compiler.jit.internal:boolean_dispatch",
    **{
        f"nn.functional._{kind}{n}d": f"tl_nn.functional:{kind}{n}d"
        for kind in ("adaptive_max_pool", "fractional_max_pool", "max_pool")
        for n in (1, 2, 3)
        if (kind, n) != ("fractional_max_pool", 1)
    },
    "nn.functional.BroadcastingList1": "tl_compiler.jit.internal:BroadcastingList1",
    "nn.functional.BroadcastingList2": "tl_compiler.jit.internal:BroadcastingList2",
    "nn.functional.BroadcastingList3": "tl_compiler.jit.internal:BroadcastingList3",
    "serialization.default_restore_location": "tl_checkpoint.locations:restore_location",
    "utils.hooks.warn_if_has_hooks": "tl_autograd.hooks:warn_if_has_hooks",
    "utils.hooks.unserializable_hook": "tl_autograd.hooks:unserializable_hook",
    "utils.swap_tensors": "tl_core.tensors.swapping:swap_tensors",
    "utils.hooks.BackwardHook": "tl_nn.modules.backward_hook:BackwardHook",
    "utils.hooks.RemovableHandle": "tl_autograd.hooks:RemovableHandle",
    "func.replace_all_batch_norm_modules_": "tl_nn.func:replace_all_batch_norm_modules_",
    "func.stack_module_state": "tl_nn.func:stack_module_state",
    "vmap": "tl_autograd.func:vmap",
}

# What the library says it was built with.
_BUILT_WITH = "has_cuda has_cudnn has_lapack has_mkl has_mkldnn has_mps has_openmp has_spectral"
# Types that schemas name.
_TYPES = (
    "AnyType AwaitType BoolType CapsuleType ClassType ComplexType DeviceObjType DictType FloatType FutureType "
    "GeneratorType IntType LayoutType ListType MemoryFormatType NoneType NumberType OptionalType RRefType "
    "ScalarTypeType StorageType StreamObjType StringType SymBoolType SymFloatType SymIntType TensorType TupleType "
    "Type UnionType VarType"
)
# Many names of one module: before them, the module's name in PyTorch's API.
_GROUPS = {
    ("", "tl_core.schemas.function_schema"): ("Argument FunctionSchema"),
    ("", "tl_core.compat.operators"): (
        "_assert_scalar _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short "
        "_chunk_cat _conj_physical _convolution _convolution_mode _cummax_helper _cummin_helper _embedding_bag "
        "_euclidean_dist _is_all_true _is_any_true _linalg_det _linalg_eigh _linalg_slogdet _linalg_solve_ex "
        "_linalg_svd _native_batch_norm_legit _native_batch_norm_legit_no_training _pin_memory _prelu_kernel "
        "_reshape_alias_copy _safe_softmax _scaled_dot_product_flash_attention_for_cpu _stack _trilinear "
        "_unsafe_index _unsafe_index_put _unsafe_masked_index _unsafe_masked_index_put_accumulate "
        "frobenius_norm sym_constrain_range sym_constrain_range_for_size"
    ),
    ("", "tl_nn.composite_operators"): ("_grouped_mm _scaled_grouped_mm _scaled_mm _scaled_mm_v2"),
    ("", "tl_core.functions.loss_scale"): ("_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_"),
    ("", "tl_core.compat.fbgemm"): (
        "fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight "
        "fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 "
        "fbgemm_pack_quantized_matrix"
    ),
    ("", "tl_core.functions.batch_statistics"): (
        "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
        "batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats"
    ),
    ("", "tl_core.dispatch.autocast"): (
        "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype "
        "get_autocast_dtype get_autocast_gpu_dtype is_autocast_available is_autocast_cache_enabled "
        "is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype "
        "set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype"
    ),
    ("", "tl_core.schemas.types"): _TYPES,
    ("", "tl_core.symbolic.numbers"): "SymBool SymFloat SymInt",
    ("", "tl_core.symbolic.arithmetic"): (
        "_sym_acos _sym_asin _sym_atan _sym_cos _sym_cosh _sym_exp _sym_log _sym_log10 _sym_log2 _sym_sin _sym_sinh "
        "_sym_sqrt _sym_tan _sym_tanh sym_fresh_size sym_float sym_int sym_ite sym_max sym_min sym_not sym_sum"
    ),
    ("", "tl_core.functions.private"): (
        "_cslt_compress _cslt_sparse_mm slice_inverse _conj_copy _foreach_norm _indices_copy "
        "_neg_view_copy _values_copy ccol_indices_copy col_indices_copy crow_indices_copy indices_copy "
        "is_distributed nuclear_norm row_indices_copy values_copy _unique _unique2 "
        "_has_compatible_shallow_copy_type _is_zerotensor _disable_dynamo _nnpack_available "
        "_running_with_deploy _assert_async _addmm_activation _masked_softmax _compute_linear_combination "
        "_assert_tensor_metadata _shape_as_tensor _reshape_from_tensor detach_ is_inference is_same_size"
    ),
    ("", "tl_core.compat.native"): _BUILT_WITH,
    ("", "tl_autograd.compat.functional_tensor"): (
        "_disable_functionalization _enable_functionalization _from_functional_tensor _is_functional_tensor _sync "
        "_to_functional_tensor"
    ),
    ("_C._nn.", "tl_core.compat.native_operators"): (
        "flatten_dense_tensors rrelu_with_noise rrelu_with_noise_ slow_conv3d slow_conv_dilated2d slow_conv_dilated3d "
        "slow_conv_transpose2d slow_conv_transpose3d thnn_conv2d unflatten_dense_tensors"
    ),
    ("_C._linalg.", "tl_core.compat.native_operators"): (
        "_linalg_eigvals linalg_cond linalg_diagonal linalg_matrix_norm linalg_matrix_rank linalg_norm"
    ),
    ("masked.", "tl_core.masked.private_functions"): "_canonical_dim _reduction_identity _where",
    ("", "tl_nn.functional"): "bilinear",
    ("nn.functional.", "tl_nn.functional.helpers"): (
        "GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES _canonical_mask _check_key_padding_mask "
        "_in_projection _in_projection_packed _no_grad_embedding_renorm_ _none_or_dtype _verify_spatial_size "
        "assert_int_or_pair"
    ),
    ("nn.modules.rnn.", "tl_nn.compat.recurrent"): "_apply_permutation _rnn_impls apply_permutation",
    ("nn.modules.pooling.", "tl_nn.modules.adaptive_pooling"): "_AdaptiveAvgPoolNd _AdaptiveMaxPoolNd",
    ("nn.modules.pooling.", "tl_nn.modules.average_pooling"): "_AvgPoolNd _LPPoolNd",
    ("nn.parallel.scatter_gather.", "tl_nn.compat.named_tuples"): "_is_namedtuple is_namedtuple",
    ("optim.lbfgs.", "tl_nn.compat.line_search"): "_cubic_interpolate _strong_wolfe",
    ("cuda.", "tl_backends.compat.device_index"): "_get_device_index",
    ("nn.functional.", "tl_nn.modules.utils"): "_list_with_default _pair _single _triple",
    ("_subclasses.fake_tensor.", "tl_core.subclasses.fake_converter"): "FakeCopyMode FakeTensorConverter",
    ("_subclasses.fake_tensor.", "tl_core.subclasses.fake_mode"): (
        "FakeTensorMode active_fake_mode unset_fake_temporarily"
    ),
    ("_subclasses.fake_tensor.", "tl_core.subclasses.meta_utils"): "MetaConverter",
    ("_subclasses.fake_tensor.", "tl_core.overrides"): "TorchFunctionMode",
    ("_subclasses.fake_tensor.", "tl_core.subclasses.python_dispatch"): "TorchDispatchMode",
    ("nn.modules.loss.", "tl_nn.modules"): "Module PairwiseDistance",
    ("serialization.", "tl_checkpoint.serialization_steps"): (
        "MAGIC_NUMBER PROTOCOL_VERSION STORAGE_KEY_SEPARATOR _check_save_filelike _check_seekable _cpu_deserialize "
        "_cpu_tag _get_restore_location _is_compressed_file _is_torchscript_zip _legacy_load _load "
        "_maybe_decode_ascii _meta_deserialize _meta_tag _open_zipfile_reader _open_zipfile_writer "
        "_should_read_directly normalize_storage_type storage_to_tensor_type"
    ),
    ("", "tl_nn.functional.numbered_reductions"): (
        "_weight_norm alpha_dropout alpha_dropout_ binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss "
        "feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ hinge_embedding_loss kl_div "
        "margin_ranking_loss norm_except_dim poisson_nll_loss triplet_margin_loss"
    ),
    **QUANTIZATION_GROUPS,
    ("_C.", "tl_autograd.compat.engine_names"): (
        "_WeakTensorRef _current_autograd_node _current_graph_task_id _get_autograd_fallback_mode "
        "_set_autograd_fallback_mode "
        "_debug_only_are_vmap_fallback_warnings_enabled _debug_only_display_vmap_fallback_warnings "
        "_functions _is_fwd_grad_enabled _set_fwd_grad_enabled _will_engine_execute_node"
    ),
    (
        "_C.",
        "tl_backends.compat.native_names",
    ): "_get_cudnn_allow_tf32 _get_cudnn_benchmark _get_cudnn_deterministic _get_cudnn_enabled",
    ("_C.", "tl_core.library.schema_lists"): (
        "_dispatch_dump _dispatch_get_all_op_names _dispatch_get_registrations_for_dispatch_key _dispatch_has_kernel "
        "_dispatch_has_kernel_for_dispatch_key _get_operation_overload _get_schema _jit_get_all_schemas "
        "_jit_get_operation _jit_get_schemas_for_operator _jit_resolve_packet"
    ),
    ("_C.", "tl_core.schemas.types"): _TYPES,
    ("_C.", "tl_compiler.script.containers"): "ScriptDict ScriptList",
    ("_C.", "tl_compiler.script.module_handle"): "ScriptMethod",
    ("_C.", "tl_core.compat.native"): _BUILT_WITH
    + (
        " Block CompilationUnit FileCheck Graph Node Value _GLIBCXX_USE_CXX11_ABI "
        "_VariableFunctions _VariableFunctionsClass _add_docstr _EnablePythonDispatcher "
        "_dispatch_call_boxed _dispatch_find_schema_or_throw _autograd_profiler_enabled "
        "_cuda_getDeviceCount _debug_set_autodiff_subgraph_inlining _disabled_torch_dispatch_impl "
        "_get_accelerator _get_cpu_capability _get_function_stack_at _get_graph_executor_optimize "
        "_get_privateuse1_backend_name _get_tracing_state _has_cuda _has_mkldnn _has_mps "
        "_has_torch_function _has_xpu _infer_size _is_torch_function_enabled _is_tracing "
        "_jit_can_fuse_on_cpu _jit_can_fuse_on_gpu _jit_clear_class_registry "
        "_jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_gpu _jit_set_bailout_depth "
        "_jit_set_num_profiled_runs _jit_set_nvfuser_enabled _jit_set_nvfuser_guard_mode "
        "_jit_set_profiling_executor _jit_set_profiling_mode _jit_set_texpr_fuser_enabled "
        "_is_torch_function_all_disabled _len_torch_function_stack _log_api_usage_metadata "
        "_log_api_usage_once _rename_privateuse1_backend _set_deterministic_algorithms _storage_id "
        "_storage_Use_Count _set_graph_executor_optimize _set_warnAlways is_autocast_enabled is_grad_enabled parse_ir"
    ),
    ("autograd.", "tl_autograd.compat.native_names"): (
        "DeviceType ProfilerActivity _profiler_enabled _record_function_with_args_enter "
        "_record_function_with_args_exit _supported_activities kineto_available"
    ),
    ("functional.", "tl_core"): (
        "cdist chain_matmul einsum istft lu norm pca_lowrank split stft svd_lowrank tensordot unique "
        "unique_consecutive unravel_index"
    ),
}
OBJECTS |= {
    prefix + name: f"{module}:{name}" for (prefix, module), names in _GROUPS.items() for name in names.split()
}

# Modules whose classes PyTorch has in another one than the table says.
HOMES = {
    "tl_compiler.script.errors": "jit",
    "tl_compiler.script.script_module": "jit._script",
    "tl_core.compat.native": "_C",
    "tl_core.symbolic.dim_range": "_dynamo.decorators",
    "tl_core.api.tensor_pickling": "_tensor",
    "tl_core.api.tensor_properties": "_tensor",
    "tl_core.base.operator_errors": "_subclasses.fake_tensor",
    "tl_core.dispatch.fallbacks": "_C",
    "tl_core.dispatch.layers": "_C",
    "tl_core.operators.composites": "_ops",
    "tl_core.operators.packets": "_ops",
    "tl_core.operators.python_operator": "_ops",
    "tl_core.pytree.trees": "utils._pytree",
    "tl_core.tensors.version_counters": "autograd.grad_mode",
    "tl_autograd.checkpoint_policy": "utils.checkpoint",
    "tl_autograd.func.custom_function": "_functorch.autograd_function",
    "tl_autograd.func.level_stack": "_C._functorch",
    "tl_autograd.hooks": "utils.hooks",
    "tl_backends.device_modules": "cuda",
    "tl_backends.devices": "cuda",
    "tl_backends.streams": "",
    "tl_compiler.fx.code_generation": "fx.graph",
    "tl_compiler.fx.experimental.dim_constraints": "fx.experimental.symbolic_shapes",
    "tl_compiler.fx.experimental.unbacked": "fx.experimental.symbolic_shapes",
    "tl_compiler.fx.retracing": "fx.graph_module",
    "tl_compiler.fx.type_variable": "fx.experimental.unification.variable",
    "tl_compiler.package.module_dependencies": "package.package_exporter",
    "tl_compiler.symbolic.dims": "fx.experimental.symbolic_shapes",
    "tl_compiler.symbolic.shape_env": "fx.experimental.symbolic_shapes",
    "tl_compiler.tracer.proxy_mode": "fx.experimental.proxy_tensor",
    "tl_core.dispatch.keys": "_C",
    "tl_core.dispatch.grad_mode": "autograd.grad_mode",
    "tl_core.schemas.function_schema": "_C",
    "tl_core.library.libraries": "library",
    "tl_core.schemas.types": "_C",
    "tl_core.schemas.tags": "_C",
    "tl_core.pytree.kinds": "utils._pytree",
    "tl_core.pytree.paths": "utils._pytree",
    "tl_core.sparse_layouts.invariants": "sparse",
    "tl_core.sparse_layouts.tensor_types": "sparse",
    "tl_core.subclasses.fake_converter": "_subclasses.fake_tensor",
    "tl_core.subclasses.fake_exceptions": "_subclasses.fake_tensor",
    "tl_core.subclasses.fake_mode": "_subclasses.fake_tensor",
    "tl_core.symbolic.numbers": "",
    "tl_core.tensors.tensor_types": "",
    "tl_data.info": "utils.data._utils.worker",
    "tl_distributed.backends.backend": "distributed.distributed_c10d",
    "tl_distributed.base.debug_level": "distributed.distributed_c10d",
    "tl_distributed.elastic.multiprocessing.logs": "distributed.elastic.multiprocessing.api",
    "tl_distributed.base.errors": "distributed",
    "tl_distributed.stores.file_store": "distributed",
    "tl_distributed.fsdp.api": "distributed.fsdp",
    "tl_distributed.fsdp.fully_shard": "distributed.fsdp",
    "tl_distributed.base.grad_bucket": "distributed",
    "tl_distributed.collectives.point_to_point": "distributed.distributed_c10d",
    "tl_distributed.groups.group_member": "distributed.distributed_c10d",
    "tl_distributed.groups.process_group": "distributed.distributed_c10d",
    "tl_distributed.base.reduction": "distributed.distributed_c10d",
    "tl_distributed.stores.store": "distributed",
    "tl_distributed.stores.tcp_store": "distributed",
    "tl_distributed.tensor.dtensor": "distributed.tensor",
    "tl_distributed.base.work": "distributed.distributed_c10d",
    "tl_distributions.joined_transforms": "distributions.transforms",
    "tl_distributions.transform": "distributions.transforms",
    "tl_nn.modules.adaptive_pooling": "nn.modules.pooling",
    "tl_nn.modules.average_pooling": "nn.modules.pooling",
    "tl_nn.modules.backward_hook": "utils.hooks",
    "tl_nn.modules.base_activation": "nn.modules.activation",
    "tl_nn.modules.base_conv": "nn.modules.conv",
    "tl_nn.modules.base_loss": "nn.modules.loss",
    "tl_nn.modules.base_pooling": "nn.modules.pooling",
    "tl_nn.modules.class_losses": "nn.modules.loss",
    "tl_nn.modules.conv_transpose": "nn.modules.conv",
    "tl_nn.modules.convolution": "nn.modules.conv",
    "tl_nn.modules.fractional_pooling": "nn.modules.pooling",
    "tl_nn.modules.margin_losses": "nn.modules.loss",
    "tl_nn.modules.multihead_attention": "nn.modules.activation",
    "tl_nn.modules.recurrent_cells": "nn.modules.rnn",
    "tl_nn.modules.smooth_activations": "nn.modules.activation",
    "tl_nn.modules.softmax": "nn.modules.activation",
    "tl_nn.optim.adafactor": "optim",
    "tl_nn.optim.muon": "optim",
    "tl_nn.optimized_module": "_dynamo.eval_frame",
    "tl_nn.utils.expanded_weights.expanded_weight": "nn.utils._expanded_weights.expanded_weights_impl",
    "tl_nn.utils.pruning_amounts": "nn.utils.prune",
    "tl_nn.utils.pruning_methods": "nn.utils.prune",
    "tl_profiler.execution_trace": "profiler.profiler",
    **{f"tl_quantization.{name}": "ao.quantization.observer" for name in _OBSERVERS},
    "tl_quantization.nn.quantized.modules.stubs": "ao.nn.quantized.modules",
    "tl_quantization.numeric_suite.fx_loggers": "ao.ns._numeric_suite_fx",
    "tl_quantization.numeric_suite.loggers": "ao.ns._numeric_suite",
}
# Rooms of the core. PyTorch has no modules of these names, so a room has no façade name but for the rows of `MODULES`.
_ROOMS = (
    "api base compat dispatch extensions functions memory operators pytree schemas settings symbolic tensors"
)
ROOMS = tuple(f"{CORE}.{room}" for room in _ROOMS.split())
# The façade names of the modules.
FACADE: dict[str, str | None] = {
    **dict.fromkeys(ROOMS),
    CORE: "",
    **{real: name for name, real in MODULES.items()},
}


# Attributes of the native module that hold the functions of one namespace. PyTorch has them in `torch._C`.
NATIVE_NAMESPACES = tuple(f"{CORE}.{name}" for name in ("_fft", "_linalg", "_nn", "_special"))


def first_name_of(dotted: str) -> str:
    """A façade name without second names of modules: `quantization.QConfig` → `ao.quantization.QConfig`."""
    prefix = dotted
    while prefix:
        if prefix in ALIASES:
            return ALIASES[prefix] + dotted[len(prefix) :]
        prefix = prefix.rpartition(".")[0]
    return dotted


def module_of(dotted: str) -> str:
    """The real module that a façade name stands for: `nn.functional` → `tl_nn.functional`."""
    dotted = prefix = first_name_of(dotted)
    while prefix:
        if prefix in MODULES:
            return MODULES[prefix] + dotted[len(prefix) :]
        prefix = prefix.rpartition(".")[0]
    return f"{CORE}.{dotted}"


def facade_of(real: str) -> str | None:
    """The façade name of a real module, the inverse of `module_of`; None for a module that has none."""
    prefix, tail = real, ""
    while prefix:
        if prefix in FACADE:
            name = FACADE[prefix]
            return None if name is None else (name + tail).removeprefix(".")
        prefix, _, last = prefix.rpartition(".")
        tail = f".{last}{tail}"
    return None


def home_of(real: str) -> str | None:
    """The module in which PyTorch has what a real module holds; None where it has none.

    >>> home_of("tl_nn.modules.multihead_attention")
    'nn.modules.activation'
    """
    return HOMES.get(real, facade_of(real))


def real_name_of(dotted: str) -> str:
    """The full name of the object with a façade name: `nn.Linear` → `tl_nn.Linear`."""
    if dotted in OBJECTS:
        return OBJECTS[dotted].replace(":", ".")
    module, _, name = dotted.rpartition(".")
    return f"{module_of(module)}.{name}" if module else f"{CORE}.{name}"
