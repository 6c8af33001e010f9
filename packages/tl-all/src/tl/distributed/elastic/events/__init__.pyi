# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.events import *

from . import api as api
from . import handlers as handlers
