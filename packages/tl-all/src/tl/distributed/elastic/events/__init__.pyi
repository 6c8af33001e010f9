# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.events import *
from tl_distributed.elastic.events import api as api
from tl_distributed.elastic.events import handlers as handlers
