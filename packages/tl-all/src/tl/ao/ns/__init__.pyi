# Written by `python -m tools.facade_stubs --write`.
from . import _numeric_suite as _numeric_suite
from . import _numeric_suite_fx as _numeric_suite_fx
from . import fx as fx
