"""Settings of the reference's ahead-of-time autograd. They can be set, and change nothing: there is none."""

from __future__ import annotations

__all__: list[str] = []

debug_assert = False
debug_partitioner = False
fake_tensor_allow_meta = True
fake_tensor_propagate_real_tensors = False
fake_tensor_allow_unsafe_data_ptr_access = True
functionalize_rng_ops = False
static_weight_shapes = True
cse = True
donated_buffer = False
recompute_views = False
activation_memory_budget = 1.0
