# Written by `python -m tools.facade_stubs --write`.
from tl_core.futures import Future as Future
from tl_core.futures import S as S
from tl_core.futures import T as T
from tl_core.futures import _Link as _Link
from tl_core.futures import collect_all as collect_all
from tl_core.futures import wait_all as wait_all
