"""Mistakes in a training program. A comment marks each line in which a type checker reports an error."""

import tl as torch
from tl import Tensor, nn
from tl.nn.functionnal import relu  # error
from tl.optim import SGD
from tl.utils.data import DataLoader, Dataset


class Squares(Dataset[Tensor]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Tensor:
        return torch.tensor(index**2)


model = nn.Linear(4, "2")  # error
optimizer = SGD(model.parameters(), learning_rate=0.1)  # error
loader: DataLoader[Tensor] = DataLoader(Squares(), batch_size="4")  # error

for batch in loader:
    print(batch)
    optimizer.step()
