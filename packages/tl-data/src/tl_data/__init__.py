"""Datasets, samplers and a loader with workers for tl: batches at once, exact state, nothing left behind.

>>> import tl_core
>>> loader = DataLoader(TensorDataset(tl_core.arange(4), tl_core.eye(4)), batch_size=2)
>>> [list(batch[0]) for batch in loader]
[[tensor(0), tensor(1)], [tensor(2), tensor(3)]]
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from tl_core.base.public_names import listed_names
from tl_data.collate import default_collate as default_collate
from tl_data.collate import default_convert as default_convert
from tl_data.dataloader import DataLoader as DataLoader
from tl_data.dataloader import _DatasetKind as _DatasetKind
from tl_data.dataset import ChainDataset as ChainDataset
from tl_data.dataset import ConcatDataset as ConcatDataset
from tl_data.dataset import Dataset as Dataset
from tl_data.dataset import IterableDataset as IterableDataset
from tl_data.dataset import Resumable as Resumable
from tl_data.dataset import StackDataset as StackDataset
from tl_data.dataset import Subset as Subset
from tl_data.dataset import TensorDataset as TensorDataset
from tl_data.dataset import random_split as random_split
from tl_data.distributed import DistributedSampler as DistributedSampler
from tl_data.info import get_worker_info as get_worker_info
from tl_data.sampler import BatchSampler as BatchSampler
from tl_data.sampler import RandomSampler as RandomSampler
from tl_data.sampler import Sampler as Sampler
from tl_data.sampler import SequentialSampler as SequentialSampler
from tl_data.sampler import SubsetRandomSampler as SubsetRandomSampler
from tl_data.sampler import WeightedRandomSampler as WeightedRandomSampler
from tl_data.version import __version__ as __version__

if TYPE_CHECKING:
    from tl_data.compat.datapipes.datapipe import DataChunk as DataChunk
    from tl_data.compat.datapipes.datapipe import IterDataPipe as IterDataPipe
    from tl_data.compat.datapipes.datapipe import MapDataPipe as MapDataPipe
    from tl_data.compat.datapipes.datapipe import functional_datapipe as functional_datapipe
    from tl_data.seeded import Seeded as Seeded
    from tl_data.seeded import sample_generator as sample_generator

_LATER = {
    **dict.fromkeys(
        ("DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"),
        "tl_data.compat.datapipes.datapipe",
    ),
    **dict.fromkeys(("Seeded", "sample_generator"), "tl_data.seeded"),
}


def __getattr__(name: str) -> Any:
    """The names of modules that few programs need; workers start without them."""
    if name not in _LATER:
        raise AttributeError(f"module 'tl_data' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__], _LATER)
