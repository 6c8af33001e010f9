"""The part of the table of names that belongs to quantization."""

from __future__ import annotations

__all__ = ["GROUPS", "MODULES"]

MODULES = (  # modules below `ao.`, and theirs below tl_quantization
    "nn:.nn ns:.numeric_suite ns._numeric_suite:.numeric_suite.eager ns._numeric_suite_fx:.numeric_suite.graphs "
    "ns.fx.graph_matcher:.numeric_suite.subgraphs ns.fx.graph_passes:.numeric_suite.graph_loggers "
    "ns.fx.mappings:.numeric_suite.related_operators ns.fx.n_shadows_utils:.numeric_suite.n_shadows "
    "ns.fx.ns_types:.numeric_suite.results ns.fx.pattern_utils:.numeric_suite.fusions "
    "ns.fx.qconfig_multi_mapping:.numeric_suite.qconfig_multi_mapping ns.fx.utils:.numeric_suite.node_facts "
    "ns.fx.weight_utils:.numeric_suite.weights pruning:.pruning "
    "pruning._experimental.activation_sparsifier:.pruning.activation_sparsifier "
    "pruning._experimental.data_scheduler:.pruning.data_scheduler "
    "pruning._experimental.data_sparsifier:.pruning.data_sparsifier pruning._experimental.pruner:.pruning.structured "
    "pruning._experimental.pruner.FPGM_pruner:.pruning.structured.fpgm_pruner quantization: quantization.fx:.graph "
    "quantization.fx._decomposed:.compat.decomposed_functions quantization.fx._equalize:.compat.equalize "
    "quantization.fx._model_report:.graph.model_report quantization.fx.fusion_patterns:.compat.fusion_patterns "
    "quantization.fx.lower_to_fbgemm:.compat.lower_to_fbgemm quantization.fx.lower_to_qnnpack:.compat.lower_to_qnnpack "
    "quantization.fx._lower_to_native_backend:.compat.lower_to_native_backend "
    "quantization.fx.lstm_utils:.compat.lstm_parts quantization.fx.pattern_utils:.compat.patterns "
    "quantization.fx.qconfig_mapping_utils:.compat.qconfigs quantization.fx.quantization_patterns:.compat.handlers "
    "quantization._learnable_fake_quantize:.compat.learnable_fake_quantize "
    "quantization._equalize:.compat.layer_equalization quantization._correct_bias:.compat.bias_correction "
    "quantization.fx.quantization_types:.compat.quantization_types quantization.fx.quantize_handler:.compat.handlers "
    "quantization.fx.utils:.compat.graph_functions quantization.pt2e:.export "
    "quantization.pt2e.qat_utils:.export.fuse_qat quantization.pt2e.representation:.export.reference "
    "quantization.pt2e.representation.rewrite:.export.reference quantization.pt2e.utils:.export.graph_facts "
    "quantization.pt2e._numeric_debugger:.export.numeric_debugger "
    "quantization.quantize_jit:.compat.scripts quantization.quantizer.utils:.quantizer.configurations"
)  # fmt: skip

#: Many names of one module: before them, the module's name in PyTorch's API.
GROUPS = {
    ("ao.quantization.", "tl_quantization.export.modes"): (
        "allow_exported_model_train_eval move_exported_model_to_eval move_exported_model_to_train"
    ),
    ("ao.quantization.", "tl_quantization.export.numeric_debugger"): (
        "CUSTOM_KEY NUMERIC_DEBUG_HANDLE_KEY compare_results extract_results_from_loggers "
        "generate_numeric_debug_handle prepare_for_propagation_comparison"
    ),
    ("", "tl_quantization.functions"): (
        "int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point "
        "quantized_max_pool3d"
    ),
    ("", "tl_quantization.learnable_fake_quantization"): (
        "_fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine"
    ),
    ("", "tl_quantization.observed_fake_quantization"): (
        "choose_qparams_optimized fused_moving_avg_obs_fake_quant"
    ),
    ("", "tl_quantization.recurrent_functions"): (
        "quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_rnn_relu_cell "
        "quantized_rnn_tanh_cell"
    ),
    ("", "tl_quantization"): (
        "dequantize fake_quantize_per_channel_affine fake_quantize_per_tensor_affine per_channel_affine "
        "per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric "
        "quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm "
        "quantized_max_pool1d quantized_max_pool2d"
    ),
    ("", "tl_quantization.creation"): (
        "_choose_qparams_per_tensor _empty_affine_quantized _empty_per_channel_affine_quantized "
        "_make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor _saturate_weight_to_fp16 "
        "empty_quantized"
    ),
    ("ao.quantization.quantize.", "tl_quantization.compat.eager_steps"): (
        "_add_observer_ _get_observer_dict _get_unique_devices_ _is_activation_post_process "
        "_propagate_qconfig_helper _register_activation_post_process_hook _remove_activation_post_process "
        "_remove_qconfig"
    ),
    ("ao.quantization.fuse_modules.", "tl_quantization.compat.eager_steps"): (
        "_fuse_modules _get_module _set_module"
    ),
    ("ao.quantization.qconfig.", "tl_quantization.compat.eager_tables"): (
        "QConfigAny QConfigDynamic _add_module_to_qconfig_obs_ctr"
    ),
    ("ao.quantization.", "tl_quantization.compat.eager_tables"): "ObserverOrFakeQuantize",
    ("ao.quantization.fuser_method_mappings.", "tl_quantization.compat.eager_tables"): (
        "_DEFAULT_OP_LIST_TO_FUSER_METHOD _sequential_wrapper2"
    ),
    ("ao.quantization.quantization_mappings.", "tl_quantization.compat.eager_tables"): (
        "DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS _get_special_act_post_process _has_special_act_post_process "
        "get_default_float_to_quantized_operator_mappings get_quantized_operator"
    ),
    ("ao.quantization.observer.", "tl_quantization.compat.observer_names"): (
        "ABC _ObserverBase _PartialWrapper _is_per_channel_script_obs_instance _with_args _with_callable_args"
    ),
    ("ao.quantization.fake_quantize.", "tl_quantization.compat.observer_names"): (
        "_is_fake_quant_script_module _is_per_channel _is_per_tensor _is_symmetric_quant"
    ),
    ("ao.nn.quantized.modules.conv.", "tl_quantization.compat.layer_helpers"): "_reverse_repeat_padding",
    ("ao.nn.quantized.modules.utils.", "tl_quantization.compat.layer_helpers"): (
        "_hide_packed_params_repr _ntuple_from_first _pair_from_first _quantize_weight"
    ),
    ("ao.quantization.quantize_fx.", "tl_quantization.compat.graph_steps"): (
        "_check_is_graph_module _convert_fx _convert_standalone_module_fx _fuse_fx _prepare_fx "
        "_prepare_standalone_module_fx _swap_ff_with_fxff"
    ),
    (
        "ao.quantization.fx.quantize_handler.",
        "tl_quantization.compat.graph_steps",
    ): "_default_root_node_getter",
    (
        "ao.quantization.fx.prepare.",
        "tl_quantization.compat.observed_graphs",
    ): "_insert_obs_or_fq _save_state",
    ("ao.quantization.utils.", "tl_quantization.compat.observed_graphs"): "_parent_name",
    ("ao.quantization.fx.qconfig_mapping_utils.", "tl_quantization.compat.graph_steps"): (
        "_get_module_name_regex_qconfig"
    ),
}
