# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.utils import *

from . import api as api
from . import data as data
from . import distributed as distributed
from . import log_level as log_level
from . import logging as logging
from . import store as store
