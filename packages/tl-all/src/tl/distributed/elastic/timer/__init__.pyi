# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.timer import *

from . import api as api
from . import debug_info_logging as debug_info_logging
from . import file_based_local_timer as file_based_local_timer
from . import local_timer as local_timer
