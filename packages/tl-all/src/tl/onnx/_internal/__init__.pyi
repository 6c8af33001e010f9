# Written by `python -m tools.facade_stubs --write`.
from . import exporter as exporter
