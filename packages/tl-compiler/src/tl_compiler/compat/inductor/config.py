"""Settings of a code generator. There is none: they are kept, and a warning says once that they change nothing."""

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


class cpp:
    """Of generated C++."""

    threads = -1
    simdlen: Any = None
    enable_kernel_profile = False


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


class trace:
    """Of what a compiler writes down."""

    enabled = False
    graph_diagram = False


install_config_module(sys.modules[__name__])


class _Settings(ConfigModule):
    """A module of settings that says that they change nothing."""

    def __setattr__(self, name: str, value: object) -> None:
        changes = name in self._config and getattr(self, name, value) != value
        super().__setattr__(name, value)
        if changes:
            from tl_compiler.compiler.warn_once import warn_once

            warn_once(f"torch._inductor.config.{name}: without effect; there is no code generator yet")


sys.modules[__name__].__class__ = _Settings
