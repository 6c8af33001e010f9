"""The public modules below each module of PyTorch, as far as tl serves them: `dir` lists them beside `__all__`. Other
modules of tl's packages are parts without names of their own in the API."""

SUBMODULES = {
    "amp": "autocast_mode grad_scaler",
    "ao": "nn ns pruning quantization",
    "ao.nn": "intrinsic qat quantizable quantized",
    "ao.nn.intrinsic": "modules qat quantized",
    "ao.nn.intrinsic.modules": "fused",
    "ao.nn.intrinsic.qat": "modules",
    "ao.nn.intrinsic.qat.modules": "conv_fused linear_fused linear_relu",
    "ao.nn.intrinsic.quantized": "dynamic modules",
    "ao.nn.intrinsic.quantized.dynamic": "modules",
    "ao.nn.intrinsic.quantized.dynamic.modules": "linear_relu",
    "ao.nn.intrinsic.quantized.modules": "bn_relu conv_add conv_relu linear_relu",
    "ao.nn.qat": "dynamic modules",
    "ao.nn.qat.dynamic": "modules",
    "ao.nn.qat.dynamic.modules": "linear",
    "ao.nn.qat.modules": "conv embedding_ops linear",
    "ao.nn.quantizable": "modules",
    "ao.nn.quantizable.modules": "activation rnn",
    "ao.nn.quantized": "dynamic functional modules reference",
    "ao.nn.quantized.reference": "modules",
    "ao.nn.quantized.reference.modules": "conv linear rnn sparse utils",
    "ao.nn.quantized.dynamic": "modules",
    "ao.nn.quantized.dynamic.modules": "conv linear rnn",
    "ao.nn.quantized.modules": (
        "activation batchnorm conv dropout embedding_ops functional_modules linear normalization rnn utils"
    ),
    "ao.pruning": "scheduler sparsifier",
    "ao.pruning.scheduler": "base_scheduler cubic_scheduler lambda_scheduler",
    "ao.pruning.sparsifier": "base_sparsifier nearly_diagonal_sparsifier utils weight_norm_sparsifier",
    "ao.quantization": (
        "backend_config fake_quantize fuse_modules fuser_method_mappings fx observer pt2e qconfig "
        "qconfig_mapping quant_type quantization_mappings quantize quantize_fx quantize_pt2e quantizer stubs"
    ),
    "ao.quantization.backend_config": (
        "backend_config executorch fbgemm native observation_type onednn qnnpack tensorrt utils x86"
    ),
    "ao.quantization.pt2e": (
        "duplicate_dq_pass export_utils graph_utils lowering port_metadata_pass prepare"
    ),
    "ao.quantization.quantizer": (
        "composable_quantizer embedding_quantizer quantizer x86_inductor_quantizer xnnpack_quantizer "
        "xnnpack_quantizer_utils xpu_inductor_quantizer"
    ),
    "ao.quantization.fx": "convert custom_config fuse fuse_handler graph_module match_utils prepare tracer",
    "autograd": (
        "anomaly_mode forward_ad function functional grad_mode gradcheck graph profiler profiler_legacy "
        "profiler_util variable"
    ),
    "backends": (
        "cpu cuda cudnn cusparselt kleidiai mha mkl mkldnn mps nnpack openmp opt_einsum quantized xeon "
        "xnnpack"
    ),
    "backends.cudnn": "rnn",
    "backends.xeon": "run_cpu",
    "compiler": "config",
    "cpu": "amp",
    "cpu.amp": "autocast_mode grad_scaler",
    "cuda": "amp comm gds graphs jiterator memory nccl nvtx profiler random sparse streams tunable",
    "cuda.amp": "autocast_mode grad_scaler",
    "distributed": (
        "algorithms argparse_util autograd c10d_logger checkpoint collective_utils constants device_mesh "
        "distributed_c10d elastic flight_recorder fsdp launch launcher logging_handlers nn optim "
        "remote_device rendezvous rpc run tensor utils"
    ),
    "distributed.algorithms": "ddp_comm_hooks join model_averaging",
    "distributed.algorithms.ddp_comm_hooks": (
        "ddp_zero_hook debugging_hooks default_hooks mixed_precision_hooks optimizer_overlap_hooks "
        "post_localSGD_hook powerSGD_hook quantization_hooks"
    ),
    "distributed.algorithms.model_averaging": "averagers hierarchical_model_averager utils",
    "distributed.checkpoint": (
        "api default_planner filesystem format_utils hf_storage logger logging_handlers metadata optimizer "
        "planner planner_helpers resharding staging state_dict state_dict_loader state_dict_saver stateful "
        "storage utils"
    ),
    "distributed.elastic": "agent control_plane events metrics multiprocessing rendezvous timer utils",
    "distributed.elastic.agent": "server",
    "distributed.elastic.agent.server": "api health_check_server local_elastic_agent",
    "distributed.elastic.events": "api handlers",
    "distributed.elastic.metrics": "api",
    "distributed.elastic.multiprocessing": "api errors redirects subprocess_handler tail_log",
    "distributed.elastic.multiprocessing.errors": "error_handler handlers",
    "distributed.elastic.multiprocessing.subprocess_handler": "handlers subprocess_handler",
    "distributed.elastic.rendezvous": (
        "api c10d_rendezvous_backend dynamic_rendezvous etcd_rendezvous etcd_rendezvous_backend etcd_server "
        "etcd_store registry static_tcp_rendezvous utils"
    ),
    "distributed.elastic.timer": "api debug_info_logging file_based_local_timer local_timer",
    "distributed.elastic.utils": "api data distributed log_level logging store",
    "distributed.elastic.utils.data": "cycling_iterator elastic_distributed_sampler",
    "distributed.fsdp": "api fully_sharded_data_parallel wrap",
    "distributed.launcher": "api",
    "distributed.nn": "api functional",
    "distributed.nn.api": "remote_module",
    "distributed.optim": (
        "apply_optimizer_in_backward functional_adadelta functional_adagrad functional_adam "
        "functional_adamax functional_adamw functional_rmsprop functional_rprop functional_sgd "
        "named_optimizer optimizer post_localSGD_optimizer utils zero_redundancy_optimizer"
    ),
    "distributed.rpc": (
        "api backend_registry constants functions internal options rref_proxy server_process_global_profiler"
    ),
    "distributed.tensor": "device_mesh placement_types",
    "distributions": (
        "bernoulli beta binomial categorical cauchy chi2 constraint_registry constraints "
        "continuous_bernoulli dirichlet distribution exp_family exponential fishersnedecor gamma "
        "generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma kl "
        "kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal "
        "mixture_same_family multinomial multivariate_normal negative_binomial normal one_hot_categorical "
        "pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution transforms "
        "uniform utils von_mises weibull wishart"
    ),
    "export": (
        "custom_obj custom_ops decomp_utils dynamic_shapes experimental exported_program graph_signature "
        "passes unflatten"
    ),
    "fx": (
        "annotate config experimental graph graph_module immutable_collections interpreter node "
        "operator_schemas passes proxy subgraph_rewriter tensor_type traceback"
    ),
    "fx.experimental": (
        "accelerator_partitioner const_fold debug graph_gradual_typechecker merge_matmul meta_tracer "
        "migrate_gradual_types normalize optimization partitioner_utils proxy_tensor recording "
        "refinement_types rewriter schema_type_annotation sym_node symbolic_shapes unification "
        "unify_refinements validator"
    ),
    "fx.experimental.migrate_gradual_types": (
        "constraint constraint_generator constraint_transformation operation transform_to_z3 util z3_types"
    ),
    "fx.experimental.unification": (
        "core dispatch match more multipledispatch unification_tools utils variable"
    ),
    "fx.experimental.unification.multipledispatch": "conflict core dispatcher utils variadic",
    "fx.passes": (
        "annotate_getitem_nodes backends dialect fake_tensor_prop graph_drawer graph_manipulation "
        "graph_transform_observer infra net_min_base operator_support param_fetch pass_manager reinplace "
        "runtime_assert shape_prop split_module split_utils splitter_base tests tools_common utils"
    ),
    "fx.passes.backends": "cudagraphs",
    "fx.passes.dialect": "common",
    "fx.passes.dialect.common": "cse_pass",
    "fx.passes.infra": "partitioner pass_base pass_manager",
    "fx.passes.tests": "test_pass_manager",
    "fx.passes.utils": (
        "common fuser_utils matcher_utils matcher_with_name_node_map_utils source_matcher_utils"
    ),
    "jit": "annotations frontend",
    "masked": "maskedtensor",
    "masked.maskedtensor": "binary core creation passthrough reductions unary",
    "mps": "event profiler",
    "mtia": "memory",
    "multiprocessing": "pool queue reductions spawn",
    "nn": (
        "attention backends common_types functional grad init intrinsic modules parallel parameter qat "
        "quantizable quantized utils"
    ),
    "nn.attention": "bias experimental flex_attention",
    "nn.backends": "thnn",
    "nn.intrinsic": "modules qat quantized",
    "nn.intrinsic.modules": "fused",
    "nn.intrinsic.qat": "modules",
    "nn.intrinsic.qat.modules": "conv_fused linear_fused linear_relu",
    "nn.intrinsic.quantized": "dynamic modules",
    "nn.intrinsic.quantized.dynamic": "modules",
    "nn.intrinsic.quantized.dynamic.modules": "linear_relu",
    "nn.intrinsic.quantized.modules": "bn_relu conv_relu linear_relu",
    "nn.modules": (
        "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold "
        "instancenorm lazy linear loss module normalization padding pixelshuffle pooling rnn sparse "
        "transformer upsampling utils"
    ),
    "nn.parallel": "comm data_parallel distributed parallel_apply replicate scatter_gather",
    "nn.qat": "dynamic modules",
    "nn.qat.dynamic": "modules",
    "nn.qat.dynamic.modules": "linear",
    "nn.qat.modules": "conv embedding_ops linear",
    "nn.quantizable": "modules",
    "nn.quantizable.modules": "activation rnn",
    "nn.quantized": "dynamic functional modules",
    "nn.quantized.dynamic": "modules",
    "nn.quantized.dynamic.modules": "conv linear rnn",
    "nn.quantized.modules": (
        "activation batchnorm conv dropout embedding_ops functional_modules linear normalization rnn utils"
    ),
    "nn.utils": (
        "clip_grad convert_parameters fusion init memory_format parametrizations parametrize prune rnn "
        "spectral_norm stateless weight_norm"
    ),
    "numa": "binding",
    "onnx": (
        "errors operators symbolic_helper symbolic_opset10 symbolic_opset11 symbolic_opset12 "
        "symbolic_opset13 symbolic_opset14 symbolic_opset15 symbolic_opset16 symbolic_opset17 "
        "symbolic_opset18 symbolic_opset19 symbolic_opset20 symbolic_opset7 symbolic_opset8 "
        "symbolic_opset9 testing utils verification"
    ),
    "optim": (
        "adadelta adagrad adam adamax adamw asgd lbfgs lr_scheduler nadam optimizer radam rmsprop rprop sgd "
        "sparse_adam swa_utils"
    ),
    "package": (
        "analyze file_structure_representation find_file_dependencies glob_group importer package_exporter "
        "package_importer"
    ),
    "package.analyze": "find_first_use_of_broken_modules is_from_package trace_dependencies",
    "profiler": "itt profiler python_tracer",
    "quantization": (
        "fake_quantize fuse_modules fuser_method_mappings observer qconfig quantization_mappings quantize "
        "stubs"
    ),
    "signal": "windows",
    "signal.windows": "windows",
    "utils": (
        "backcompat backend_registration benchmark bundled_inputs checkpoint collect_env cpp_backtrace "
        "cpp_extension data deterministic dlpack file_baton flop_counter hipify hooks jit mkldnn "
        "mobile_optimizer model_dump model_zoo module_tracker serialization show_pickle tensorboard "
        "throughput_benchmark viz weak"
    ),
    "utils.benchmark": "examples op_fuzzers utils",
    "utils.benchmark.examples": "compare fuzzer op_benchmark simple_timeit spectral_ops_fuzz_test",
    "utils.benchmark.op_fuzzers": "binary sparse_binary sparse_unary spectral unary",
    "utils.benchmark.utils": "common compare compile cpp_jit fuzzer sparse_fuzzer timer valgrind_wrapper",
    "utils.benchmark.utils.valgrind_wrapper": "timer_interface",
    "utils.data": (
        "backward_compatibility dataloader datapipes dataset distributed graph graph_settings sampler"
    ),
    "utils.data.datapipes": "dataframe datapipe iter map utils",
    "utils.data.datapipes.dataframe": "dataframe_wrapper dataframes datapipes structures",
    "utils.data.datapipes.iter": (
        "callable combinatorics combining filelister fileopener grouping routeddecoder selecting sharding "
        "streamreader utils"
    ),
    "utils.data.datapipes.map": "callable combinatorics combining grouping utils",
    "utils.data.datapipes.utils": "common decoder snapshot",
    "utils.hipify": "constants cuda_to_hip_mappings hipify_python version",
    "utils.jit": "log_extract",
    "utils.serialization": "config",
    "utils.tensorboard": "summary writer",
    "xpu": "memory random streams",
}
