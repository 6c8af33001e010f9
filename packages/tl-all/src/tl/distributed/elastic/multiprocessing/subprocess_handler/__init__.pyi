# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing.subprocess_handler import *

from . import handlers as handlers
from . import subprocess_handler as subprocess_handler
