# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes.iter.callable import CollatorIterDataPipe as _Collator_
from tl_data.compat.datapipes.iter.callable import MapperIterDataPipe as _Mapper_
from tl_data.compat.datapipes.iter.combinatorics import SamplerIterDataPipe as _Sampler_
from tl_data.compat.datapipes.iter.combinatorics import ShufflerIterDataPipe as _Shuffler_
from tl_data.compat.datapipes.iter.combining import ConcaterIterDataPipe as _Concater_
from tl_data.compat.datapipes.iter.combining import DemultiplexerIterDataPipe as _Demultiplexer_
from tl_data.compat.datapipes.iter.combining import ForkerIterDataPipe as _Forker_
from tl_data.compat.datapipes.iter.combining import MultiplexerIterDataPipe as _Multiplexer_
from tl_data.compat.datapipes.iter.combining import ZipperIterDataPipe as _Zipper_
from tl_data.compat.datapipes.iter.filelister import FileListerIterDataPipe as _FileLister_
from tl_data.compat.datapipes.iter.fileopener import FileOpenerIterDataPipe as _FileOpener_
from tl_data.compat.datapipes.iter.grouping import BatcherIterDataPipe as _Batcher_
from tl_data.compat.datapipes.iter.grouping import GrouperIterDataPipe as _Grouper_
from tl_data.compat.datapipes.iter.grouping import UnBatcherIterDataPipe as _UnBatcher_
from tl_data.compat.datapipes.iter.routeddecoder import RoutedDecoderIterDataPipe as _RoutedDecoder_
from tl_data.compat.datapipes.iter.selecting import FilterIterDataPipe as _Filter_
from tl_data.compat.datapipes.iter.sharding import ShardingFilterIterDataPipe as _ShardingFilter_
from tl_data.compat.datapipes.iter.streamreader import StreamReaderIterDataPipe as _StreamReader_
from tl_data.compat.datapipes.iter.utils import IterableWrapperIterDataPipe as _IterableWrapper_

from . import callable as callable
from . import combinatorics as combinatorics
from . import combining as combining
from . import filelister as filelister
from . import fileopener as fileopener
from . import grouping as grouping
from . import routeddecoder as routeddecoder
from . import selecting as selecting
from . import sharding as sharding
from . import streamreader as streamreader
from . import utils as utils

Batcher = _Batcher_
Collator = _Collator_
Concater = _Concater_
Demultiplexer = _Demultiplexer_
FileLister = _FileLister_
FileOpener = _FileOpener_
Filter = _Filter_
Forker = _Forker_
Grouper = _Grouper_
IterableWrapper = _IterableWrapper_
Mapper = _Mapper_
Multiplexer = _Multiplexer_
RoutedDecoder = _RoutedDecoder_
Sampler = _Sampler_
ShardingFilter = _ShardingFilter_
Shuffler = _Shuffler_
StreamReader = _StreamReader_
UnBatcher = _UnBatcher_
Zipper = _Zipper_
