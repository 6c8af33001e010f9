"""Checkpoints in directories, saved by one process or several, loaded however they are cut then.

>>> import tempfile, tl_core
>>> state = {"step": 0, "weight": tl_core.zeros(2)}
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = save({"step": 3, "weight": tl_core.ones(2)}, checkpoint_id=folder)
...     load(state, checkpoint_id=folder)
>>> state
{'step': 3, 'weight': tensor([1., 1.])}
"""

from . import format_utils as format_utils
from . import logger as logger
from . import logging_handlers as logging_handlers
from . import resharding as resharding
from . import staging as staging
from . import state_dict as state_dict
from . import stateful as stateful
from . import utils as utils
from .api import CheckpointException as CheckpointException
from .chunked import ChunkedTensor as ChunkedTensor
from .default_planner import DefaultLoadPlanner as DefaultLoadPlanner
from .default_planner import DefaultSavePlanner as DefaultSavePlanner
from .filesystem import FileSystemReader as FileSystemReader
from .filesystem import FileSystemWriter as FileSystemWriter
from .hf_storage import HuggingFaceStorageReader as HuggingFaceStorageReader
from .hf_storage import HuggingFaceStorageWriter as HuggingFaceStorageWriter
from .manager import CheckpointManager as CheckpointManager
from .metadata import BytesStorageMetadata as BytesStorageMetadata
from .metadata import ChunkStorageMetadata as ChunkStorageMetadata
from .metadata import Metadata as Metadata
from .metadata import TensorStorageMetadata as TensorStorageMetadata
from .optimizer import load_sharded_optimizer_state_dict as load_sharded_optimizer_state_dict
from .planner import LoadPlan as LoadPlan
from .planner import LoadPlanner as LoadPlanner
from .planner import ReadItem as ReadItem
from .planner import SavePlan as SavePlan
from .planner import SavePlanner as SavePlanner
from .planner import WriteItem as WriteItem
from .state_dict_loader import load as load
from .state_dict_loader import load_state_dict as load_state_dict
from .state_dict_saver import async_save as async_save
from .state_dict_saver import save as save
from .state_dict_saver import save_state_dict as save_state_dict
from .stateful import Stateful as Stateful
from .storage import StorageReader as StorageReader
from .storage import StorageWriter as StorageWriter
