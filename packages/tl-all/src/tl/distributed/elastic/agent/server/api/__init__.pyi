# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.base.errors import DistError as DistError
from tl_distributed.elastic.agent.server.api import DEFAULT_ROLE as DEFAULT_ROLE
from tl_distributed.elastic.agent.server.api import ElasticAgent as ElasticAgent
from tl_distributed.elastic.agent.server.api import RunResult as RunResult
from tl_distributed.elastic.agent.server.api import SimpleElasticAgent as SimpleElasticAgent
from tl_distributed.elastic.agent.server.api import Worker as Worker
from tl_distributed.elastic.agent.server.api import WorkerGroup as WorkerGroup
from tl_distributed.elastic.agent.server.api import WorkerSpec as WorkerSpec
from tl_distributed.elastic.agent.server.api import WorkerState as WorkerState
from tl_distributed.elastic.multiprocessing.api import SignalException as SignalException
from tl_distributed.elastic.multiprocessing.api import signals_raise as signals_raise
from tl_distributed.elastic.multiprocessing.errors import ProcessFailure as ProcessFailure
from tl_distributed.elastic.rendezvous.api import RendezvousConnectionError as RendezvousConnectionError
from tl_distributed.elastic.rendezvous.api import RendezvousGracefulExitError as RendezvousGracefulExitError
from tl_distributed.elastic.rendezvous.api import RendezvousHandler as RendezvousHandler
from tl_distributed.elastic.rendezvous.dynamic_rendezvous import (
    DynamicRendezvousHandler as DynamicRendezvousHandler,
)
from tl_distributed.elastic.rendezvous.state import ANOTHER_WAITS as ANOTHER_WAITS
from tl_distributed.stores.store import Store as Store
