"""Settings of a code generator. There is none: they are kept, and a warning says once that they change nothing.

The custom passes run: with one of them `compile` makes graphs, which the passes change.
"""

from __future__ import annotations

import sys
from typing import Any

from tl_core.settings.config_module import ConfigModule, install_config_module

__all__: list[str] = []

debug = False
max_autotune = False
max_autotune_gemm = False
max_autotune_pointwise = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
epilogue_fusion = True
coordinate_descent_tuning = False
coordinate_descent_check_all_directions = False
conv_1x1_as_mm = False
emulate_precision_casts = False
force_fuse_int_mm_with_mul = False
force_disable_caches = False
fallback_random = False
fx_graph_cache = True
freezing = False
cpp_wrapper = False
compile_threads = 1
shape_padding = True
size_asserts = True
use_mixed_mm = True
worker_start_method = "subprocess"
pre_grad_custom_pass: Any = None
post_grad_custom_pre_pass: Any = None
post_grad_custom_post_pass: Any = None
joint_custom_pre_pass: Any = None
joint_custom_post_pass: Any = None
dce = False
pattern_matcher = True
b2b_gemm_pass = False
prologue_fusion = True
epilogue_fusion_first = False
loop_ordering_after_fusion = True
aggressive_fusion = False
group_fusion = False
batch_fusion = True
split_reductions = True
combo_kernels = False
benchmark_kernel = False
benchmark_fusion = False
benchmark_harness = True
layout_optimization = True
force_layout_optimization = False
keep_output_stride = True
inplace_buffers = True
allow_buffer_reuse = True
memory_planning = False
nan_asserts = False
scalar_asserts = True
alignment_asserts = True
reorder_for_locality = True
reorder_for_compute_comm_overlap = False
reorder_for_peak_memory = True
permute_fusion = False
deterministic = False
batch_invariant = False
implicit_fallbacks = True
joint_graph_constant_folding = True
graph_partition = True
fx_graph_remote_cache: Any = None
autotune_local_cache = True
autotune_remote_cache: Any = None
max_autotune_gemm_search_space = "DEFAULT"
max_autotune_conv_backends = "ATEN,TRITON"
autotune_in_subproc = False
autotune_multi_device = False
save_args = False
comprehensive_padding = True
force_shape_pad = False
freezing_discard_parameters = False
disable_cpp_codegen = False
efficient_conv_bn_eval_fx_passes = False
split_cat_fx_passes = True
online_softmax = True
static_weight_shapes = True
enable_auto_functionalized_v2 = True
constant_and_index_propagation = True
profile_bandwidth = False
enable_linear_binary_folding = False
decompose_mem_bound_mm = False
max_fusion_size = 64
cpu_backend = "cpp"
cuda_backend = "triton"


class cpp:
    """Of generated C++."""

    threads = -1
    simdlen: Any = None
    enable_kernel_profile = False
    no_redundant_loops = True
    dynamic_threads = False
    min_chunk_size = 512
    march: Any = None
    weight_prepack = True
    vec_isa_ok: Any = None
    descriptive_names = "original_aten"
    max_horizontal_fusion_size = 16
    fallback_scatter_reduce_sum = True
    enable_unsafe_math_opt_flag = False
    enable_floating_point_contract_flag = "off"
    enable_tiling_heuristics = True
    enable_grouped_gemm_template = False
    gemm_max_k_slices = 1
    gemm_cache_blocking: Any = None
    gemm_thread_factors: Any = None
    enable_loop_tail_vec = True
    enable_concat_linear = False
    use_decompose_tanh = False
    use_small_dequant_buffer = False
    force_inline_kernel = False
    use_constexpr_for_int_array = True
    use_two_step_variance_threshold = 1024


class eager_numerics:
    """Of generated code that rounds as operators do one by one: here they always run so."""

    division_rounding = True
    disable_ftz = True
    pow_precision = True
    use_pytorch_libdevice = True


