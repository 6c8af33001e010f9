"""Pipes."""

import importlib
import io
import pickle

import pytest
from samples import plain

import tl_core
import tl_data
from tl_data.compat import graph, graph_settings
from tl_data.compat.datapipes import iter as streams
from tl_data.compat.datapipes import map as maps
from tl_data.compat.datapipes.datapipe import DataChunk, IterDataPipe, functional_datapipe
from tl_data.compat.datapipes.utils import snapshot
from tl_data.compat.datapipes.utils.common import StreamWrapper
from tl_data.compat.datapipes.utils.decoder import imagehandler


def numbers(count):
    return streams.IterableWrapper(range(count))


def is_even(n):
    return n % 2 == 0


def test_map_filter_batch():
    pipe = numbers(7).map(lambda n: n * n).filter(lambda n: n != 9).batch(2, drop_last=True)
    assert list(pipe) == [[0, 1], [4, 16], [25, 36]] == list(pipe)
    assert isinstance(next(iter(pipe)), DataChunk)
    assert len(numbers(7).batch(2)) == 4 and len(numbers(7).batch(2, drop_last=True)) == 3
    assert plain(list(numbers(4).batch(2).collate())) == [[0, 1], [2, 3]]
    assert list(numbers(4).batch(2).unbatch()) == [0, 1, 2, 3]
    assert list(numbers(4).batch(2).batch(2).unbatch(unbatch_level=-1)) == [0, 1, 2, 3]
    with pytest.raises(IndexError, match="exceeds the depth"):
        list(numbers(4).unbatch())
    with pytest.raises(ValueError, match="filter_fn should give a bool, got int"):
        list(numbers(3).filter(lambda n: n))


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"input_col": 0}, (10, 2, 3)),
        ({"input_col": 1, "output_col": 0}, (20, 2, 3)),
        ({"input_col": 2, "output_col": -1}, (1, 2, 3, 30)),
        ({"input_col": 2, "output_col": [1]}, (1, 30, 3)),
    ],
)
def test_map_of_parts(options, expected):
    assert list(streams.IterableWrapper([(1, 2, 3)]).map(lambda n: n * 10, **options)) == [expected]


def test_map_of_several_parts():
    assert list(streams.IterableWrapper([[1, 2, 3]]).map(max, input_col=[0, 2])) == [[3, 2]]
    assert list(streams.IterableWrapper([{"a": 1}]).map(str, "a", "b")) == [{"a": 1, "b": "1"}]
    with pytest.raises(ValueError, match="`output_col` must be None"):
        numbers(1).map(str, output_col=1)


def test_joining():
    assert list(numbers(2).concat(numbers(3))) == [0, 1, 0, 1, 2]
    assert list(numbers(3).zip(numbers(2))) == [(0, 0), (1, 1)]
    assert list(numbers(3).mux(numbers(2).map(str))) == [0, "0", 1, "1"]
    assert [
        len(numbers(3).zip(numbers(2))),
        len(numbers(3).mux(numbers(2))),
        len(numbers(3).concat(numbers(2))),
    ] == [2, 4, 5]
    with pytest.raises(TypeError, match="`IterDataPipe`, got list"):
        numbers(3).zip([1])


def test_forking():
    first, second = numbers(4).fork(2)
    assert list(first) == [0, 1, 2, 3] == list(second) == list(first)
    assert list(zip(first, second)) == [(n, n) for n in range(4)]
    slow, _ = numbers(4).fork(2, buffer_size=2)
    with pytest.raises(BufferError, match="buffer_size=2"):
        list(slow)
    copied, other = streams.IterableWrapper([[1]]).fork(2, copy="deep")
    next(iter(copied)).append(2)
    assert list(other) == [[1]]


def test_parting():
    even, odd = numbers(5).demux(2, lambda n: n % 2)
    assert (list(even), list(odd)) == ([0, 2, 4], [1, 3])
    (value,) = numbers(3).demux(1, lambda n: None if n == 1 else 0, drop_none=True)
    assert list(value) == [0, 2]
    with pytest.raises(ValueError, match=r"between 0 and 0\. 1 is returned"):
        list(numbers(3).demux(1, lambda n: n)[0])


def test_grouping():
    pipe = numbers(6).groupby(is_even, group_size=2)
    assert list(pipe) == [[0, 2], [1, 3], [4], [5]]
    assert list(numbers(4).groupby(is_even, keep_key=True)) == [(True, [0, 2]), (False, [1, 3])]
    assert list(numbers(5).groupby(is_even, group_size=2, drop_remaining=True)) == [[0, 2], [1, 3]]
    full = numbers(5).groupby(lambda n: n, buffer_size=3, group_size=3, guaranteed_group_size=2)
    with pytest.raises(RuntimeError, match="has 1 samples when buffer_size=3 is full"):
        list(full)


