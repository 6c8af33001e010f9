# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.api import CheckpointException as CheckpointException
from tl_checkpoint.distributed.chunked import ChunkedTensor as ChunkedTensor
from tl_checkpoint.distributed.default_planner import DefaultLoadPlanner as DefaultLoadPlanner
from tl_checkpoint.distributed.default_planner import DefaultSavePlanner as DefaultSavePlanner
from tl_checkpoint.distributed.filesystem import FileSystemReader as FileSystemReader
from tl_checkpoint.distributed.filesystem import FileSystemWriter as FileSystemWriter
from tl_checkpoint.distributed.hf_storage import HuggingFaceStorageReader as HuggingFaceStorageReader
from tl_checkpoint.distributed.hf_storage import HuggingFaceStorageWriter as HuggingFaceStorageWriter
from tl_checkpoint.distributed.manager import CheckpointManager as CheckpointManager
from tl_checkpoint.distributed.metadata import BytesStorageMetadata as BytesStorageMetadata
from tl_checkpoint.distributed.metadata import ChunkStorageMetadata as ChunkStorageMetadata
from tl_checkpoint.distributed.metadata import Metadata as Metadata
from tl_checkpoint.distributed.metadata import TensorStorageMetadata as TensorStorageMetadata
from tl_checkpoint.distributed.optimizer import (
    load_sharded_optimizer_state_dict as load_sharded_optimizer_state_dict,
)
from tl_checkpoint.distributed.planner import LoadPlan as LoadPlan
from tl_checkpoint.distributed.planner import LoadPlanner as LoadPlanner
from tl_checkpoint.distributed.planner import ReadItem as ReadItem
from tl_checkpoint.distributed.planner import SavePlan as SavePlan
from tl_checkpoint.distributed.planner import SavePlanner as SavePlanner
from tl_checkpoint.distributed.planner import WriteItem as WriteItem
from tl_checkpoint.distributed.state_dict_loader import load as load
from tl_checkpoint.distributed.state_dict_loader import load_state_dict as load_state_dict
from tl_checkpoint.distributed.state_dict_saver import async_save as async_save
from tl_checkpoint.distributed.state_dict_saver import save as save
from tl_checkpoint.distributed.state_dict_saver import save_state_dict as save_state_dict
from tl_checkpoint.distributed.stateful import Stateful as Stateful
from tl_checkpoint.distributed.storage import StorageReader as StorageReader
from tl_checkpoint.distributed.storage import StorageWriter as StorageWriter

from . import _consolidate_hf_safetensors as _consolidate_hf_safetensors
from . import _nested_dict as _nested_dict
from . import _traverse as _traverse
from . import api as api
from . import default_planner as default_planner
from . import filesystem as filesystem
from . import format_utils as format_utils
from . import hf_storage as hf_storage
from . import logger as logger
from . import logging_handlers as logging_handlers
from . import metadata as metadata
from . import optimizer as optimizer
from . import planner as planner
from . import planner_helpers as planner_helpers
from . import resharding as resharding
from . import staging as staging
from . import state_dict as state_dict
from . import state_dict_loader as state_dict_loader
from . import state_dict_saver as state_dict_saver
from . import stateful as stateful
from . import storage as storage
from . import utils as utils
