# Written by `python -m tools.facade_stubs --write`.
from tl_data.dataloader import *
from tl_data.dataloader import _DatasetKind as _DatasetKind
from tl_data.dataloader import _InfiniteConstantSampler as _InfiniteConstantSampler
from tl_data.iterators import _BaseDataLoaderIter as _BaseDataLoaderIter
from tl_data.iterators import _MultiProcessingDataLoaderIter as _MultiProcessingDataLoaderIter
from tl_data.iterators import _SingleProcessDataLoaderIter as _SingleProcessDataLoaderIter
