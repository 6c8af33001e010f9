# Written by `python -m tools.facade_stubs --write`.
from tl_core.sparse_layouts.semi_structured import *
from tl_core.sparse_layouts.semi_structured import _Constraint as _Constraint
from tl_core.sparse_layouts.semi_structured import _OfGpu as _OfGpu
