"""Settings of the reference's frame evaluation. They can be set, and change nothing: no frames are evaluated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["patch"]

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
suppress_errors = False
verbose = False
disable = False
dynamic_shapes = True
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
specialize_int = False
specialize_float = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
allow_rnn = False
force_parameter_static_shapes = True
guard_nn_modules = True
allow_unspec_int_on_nn_module = False
log_level: Any = None


@contextlib.contextmanager
def patch(arg: Any = None, value: Any = None, **kwargs: Any) -> Iterator[None]:
    """A region in which settings have other values.

    Args:
        arg: a dictionary of values, or the name of a setting.
        value: its value.
        kwargs: values by name.
    """
    wanted = dict(arg) if isinstance(arg, dict) else {arg: value} if arg is not None else {}
    wanted.update(kwargs)
    names = globals()
    before = {name: names.get(name) for name in wanted}
    names.update(wanted)
    try:
        yield
    finally:
        names.update(before)
