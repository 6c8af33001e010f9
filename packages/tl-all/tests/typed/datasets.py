"""Datasets of a program's own, samplers, and a collate function for sequences of several lengths."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

import tl as torch
from tl import Tensor
from tl.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from tl.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
)


class Sample(NamedTuple):
    tokens: Tensor
    label: int


class Batch(NamedTuple):
    tokens: Tensor
    lengths: Tensor
    labels: Tensor


class Sentences(Dataset[Sample]):
    def __init__(self, n: int, transform: "Transform | None" = None) -> None:
        self.lengths = [1 + i % 5 for i in range(n)]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Sample:
        tokens = torch.full((self.lengths[index],), index)
        if self.transform is not None:
            tokens = self.transform(tokens)
        return Sample(tokens, index % 2)


class Squares(Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> int:
        return i * i


class Transform:
    def __init__(self, shift: int) -> None:
        self.shift = shift

    def __call__(self, x: Tensor) -> Tensor:
        return x + self.shift


class Numbers(IterableDataset[Tensor]):
    def __init__(self, stop: int) -> None:
        super().__init__()
        self.stop = stop

    def __iter__(self) -> Iterator[Tensor]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.stop, step):
            yield torch.tensor(i, dtype=torch.float32)


class EverySecond(Sampler[int]):
    def __init__(self, data: Sentences) -> None:
        self.data = data

    def __iter__(self) -> Iterator[int]:
        return iter(range(0, len(self.data), 2))

    def __len__(self) -> int:
        return (len(self.data) + 1) // 2


def collate(samples: Sequence[Sample]) -> Batch:
    tokens = pad_sequence([s.tokens for s in samples], batch_first=True, padding_value=0)
    lengths = torch.tensor([len(s.tokens) for s in samples])
    return Batch(tokens, lengths, torch.tensor([s.label for s in samples]))


def seed_worker(worker: int) -> None:
    np.random.seed(torch.initial_seed() % 2**32 + worker)


def main() -> None:
    generator = torch.Generator()
    generator.manual_seed(0)
    data = Sentences(10, transform=Transform(1))
    loader = DataLoader(
        data, batch_size=4, shuffle=True, collate_fn=collate, num_workers=0, worker_init_fn=seed_worker,
        pin_memory=False, drop_last=False, generator=generator,
    )  # fmt: skip
    lstm = torch.nn.LSTM(input_size=1, hidden_size=4, num_layers=1, batch_first=True)
    for batch in loader:
        packed = pack_padded_sequence(
            batch.tokens.unsqueeze(-1).float(), batch.lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        output, (hidden, cell) = lstm(packed)
        unpacked, lengths = pad_packed_sequence(output, batch_first=True)
        print(unpacked.shape, lengths.tolist(), hidden.shape, cell.shape)
    second = DataLoader(data, sampler=EverySecond(data), collate_fn=collate, batch_size=2)
    print(len(loader), len(second), len(data))
    both = ConcatDataset([data, Subset(data, [0, 1])])
    weighted = WeightedRandomSampler([0.5] * len(both), num_samples=4, replacement=True)
    print([both[i].label for i in weighted])
    counts = np.bincount(np.array([0, 0, 1, 1]))
    by_array = WeightedRandomSampler((1 / counts)[[0, 0, 1, 1]], num_samples=2)
    by_tensor = WeightedRandomSampler(torch.tensor([0.5, 0.5]), num_samples=2)
    squares = [
        Subset(Squares(), np.array([3, 1])),
        Subset(Squares(), torch.tensor([0, 2])),
        Subset(Squares(), range(2)),
    ]
    print(list(by_array), list(by_tensor), [len(part) for part in squares])
    print(list(SubsetRandomSampler(torch.arange(3))))
    for indices in BatchSampler(RandomSampler(data, generator=generator), batch_size=3, drop_last=True):
        print(indices)
    for number in DataLoader(Numbers(3), batch_size=None):
        print(number.item())
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    shared = torch.from_numpy(array)
    back = (shared * 2).numpy()
    print(back.mean(), default_collate([{"a": torch.ones(2)}, {"a": torch.zeros(2)}])["a"].shape)


if __name__ == "__main__":
    main()
