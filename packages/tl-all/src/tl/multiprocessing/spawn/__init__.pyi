# Written by `python -m tools.facade_stubs --write`.
from tl_core.multiprocessing.spawn import ENV_VAR_PARALLEL_START as ENV_VAR_PARALLEL_START
from tl_core.multiprocessing.spawn import ProcessContext as ProcessContext
from tl_core.multiprocessing.spawn import ProcessException as ProcessException
from tl_core.multiprocessing.spawn import ProcessExitedException as ProcessExitedException
from tl_core.multiprocessing.spawn import ProcessRaisedException as ProcessRaisedException
from tl_core.multiprocessing.spawn import SpawnContext as SpawnContext
from tl_core.multiprocessing.spawn import spawn as spawn
from tl_core.multiprocessing.spawn import start_processes as start_processes
