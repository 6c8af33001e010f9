# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes._hook_iterator import _SnapshotState as _SnapshotState
from tl_data.compat.datapipes.datapipe import *
from tl_data.compat.datapipes.datapipe import _Steps as _Steps
