# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.schema_type_annotation import *
