"""`tl_data.info` by the reference's name."""

from tl_data.info import WorkerInfo as WorkerInfo
from tl_data.info import get_worker_info as get_worker_info
