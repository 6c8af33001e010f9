# Written by `python -m tools.facade_stubs --write`.
from tl_core.settings.uninitialized_fill import _Module as _Module
from tl_core.settings.uninitialized_fill import fill_uninitialized_memory as fill_uninitialized_memory
