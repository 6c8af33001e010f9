# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.agent.server.health_check_server import *
