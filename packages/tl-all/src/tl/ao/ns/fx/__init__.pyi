# Written by `python -m tools.facade_stubs --write`.
from . import graph_matcher as graph_matcher
from . import graph_passes as graph_passes
from . import mappings as mappings
from . import n_shadows_utils as n_shadows_utils
from . import ns_types as ns_types
from . import pattern_utils as pattern_utils
from . import qconfig_multi_mapping as qconfig_multi_mapping
from . import utils as utils
from . import weight_utils as weight_utils
