"""Settings of `compile`. Those that decide something are the first; others are kept, and a warning says once that they
change nothing."""

from __future__ import annotations

import sys
from typing import Any

from tl_core.settings.config_module import Config, ConfigModule, install_config_module

__all__ = ["EFFECTIVE"]

# These decide something.
recompile_limit = 8
accumulated_recompile_limit = 256
fail_on_recompile_limit_hit = False
error_on_recompile = False
suppress_errors = False
disable = False
assume_static_by_default = True
automatic_dynamic_shapes = True

# These don't.
verbose = False
dynamic_shapes = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
specialize_int = False
specialize_float = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
allow_rnn = False
allow_empty_graphs = False
allow_ignore_mark_dynamic = False
allow_unspec_int_on_nn_module = False
compiled_autograd = False
enable_cpp_guard_manager = True
force_parameter_static_shapes = True
force_nn_module_property_static_shapes = True
force_unspec_int_unbacked_size_like_on_torchrec_kjt = False
guard_nn_modules = True
install_free_tensors = False
prepare_freezing = False
raise_on_ctx_manager_usage = True
replay_record_enabled = False
report_guard_failures = True
skip_nnmodule_hook_guards = True
trace_numpy = True
log_level: Any = None
repro_after: Any = None
repro_level = 2
traceable_tensor_subclasses: Any = set()
verify_correctness = False
leaf_function_validate_outputs = False
leaf_function_check_escaped_gradients = False
minimum_call_count = 1
dead_code_elimination: Any = None
replay_side_effects = True
generate_pycode = False
side_effect_replay_policy = "info"
skip_code_recursive_on_recompile_limit_hit = True
use_lazy_graph_module = True
automatic_dynamic_shapes_mark_as = "dynamic"
automatic_dynamic_exclusion_guard = False
guard_nn_modules_using_dict_tags = True
rewrite_assert_with_torch_assert = True
cprofile = False
dynamo_profiler = False
repro_forward_only = False
repro_tolerance = 0.001
repro_ignore_non_fp = False
same_two_models_use_fp64 = True
prefer_deferred_runtime_asserts_over_guards = False
do_not_emit_runtime_asserts = False
skip_torchrec = True
dont_skip_tracing = False
optimize_ddp_lazy_compile = False
use_lamba_guard_for_object_aliasing = True
skip_fsdp_guards = True
skip_no_tensor_aliasing_guards_on_parameters = True
skip_tensor_guards_with_matching_dict_tags = True
skip_guards_on_constant_func_defaults = False
assume_dunder_attributes_remain_unchanged = True
use_recursive_dict_tags_for_guards = False
max_saved_pointers_for_recursive_dict_tags_check = 256
raise_on_unsafe_aot_autograd = False
error_on_nested_jit_trace = True
error_on_nested_fx_trace = True
force_compile_during_fx_trace = False
capture_sparse_compute = True
trace_autograd_ops = False
numpy_default_float = "float64"
numpy_default_complex = "complex128"
numpy_default_int = "int64"
use_numpy_random_stream = False
enable_cpp_symbolic_shape_guards = False
enable_trace_contextlib = True
enable_trace_unittest = False
enable_trace_load_build_class = False
enable_faithful_generator_behavior = True
nested_graph_breaks = False
error_on_dynamo_callback_in_fullgraph_compiled_code = False
install_free_tensors_for_export = True
enable_cpp_framelocals_guard_eval = True
use_graph_deduplication = False
track_nodes_for_deduplication = False
graph_deduplication_lint = False
record_compile_time_instruction_count = False
cudagraph_backend_keep_input_mutation = False
cudagraph_backend_support_input_mutation = False
only_allow_pt2_compliant_ops = False
capture_autograd_function = True
capture_func_transforms = True
capture_profiler_record_function = False
fake_tensor_cache_enabled = True
fake_tensor_cache_crosscheck_enabled = False
fake_tensor_disable_inference_mode = True
caching_precompile = False
strict_precompile = False
enable_dynamo_decompositions = True
graph_break_on_nn_param_ctor = True
inline_torch_dispatch_torch_compile = True
enable_compiler_collectives = False
enable_p2p_compilation = False
automatic_dynamic_local_pgo = True
automatic_dynamic_remote_pgo: Any = None
pt2_compile_id_prefix: Any = None
run_gc_after_compile = True
constant_fold_autograd_profiler_enabled = False
wrap_top_frame = False
record_runtime_overhead = True
enable_aot_compile = True
enable_invoke_subgraph_regional_compile = False
inline_invoke_subgraph = False
inline_single_use_invoke_subgraph = True
invalidate_compile_context_weakrefs: Any = None

# Older names.
cache_size_limit: Any = Config(alias=f"{__name__}.recompile_limit")
accumulated_cache_size_limit: Any = Config(alias=f"{__name__}.accumulated_recompile_limit")

install_config_module(sys.modules[__name__])

EFFECTIVE = (
    "recompile_limit", "accumulated_recompile_limit", "cache_size_limit", "accumulated_cache_size_limit",
    "fail_on_recompile_limit_hit",
    "error_on_recompile", "suppress_errors", "disable", "assume_static_by_default", "automatic_dynamic_shapes",
)  # fmt: skip
"""The settings that decide something."""


class _Settings(ConfigModule):
    """A module of settings that says of some that they change nothing."""

    def __setattr__(self, name: str, value: object) -> None:
        changes = name in self._config and name not in EFFECTIVE and getattr(self, name, value) != value
        super().__setattr__(name, value)
        if changes:
            from .warn_once import warn_once

            warn_once(f"torch._dynamo.config.{name}: without effect")


sys.modules[__name__].__class__ = _Settings
