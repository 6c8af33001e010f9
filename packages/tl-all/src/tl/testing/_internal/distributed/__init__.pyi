# Written by `python -m tools.facade_stubs --write`.
from . import fake_pg as fake_pg
