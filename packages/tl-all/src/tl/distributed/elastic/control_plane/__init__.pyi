# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.control_plane import *
from tl_distributed.elastic.control_plane import _Handler as _Handler
from tl_distributed.elastic.control_plane import _Server as _Server
