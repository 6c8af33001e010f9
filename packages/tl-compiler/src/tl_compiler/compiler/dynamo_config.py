"""Settings of `compile`. Those that decide something are the first; others are kept, and a warning says once that they
change nothing."""

from __future__ import annotations

import sys
from typing import Any

from tl_core.settings.config_module import ConfigModule, install_config_module

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

install_config_module(sys.modules[__name__])

EFFECTIVE = (
    "recompile_limit", "accumulated_recompile_limit", "cache_size_limit", "fail_on_recompile_limit_hit",
    "error_on_recompile", "suppress_errors", "disable", "assume_static_by_default", "automatic_dynamic_shapes",
)  # fmt: skip
"""The settings that decide something."""


class _Settings(ConfigModule):
    """A module of settings that says of some that they change nothing."""

    def __setattr__(self, name: str, value: object) -> None:
        name = {"cache_size_limit": "recompile_limit"}.get(name, name)
        name = {"accumulated_cache_size_limit": "accumulated_recompile_limit"}.get(name, name)
        changes = name in self._config and name not in EFFECTIVE and getattr(self, name, value) != value
        super().__setattr__(name, value)
        if changes:
            from .warn_once import warn_once

            warn_once(f"torch._dynamo.config.{name}: without effect")

    def __getattr__(self, name: str) -> Any:
        if name in ("cache_size_limit", "accumulated_cache_size_limit"):
            name = name.replace("cache_size", "recompile")
        return super().__getattr__(name)


sys.modules[__name__].__class__ = _Settings
