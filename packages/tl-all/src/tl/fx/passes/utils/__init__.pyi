# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.passes.utils import *

from . import common as common
from . import fuser_utils as fuser_utils
from . import matcher_utils as matcher_utils
from . import matcher_with_name_node_map_utils as matcher_with_name_node_map_utils
from . import source_matcher_utils as source_matcher_utils
