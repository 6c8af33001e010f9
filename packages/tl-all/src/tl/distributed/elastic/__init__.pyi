# Written by `python -m tools.facade_stubs --write`.
from . import agent as agent
from . import control_plane as control_plane
from . import events as events
from . import metrics as metrics
from . import multiprocessing as multiprocessing
from . import rendezvous as rendezvous
from . import timer as timer
from . import utils as utils
