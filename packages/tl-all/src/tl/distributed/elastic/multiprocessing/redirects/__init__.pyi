# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing.redirects import redirect as redirect
