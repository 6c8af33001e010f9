# Written by `python -m tools.facade_stubs --write`.
from . import run_cpu as run_cpu
