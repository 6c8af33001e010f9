"""lightning: a module, a trainer with a checkpoint, early stopping and a logger; validation, test and prediction."""

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self, width=16):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]))

    def test_step(self, batch, index):
        self.log("test_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]))

    def predict_step(self, batch, index):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        return {
            "optimizer": optimizer,
            "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
        }


def main():
    L.seed_everything(0)
    x = torch.randn(64, 8)
    data = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16)
    model = Classifier()
    saved = ModelCheckpoint("saved", monitor="val_loss")
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    trainer = L.Trainer(
        max_epochs=4, accelerator="cpu", callbacks=[saved, EarlyStopping("val_loss")], **quiet
    )
    trainer.fit(model, data, data)
    again = Classifier.load_from_checkpoint(saved.best_model_path)
    validation = trainer.callback_metrics["val_loss"].item()
    test = trainer.test(model, data, verbose=False)[0]["test_loss"]
    predictions = torch.cat(trainer.predict(again, data))
    return {"validation": validation, "test": test, "predictions": predictions}
