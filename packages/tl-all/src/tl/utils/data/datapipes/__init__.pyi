# Written by `python -m tools.facade_stubs --write`.
from . import dataframe as dataframe
from . import datapipe as datapipe
from . import iter as iter
from . import map as map
from . import utils as utils
