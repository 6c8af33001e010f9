"""Forked workers of a program whose threads compute, go backward, allocate, log and load modules."""

PROGRAM = """
import importlib, logging, sys, threading, time
import tl as torch
from tl.utils.data import DataLoader, Dataset

stop = threading.Event()

def backward():
    weight = torch.rand(150, 150, requires_grad=True)
    while not stop.is_set():
        (weight @ weight).tanh().sum().backward()
        weight.grad = None

def operators():
    a = torch.rand(150, 150)
    while not stop.is_set():
        (a @ a).sort(), torch.fft.fft(a), torch.zeros(2_000_000)

def imports():
    for name in ("distributions", "fft", "sparse", "linalg", "amp", "optim", "special", "nn.utils.prune", "func"):
        importlib.import_module(f"tl.{name}")
        logging.getLogger("busy").debug(name)
        time.sleep(0.01)

class Data(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        weight = torch.full((40, 40), float(index), requires_grad=True)
        (weight @ weight).sum().backward()
        torch.distributions.Normal(0.0, 1.0).sample(), torch.linalg.svd(weight.detach()), torch.fft.fft(weight.detach())
        return weight.grad.sum()

if __name__ == "__main__":
    threads = [threading.Thread(target=each) for each in (backward, operators, imports)]
    for each in threads:
        each.start()
    for _ in range(ROUNDS):
        loader = DataLoader(Data(), num_workers=2, timeout=60)
        assert [int(b) for b in loader] == [128_000 * i for i in range(4)]
    stop.set()
    for each in threads:
        each.join()
    print("done")
"""


def test_workers_of_a_busy_program(execute):
    assert execute(PROGRAM.replace("ROUNDS", "8"), timeout=300) == "done\n"
