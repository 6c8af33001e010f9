# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing import ChildFailedError as ChildFailedError
from tl_distributed.elastic.multiprocessing import DefaultLogsSpecs as DefaultLogsSpecs
from tl_distributed.elastic.multiprocessing import LogsDest as LogsDest
from tl_distributed.elastic.multiprocessing import LogsSpecs as LogsSpecs
from tl_distributed.elastic.multiprocessing import MultiprocessContext as MultiprocessContext
from tl_distributed.elastic.multiprocessing import PContext as PContext
from tl_distributed.elastic.multiprocessing import ProcessFailure as ProcessFailure
from tl_distributed.elastic.multiprocessing import RunProcsResult as RunProcsResult
from tl_distributed.elastic.multiprocessing import SignalException as SignalException
from tl_distributed.elastic.multiprocessing import Std as Std
from tl_distributed.elastic.multiprocessing import SubprocessContext as SubprocessContext
from tl_distributed.elastic.multiprocessing import record as record
from tl_distributed.elastic.multiprocessing import start_processes as start_processes

from . import api as api
from . import errors as errors
from . import redirects as redirects
from . import subprocess_handler as subprocess_handler
from . import tail_log as tail_log
