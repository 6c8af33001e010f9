# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes.dataframe import missing as missing

from . import dataframe_wrapper as dataframe_wrapper
from . import dataframes as dataframes
from . import datapipes as datapipes
from . import structures as structures
