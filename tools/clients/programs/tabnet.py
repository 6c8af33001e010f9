"""pytorch-tabnet: a table classified with attention over its columns."""

import numpy as np
from pytorch_tabnet.tab_model import TabNetClassifier


def main():
    x = np.random.default_rng(0).normal(size=(128, 6)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, device_name="cpu")
    model.fit(x, y, max_epochs=2, batch_size=64, virtual_batch_size=32, drop_last=False)
    return {"probabilities": model.predict_proba(x), "importances": model.feature_importances_}
