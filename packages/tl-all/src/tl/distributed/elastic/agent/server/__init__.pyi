# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.agent.server import *

from . import api as api
from . import health_check_server as health_check_server
from . import local_elastic_agent as local_elastic_agent
