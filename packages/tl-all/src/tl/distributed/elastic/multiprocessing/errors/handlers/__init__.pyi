# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing.errors.error_handler import ErrorHandler as ErrorHandler
from tl_distributed.elastic.multiprocessing.errors.handlers import get_error_handler as get_error_handler
