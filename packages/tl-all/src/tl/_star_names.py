"""Names that `from MODULE import *` gives in PyTorch, and that the module of a package here doesn't list: they belong
to other packages, or are older ones. The façade adds them to `__all__` of a module that it serves."""

NAMES = {
    "": (
        "AnyType AwaitType BoolType ClassType ComplexType DeviceObjType DictType DispatchKey Event "
        "FloatType Future FutureType GradScaler IntType ListType NoneType NumberType OptionalType "
        "PyTorchFileReader PyTorchFileWriter RRefType ScriptFunction ScriptModule Stream StreamObjType "
        "StringType SymBool SymBoolType SymFloat SymInt SymIntType Tag TensorType TupleType Type UnionType "
        "alpha_dropout alpha_dropout_ autocast autocast_decrement_nesting autocast_increment_nesting "
        "bilinear binary_cross_entropy_with_logits ccol_indices_copy clear_autocast_cache col_indices_copy "
        "compile cond conv_tbc cosine_embedding_loss cosine_similarity crow_indices_copy ctc_loss "
        "dequantize detach_ dsmm export fake_quantize_per_channel_affine fake_quantize_per_tensor_affine "
        "feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ frobenius_norm "
        "get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_device_module "
        "hinge_embedding_loss hsmm hspmm indices_copy int_repr is_anomaly_check_nan_enabled "
        "is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "is_distributed is_inference is_same_size kl_div load lobpcg margin_ranking_loss norm_except_dim "
        "nuclear_norm pairwise_distance poisson_nll_loss q_per_channel_axis q_per_channel_scales "
        "q_per_channel_zero_points q_scale q_zero_point qscheme quantize_per_channel quantize_per_tensor "
        "quantize_per_tensor_dynamic quantized_batch_norm quantized_max_pool1d quantized_max_pool2d "
        "quantized_max_pool3d row_indices_copy saddmm save set_anomaly_enabled set_autocast_cache_enabled "
        "set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled "
        "set_autocast_gpu_dtype smm sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor "
        "sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor spmm sspaddmm sym_float sym_fresh_size "
        "sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum triplet_margin_loss values_copy vmap"
    ),
    "amp.autocast_mode": "is_autocast_available",
    "backends": "xeon",
    "cpu.amp": "autocast_mode grad_scaler",
    "cuda": "amp graphs",
    "distributed": (
        "DeviceMesh c10d_logger checkpoint device_mesh distributed_c10d elastic flight_recorder fsdp "
        "init_device_mesh logging_handlers nn optim remote_device rpc tensor utils"
    ),
    "distributed.algorithms": "join",
    "distributed.elastic.agent.server": "api health_check_server local_elastic_agent",
    "distributed.elastic.events": "api handlers",
    "distributed.elastic.metrics": "api",
    "distributed.elastic.rendezvous.c10d_rendezvous_backend": (
        "DEFAULT_PORT FileStore RendezvousBackend RendezvousConnectionError RendezvousParameters "
        "RendezvousStateError Store TCPStore"
    ),
    "distributed.elastic.timer": "api debug_info_logging file_based_local_timer local_timer",
    "distributed.elastic.utils.data": "cycling_iterator elastic_distributed_sampler",
    "func": "functional_call replace_all_batch_norm_modules_ stack_module_state",
    "functional": (
        "align_tensors cdist chain_matmul einsum istft lu norm pca_lowrank split stft svd_lowrank tensordot unique "
        "unique_consecutive unravel_index"
    ),
    "fx.experimental.accelerator_partitioner": (
        "Device GraphModule Node NodeLatency Partition PartitionMode PartitionerConfig get_extra_size_of "
        "get_latency_of_partitioned_graph get_partition_to_latency_mapping split_module"
    ),
    "fx.experimental.graph_gradual_typechecker": "flatten_check linear_check maxpool2d_check",
    "fx.experimental.merge_matmul": "Node symbolic_trace",
    "fx.experimental.migrate_gradual_types.operation": "op_imp",
    "fx.experimental.migrate_gradual_types.util": "BVar BinConstraintD DVar TVar op_leq",
    "fx.experimental.normalize": (
        "AnnotateTypesWithSchema Node Proxy Transformer create_type_hint map_aggregate normalize_function "
        "normalize_module"
    ),
    "fx.experimental.partitioner_utils": "Node map_arg",
    "fx.experimental.rewriter": "Graph Tracer",
    "fx.experimental.unification": "core dispatch more multipledispatch unification_tools utils variable",
    "fx.graph_module": "reduce_graph_module reduce_package_graph_module",
    "fx.passes": "tests",
    "fx.passes.dialect.common.cse_pass": "Graph GraphModule Node PassBase PassResult",
    "fx.passes.infra.partitioner": "GraphModule Node OperatorSupportBase fuse_by_partitions",
    "fx.passes.utils.fuser_utils": "Graph GraphModule Node legalize_graph lift_subgraph_as_module",
    "fx.proxy": "GraphAppendingTracer",
    "nn": "attention backends common_types grad intrinsic parallel qat quantizable quantized",
    "nn.functional": (
        "BroadcastingList1 BroadcastingList2 BroadcastingList3 grad handle_torch_function "
        "has_torch_function has_torch_function_unary has_torch_function_variadic"
    ),
    "nn.init": (
        "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal "
        "xavier_uniform"
    ),
    "ao.nn.intrinsic.qat": "modules",
    "ao.nn.intrinsic.quantized.dynamic": "modules",
    "nn.parallel": "DistributedDataParallel",
    "nn.parameter": "UninitializedTensorMixin",
    "ao.nn.qat.dynamic": "modules",
    "ao.nn.quantizable": "modules",
    "ao.nn.quantized.dynamic": "modules",
    "package": (
        "analyze file_structure_representation find_file_dependencies glob_group importer package_exporter "
        "package_importer"
    ),
    "package.analyze": "is_from_package",
    "serialization": "default_restore_location",
    "utils.benchmark": "CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts examples timer",
    "utils.bundled_inputs": "MAX_RAW_TENSOR_SIZE",
    "utils.checkpoint": "SAC_IGNORED_OPS",
    "utils.collect_env": (
        "get_clang_version get_cmake_version get_conda_packages get_cpu_info get_gcc_version "
        "get_libc_version get_os get_pip_packages run_and_parse_first_match run_and_read_all "
        "run_and_return_first_line"
    ),
    "utils.data": "DataChunk IterDataPipe MapDataPipe functional_datapipe",
    "utils.model_zoo": "tqdm",
}
