# Written by `python -m tools.facade_stubs --write`.
from . import activation_sparsifier as activation_sparsifier
from . import data_scheduler as data_scheduler
from . import data_sparsifier as data_sparsifier
from . import pruner as pruner