def test_shuffling():
    pipe = numbers(50).shuffle(buffer_size=10)
    tl_core.manual_seed(1)
    first, second = list(pipe), list(pipe)
    assert sorted(first) == list(range(50)) and first != second != list(range(50))
    assert list(pipe.set_seed(3)) == list(pipe.set_seed(3))
    assert list(pipe.set_shuffle(False)) == list(range(50))
    assert len(pipe) == 50


def test_files(tmp_path):
    for name, data in (("a.txt", b"one"), ("b.json", b"[1]"), ("sub/c.txt", b"three")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    result = list(streams.FileLister(str(tmp_path), recursive=True))
    assert result == [str(tmp_path / n) for n in ("a.txt", "b.json", "sub/c.txt")]
    texts = streams.FileLister(str(tmp_path), "*.txt")
    assert list(texts.open_files().read_from_stream()) == [(str(tmp_path / "a.txt"), "one")]
    assert [p for _, p in texts.open_files(mode="b").read_from_stream(chunk=2)] == [b"on", b"e"]
    decoded = streams.FileLister(str(tmp_path)).open_files(mode="b").routed_decode()
    assert [value for _, value in decoded] == ["one", [1]]
    raw = streams.FileLister(str(tmp_path)).open_files(mode="b").routed_decode(imagehandler())
    assert [value for _, value in raw] == [b"one", b"[1]"]
    with pytest.raises(ValueError, match="mode should be one of"):
        texts.open_files(mode="w")


def test_maps():
    pipe = maps.SequenceWrapper([1, 2, 3]).map(lambda n: n + 1)
    assert [pipe[i] for i in range(3)] == [2, 3, 4]
    assert pipe.batch(2)[1] == [4] and len(pipe.batch(2, drop_last=True)) == 1
    assert pipe.concat(pipe)[3] == 2 and len(pipe.concat(pipe)) == 6
    assert pipe.zip(pipe)[0] == (2, 2)
    assert sorted(pipe.shuffle()) == [2, 3, 4]
    assert sorted(pipe.shuffle(indices=[0, 2]).set_seed(1)) == [2, 4]
    with pytest.raises(IndexError):
        pipe.concat(pipe)[6]


def test_loading():
    assert plain(list(tl_data.DataLoader(numbers(5), batch_size=2))) == [[0, 1], [2, 3], [4]]
    shared = numbers(6).sharding_filter().map(abs)
    loader = tl_data.DataLoader(shared, num_workers=2, batch_size=3, multiprocessing_context="thread")
    assert plain(list(loader)) == [[0, 2, 4], [1, 3, 5]]
    assert list(shared) == list(range(6))


def test_settings():
    pipe = numbers(6).shuffle().sharding_filter().map(abs)
    assert len(graph_settings.get_all_graph_pipes(graph.traverse_dps(pipe))) == 4
    graph_settings.apply_sharding(pipe, 3, 1)
    graph_settings.apply_shuffle_settings(pipe, shuffle=False)
    assert list(pipe) == [1, 4]
    graph_settings.apply_shuffle_settings(pipe, shuffle=True)
    orders = []
    for _ in range(2):
        graph_settings.apply_random_seed(pipe, tl_core.Generator().manual_seed(2))
        orders.append(list(pipe))
    assert orders[0] == orders[1]
    with pytest.raises(ValueError, match=r"instance_id\(3\)"):
        graph_settings.apply_sharding(pipe, 3, 3)
    with pytest.raises(RuntimeError, match="expected IterDataPipe or MapDataPipe, got list"):
        graph.traverse_dps([1])


def test_steps_of_a_program():
    @functional_datapipe("twice_in_this_test")
    class Twice(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for sample in self.source:
                yield from (sample, sample)

    try:
        assert list(numbers(2).twice_in_this_test()) == [0, 0, 1, 1]
        with pytest.raises(ValueError, match="exists already"):
            functional_datapipe("twice_in_this_test")(Twice)
    finally:
        del IterDataPipe.functions["twice_in_this_test"]
    with pytest.raises(
        AttributeError, match="'IterableWrapperIterDataPipe' object has no attribute 'twice_in_this_test'"
    ):
        numbers(2).twice_in_this_test  # noqa: B018
    with pytest.raises(TypeError, match="decorates pipes"):
        functional_datapipe("other")(list)


@pytest.mark.parametrize("name", ["dataframe", "dataframe.dataframes", "dataframe.structures"])
def test_data_frames_say_that_they_are_left_out(name):
    module = importlib.import_module(f"tl_data.compat.datapipes.{name}")
    with pytest.raises(AttributeError, match=r"data frames in pipes are left out; tl_data.sources.Table"):
        module.CaptureDataFrame  # noqa: B018


def test_a_step_that_is_no_longer_needed():
    from tl_data.compat.backward_compatibility import worker_init_fn

    with pytest.warns(UserWarning, match="does nothing"):
        worker_init_fn(0)


# ---- passes --------------------------------------------------------------------------------------------------
class OwnIterator(IterDataPipe[int]):
    """A stream that is its own iterator."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.left = iter(range(4))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.left)


@pytest.mark.parametrize("make", [lambda: numbers(4), lambda: numbers(4).map(abs), OwnIterator])
def test_a_new_iterator_invalidates_the_last(make):
    pipe = make()
    assert list(pipe) == list(pipe) == [0, 1, 2, 3]
    first = iter(pipe)
    assert next(first) == 0 and pipe._number_of_samples_yielded == 1
    second = iter(pipe)
    assert list(second) == [0, 1, 2, 3] and pipe._number_of_samples_yielded == 4
    with pytest.raises(RuntimeError, match="This iterator has been invalidated"):
        next(first)


def test_a_class_below_may_call_its_parent():
    class Above(IterDataPipe[int]):
        def __iter__(self):
            yield from range(3)

    class Below(Above):
        def __iter__(self):
            return (n + 1 for n in super().__iter__())

    assert list(Below()) == [1, 2, 3]


@pytest.mark.parametrize("make", [lambda: numbers(9), lambda: numbers(9).shuffle().batch(2), OwnIterator])
def test_a_snapshot(make):
    generator = tl_core.Generator()
    pipe = graph_settings.apply_random_seed(make(), generator.manual_seed(3))
    full = list(pipe)
    copy = pickle.loads(pickle.dumps(pipe)) if not isinstance(pipe, OwnIterator) else make()
    snapshot._simple_graph_snapshot_restoration(copy, 2, generator.manual_seed(3))
    with pytest.raises(RuntimeError, match="has been restored already"):
        snapshot._simple_graph_snapshot_restoration(copy, 2)
    assert list(copy) == full[2:]


def test_parts_of_a_stream_go_through_pickle():
    parts = pickle.loads(pickle.dumps(numbers(3).fork(2)))
    assert [list(part) for part in parts] == [[0, 1, 2]] * 2


def test_a_length_that_a_source_lacks():
    class Unsized(IterDataPipe[int]):
        def __iter__(self):
            return iter([1])

    for step in (Unsized().map(abs), Unsized().batch(1), Unsized().shuffle(), Unsized().zip(numbers(1))):
        with pytest.raises(TypeError, match="IterDataPipe instance doesn't have valid length"):
            len(step)
    with pytest.raises(AssertionError, match="requires input datapipe implemented `__len__`"):
        streams.Sampler(Unsized())


@pytest.mark.parametrize(
    ("function", "columns", "message"),
    [
        (lambda: 0, None, "takes 0 parameters, but 1 are required"),
        (lambda a: 0, [0, 1], "takes 1 parameters, but 2 are required"),
        (lambda a, b: 0, None, "takes 2 positional parameters, but 1 are required"),
        (lambda a, *, b: 0, None, "takes 1 keyword-only parameters"),
    ],
)
def test_a_function_with_other_arguments(function, columns, message):
    for step in (numbers(1).map, numbers(1).filter):
        with pytest.raises(ValueError, match=message):
            step(function, input_col=columns)


def test_sharding_twice():
    pipe = numbers(9).sharding_filter()
    assert list(graph_settings.apply_sharding(pipe, 3, 1)) == [1, 4, 7]
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline"):
        graph_settings.apply_sharding(numbers(9).sharding_filter().sharding_filter(), 3, 1)
    first, second = numbers(9).fork(2)
    joined = first.sharding_filter().zip(second.sharding_filter())
    assert list(graph_settings.apply_sharding(joined, 3, 1)) == [(1, 1), (4, 4), (7, 7)]
    with pytest.raises(RuntimeError, match="cannot mix DEFAULT and non DEFAULT groups"):
        pipe.apply_sharding(2, 0, graph_settings.SHARDING_PRIORITIES.DISTRIBUTED)


# ---- files ---------------------------------------------------------------------------------------------------
def test_a_wrapper_closes_its_file():
    file = io.BytesIO(b"ab\ncd")
    stream = StreamWrapper(file, name="letters")
    assert list(stream) == [b"ab\n", b"cd"] and stream.tell() == 5 and "read" in dir(stream)
    assert repr(stream) == f"StreamWrapper<letters,{file!r}>"
    del stream
    assert file.closed
    with pytest.raises(RuntimeError, match="should be StreamWrapper, BytesIO was given"):
        StreamWrapper(io.BytesIO(), parent_stream=io.BytesIO())


def test_an_archive_closes_after_its_members():
    archive = StreamWrapper(io.BytesIO())
    members = [StreamWrapper(io.BytesIO(), parent_stream=archive) for _ in range(2)]
    archive.autoclose()
    members[0].close()
    assert not archive.closed
    StreamWrapper.close_streams({"rest": [members[1], 3]})
    assert members[1].closed and archive.closed
    archive.close()


def test_a_wrapper_goes_through_pickle_as_its_file():
    assert pickle.loads(pickle.dumps(StreamWrapper(io.BytesIO(b"ab")))).read() == b"ab"
