# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.sparse_backends import (
    SparseSemiStructuredTensorCUSPARSELT as SparseSemiStructuredTensorCUSPARSELT,
)
from tl_core.compat.sparse_backends import (
    SparseSemiStructuredTensorCUTLASS as SparseSemiStructuredTensorCUTLASS,
)
from tl_core.sparse_layouts.semi_structured import *
from tl_core.sparse_layouts.semi_structured import _Constraint as _Constraint
