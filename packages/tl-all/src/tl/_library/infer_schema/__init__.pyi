# Written by `python -m tools.facade_stubs --write`.
from tl_core.library.schema_inference import *
from tl_core.library.schema_inference import _Inferred as _Inferred
