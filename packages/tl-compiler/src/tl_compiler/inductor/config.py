"""Settings of the reference's code generator. They can be set, and change nothing."""

from __future__ import annotations

__all__: list[str] = []

debug = False
max_autotune = False
epilogue_fusion = True
coordinate_descent_tuning = False
force_fuse_int_mm_with_mul = False
fx_graph_cache = True
freezing = False
cpp_wrapper = False
triton = type("triton", (), {"unique_kernel_names": False, "cudagraphs": False})
