# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.normalize import *
from tl_compiler.compat.experimental.schema_type_annotation import (
    AnnotateTypesWithSchema as AnnotateTypesWithSchema,
)
from tl_compiler.fx.interpreter import Transformer as Transformer
from tl_compiler.fx.node import Node as Node
from tl_compiler.fx.node import map_aggregate as map_aggregate
from tl_compiler.fx.operator_schemas import create_type_hint as create_type_hint
from tl_compiler.fx.operator_schemas import normalize_function as normalize_function
from tl_compiler.fx.operator_schemas import normalize_module as normalize_module
from tl_compiler.fx.proxy import Proxy as Proxy
