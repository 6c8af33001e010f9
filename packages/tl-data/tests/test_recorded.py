"""Loaders in recordings: each batch, and what worker processes did for it."""

import os

import tl_core
from tl_core.base import recording
from tl_data import DataLoader


class Numbers:
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return tl_core.tensor(float(index))


def record(loader):
    recording.start()
    try:
        batches = list(loader)
    finally:
        result = recording.stop()
    assert len(batches) == 3
    return [event[1] for event in result.events()], recording.take_foreign(), result


def test_batches_are_events():
    names, foreign, _ = record(DataLoader(Numbers(), batch_size=2))
    label = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert names.count(label) == 4 and foreign == []


def test_worker_processes_tell_when_they_worked():
    names, foreign, result = record(
        DataLoader(Numbers(), batch_size=2, num_workers=2, multiprocessing_context="fork")
    )
    assert names.count("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") == 4
    batches = {event.name.partition(": ")[2] for event in foreign}
    assert batches >= {"batch 0", "batch 1", "batch 2"}
    assert os.getpid() not in {event.process for event in foreign}
    assert all(result.start <= event.start <= event.end <= result.end for event in foreign)


def test_without_a_recording_nothing_is_noted():
    list(DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context="fork"))
    assert recording.take_foreign() == []
