"""Steps of streams."""

from .callable import Collator as Collator
from .callable import Mapper as Mapper
from .combinatorics import Sampler as Sampler
from .combinatorics import Shuffler as Shuffler
from .combining import Concater as Concater
from .combining import Demultiplexer as Demultiplexer
from .combining import Forker as Forker
from .combining import Multiplexer as Multiplexer
from .combining import Zipper as Zipper
from .filelister import FileLister as FileLister
from .fileopener import FileOpener as FileOpener
from .grouping import Batcher as Batcher
from .grouping import Grouper as Grouper
from .grouping import UnBatcher as UnBatcher
from .routeddecoder import RoutedDecoder as RoutedDecoder
from .selecting import Filter as Filter
from .sharding import ShardingFilter as ShardingFilter
from .streamreader import StreamReader as StreamReader
from .utils import IterableWrapper as IterableWrapper
