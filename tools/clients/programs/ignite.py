"""ignite: trainer and evaluator engines with metrics, handlers and a checkpoint."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping
from ignite.metrics import Accuracy, Loss, Precision
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    data = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=16)
    model, loss = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2)), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    trainer = create_supervised_trainer(model, optimizer, loss)
    metrics = {"accuracy": Accuracy(), "loss": Loss(loss), "precision": Precision(average=True)}
    evaluator, history = create_supervised_evaluator(model, metrics), []

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        history.append(dict(evaluator.run(data).metrics))

    evaluator.add_event_handler(
        Events.COMPLETED, EarlyStopping(3, lambda e: -e.state.metrics["loss"], trainer)
    )
    saver = Checkpoint({"model": model, "trainer": trainer}, DiskSaver("saved", create_dir=True), n_saved=1)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
    trainer.run(data, max_epochs=4)
    return {"history": history, "saved": str(saver.last_checkpoint).endswith(".pt")}
