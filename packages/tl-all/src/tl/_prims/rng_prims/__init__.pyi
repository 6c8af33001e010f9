# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.rng_prims import *
from tl_compiler.compat.rng_prims import _NoDerivative as _NoDerivative
from tl_compiler.compat.rng_prims import _StateOperator as _StateOperator
