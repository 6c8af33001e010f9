# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.grad_mode import *
from tl_core.tensors.version_counters import (
    unsafe_preserve_version_counter as __unsafe_preserve_version_counter_,
)

_unsafe_preserve_version_counter = __unsafe_preserve_version_counter_
