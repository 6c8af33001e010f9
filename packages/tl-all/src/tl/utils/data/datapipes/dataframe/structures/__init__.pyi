# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes.dataframe import missing as missing
