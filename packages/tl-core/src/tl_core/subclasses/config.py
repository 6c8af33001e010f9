"""Settings of fakes, by the name `torch._functorch.config`; those of ahead-of-time autograd, which tl has not, change
nothing."""

from __future__ import annotations

import sys

from tl_core.settings.config_module import install_config_module

__all__: list[str] = []

# Whether fakes may claim to lie on meta.
fake_tensor_allow_meta = True
# Whether operators run on the tensors that fakes stand for, too: then values are known, and kernels are checked.
fake_tensor_propagate_real_tensors = False

debug_assert = False
debug_partitioner = False
fake_tensor_allow_unsafe_data_ptr_access = True
functionalize_rng_ops = False
static_weight_shapes = True
cse = True
donated_buffer = False
recompute_views = False
activation_memory_budget = 1.0

install_config_module(sys.modules[__name__])
