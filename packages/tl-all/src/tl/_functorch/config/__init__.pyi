# Written by `python -m tools.facade_stubs --write`.
from typing import Any

activation_memory_budget: Any
cse: Any
debug_assert: Any
debug_partitioner: Any
donated_buffer: Any
fake_tensor_allow_meta: Any
fake_tensor_allow_unsafe_data_ptr_access: Any
fake_tensor_propagate_real_tensors: Any
functionalize_rng_ops: Any
recompute_views: Any
static_weight_shapes: Any
