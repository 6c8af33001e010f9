# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing.errors import *

from . import error_handler as error_handler
from . import handlers as handlers
