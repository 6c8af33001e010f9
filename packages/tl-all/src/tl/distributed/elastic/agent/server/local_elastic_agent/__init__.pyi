# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.agent.server.api import DEFAULT_ROLE as DEFAULT_ROLE
from tl_distributed.elastic.agent.server.api import RunResult as RunResult
from tl_distributed.elastic.agent.server.api import SimpleElasticAgent as SimpleElasticAgent
from tl_distributed.elastic.agent.server.api import Worker as Worker
from tl_distributed.elastic.agent.server.api import WorkerGroup as WorkerGroup
from tl_distributed.elastic.agent.server.api import WorkerSpec as WorkerSpec
from tl_distributed.elastic.agent.server.api import WorkerState as WorkerState
from tl_distributed.elastic.agent.server.health_check_server import HealthCheckServer as HealthCheckServer
from tl_distributed.elastic.agent.server.health_check_server import (
    create_healthcheck_server as create_healthcheck_server,
)
from tl_distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent as LocalElasticAgent
from tl_distributed.elastic.multiprocessing import start_processes as start_processes
from tl_distributed.elastic.multiprocessing.api import PContext as PContext
from tl_distributed.elastic.multiprocessing.logs import LogsSpecs as LogsSpecs
from tl_distributed.elastic.utils.api import macros as macros