class triton:
    """Of generated Triton kernels."""

    unique_kernel_names = True
    cudagraphs = False
    cudagraph_trees = True
    cudagraph_skip_dynamic_graphs = False
    cudagraph_capture_sizes: Any = None
    cudagraph_min_partition_size = 0
    slow_path_cudagraph_asserts = True
    cudagraph_trees_history_recording = False
    cudagraph_trees_objgraph = False
    cudagraph_support_input_mutation = True
    cudagraph_unexpected_rerecord_limit = 128
    cudagraph_dynamic_shape_warn_limit = 8
    force_cudagraph_sync = False
    force_cudagraphs_warmup = False
    cudagraph_or_error = False
    reorder_for_reducing_graph_partitions = True
    cudagraph_partition_memory_budget = 1.1
    fast_path_cudagraph_asserts = False
    skip_cudagraph_warmup = False
    debug_sync_graph = False
    debug_sync_kernel = False
    dense_indexing = False
    coalesce_tiling_analysis = True
    max_tiles: Any = None
    prefer_nd_tiling = False
    autotune_pointwise = True
    autotune_cublasLt = True
    autotune_at_compile_time: Any = None
    autotune_with_sample_inputs = False
    tile_reductions = False
    native_matmul = False
    tiling_prevents_pointwise_fusion = True
    tiling_prevents_reduction_fusion = True
    unique_user_kernel_names = False
    descriptive_names = "original_aten"
    persistent_reductions = True
    decompose_sort_ops = False
    cooperative_reductions = False
    force_cooperative_reductions = False
    use_two_step_variance_min_numel = 1024
    use_two_step_variance_threshold = 32768
    multi_kernel = 0
    divisible_by_16 = True
    emit_pointer_range_32 = True
    min_split_scan_rblock = 256
    store_cubin = False
    spill_threshold = 16
    use_block_ptr = False
    use_tensor_descriptor = False
    transpose_discontiguous_tensor_descriptor = True
    codegen_upcast_to_fp32 = True
    enable_persistent_tma_matmul = False
    enable_template_tma_store = False
    enable_tma_load_for_template_epilogue = False
    skip_l1_cache = False
    num_decompose_k_splits = 10
    decompose_k_threshold = 32
    enable_pdl = False
    mix_order_reduction = True
    mix_order_reduction_initial_xblock = 1
    mix_order_reduction_split_size: Any = None
    mix_order_reduction_autotune_split_size = False
    mix_order_reduction_non_strict_mode = False
    mix_order_reduction_max_reads = 10
    mix_order_reduction_allow_multi_stages = True
    nested_reduction = False
    max_kernel_dump_occurrences = 3
    proton_profiling = False
    proton_output_dir: Any = None
    proton_group_by_sm = True
    proton_split_invocations = True
    proton_per_cta_occupancy = True
    dynamic_disable_pipelining = True


class trace:
    """Of what a compiler writes down."""

    enabled = False
    graph_diagram = False
    save_real_tensors = False
    debug_dir: Any = None
    debug_log = False
    info_log = False
    fx_graph = True
    fx_graph_transformed = True
    ir_pre_fusion = True
    ir_post_fusion = True
    output_code = True
    graph_diagram_format = "svg"
    draw_orig_fx_graph = False
    orig_fx_graph_diagram_format = "svg"
    dot_graph_shape: Any = None
    log_url_for_graph_xform: Any = None
    compile_profile = False
    upload_tar: Any = None
    log_autotuning_results = False
    provenance_tracking_level = 0


class aot_inductor:
    """Of programs that are compiled ahead of time."""

    autotune_per_kernel_alloc = False
    output_path = ""
    debug_compile = False
    debug_symbols = False
    enable_frame_pointer = True
    enable_line_tables = True
    compile_wrapper_opt_level = "O1"
    debug_intermediate_value_printer = "0"
    filtered_kernel_names: Any = None
    serialized_in_spec = ""
    serialized_out_spec = ""
    use_runtime_constant_folding = False
    force_mmap_weights = False
    use_consts_asm_build = True
    package = False
    package_cpp_only: Any = None
    dynamic_linkage = True
    raise_error_on_ignored_optimization = True
    check_lowerbound = True
    dump_aoti_minifier = False
    repro_level = 2
    allow_stack_allocation = False
    use_minimal_arrayref_interface = False
    weight_use_caching_allocator = False
    package_constants_in_so = True
    package_constants_on_disk_format: Any = None
    precompile_headers = True
    embed_kernel_binary: Any = None
    emit_multi_arch_kernel: Any = None
    model_name_for_generated_files: Any = None
    custom_op_libs: Any = None
    enable_lto = False
    link_libtorch = True
    cross_target_platform: Any = None
    aoti_shim_library: Any = None
    aoti_shim_library_path: Any = None


install_config_module(sys.modules[__name__])


_COMPILER = "tl_compiler.compat.inductor.compile_fx:compile_fx"  # of graphs, for the passes
_PASSES = (
    "pre_grad_custom_pass",
    "joint_custom_pre_pass",
    "joint_custom_post_pass",
    "post_grad_custom_pre_pass",
    "post_grad_custom_post_pass",
)


class _Settings(ConfigModule):
    """A module of settings that says which ones change nothing."""

    def __setattr__(self, name: str, value: object) -> None:
        changes = name in self._config and getattr(self, name, value) != value
        super().__setattr__(name, value)
        if name in _PASSES:
            from tl_compiler.compiler.backends import set_graph_compiler

            set_graph_compiler(_COMPILER if self._has_custom_pass() else None)
        elif changes and name != "pattern_matcher":
            from tl_compiler.compiler.warn_once import warn_once

            warn_once(f"torch._inductor.config.{name}: without effect; there is no code generator yet")

    def _has_custom_pass(self) -> bool:
        return any(getattr(self, name) is not None for name in _PASSES)


sys.modules[__name__].__class__ = _Settings
