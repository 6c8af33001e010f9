# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.events.handlers import get_logging_handler as get_logging_handler
