# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing.errors.error_handler import ErrorHandler as ErrorHandler
