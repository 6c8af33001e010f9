"""What libraries touch when they are imported loads neither the tracer nor graphs."""

import subprocess
import sys

PROGRAM = """
import sys
from tl_compiler.compat.dynamo import allow_in_graph, disable
from tl_compiler.compat.dynamo.utils import is_compile_supported
from tl_compiler.higher_order.index_mode import TransformGetItemToIndex
from tl_compiler.fx import wrap
heavy = {"tl_compiler.tracer", "tl_compiler.symbolic", "tl_compiler.export", "tl_compiler.fx.graph"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
import tl_compiler.compat.dynamo.export, tl_compiler.compat.dynamo as dynamo
assert callable(dynamo.export), "the module of that name hides it"
assert dynamo.is_compiling() is False
from tl_compiler.fx import GraphModule, symbolic_trace
assert isinstance(symbolic_trace(lambda x: x + 1), GraphModule)
"""


def test_decorators_load_no_tracer():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
