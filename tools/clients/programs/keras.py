"""keras on its torch backend: a functional model, fit, evaluate, save, load."""

import keras
import numpy as np


def main():
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(64, 12, 12, 1)).astype("float32")
    y = (x.mean((1, 2, 3)) > 0).astype("int64")
    first = keras.initializers.RandomNormal(seed=1)
    inputs = keras.Input((12, 12, 1))
    h = keras.layers.Conv2D(4, 3, activation="relu", kernel_initializer=first)(inputs)
    h = keras.layers.BatchNormalization()(keras.layers.MaxPooling2D()(h))
    h = keras.layers.Dense(8, activation="gelu", kernel_initializer=first)(keras.layers.Flatten()(h))
    model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax", kernel_initializer=first)(h))
    model.compile(
        optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    history = model.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0)
    model.save("model.keras")
    again = keras.models.load_model("model.keras")
    return {
        "loss": history.history["loss"],
        "evaluation": model.evaluate(x, y, verbose=0),
        "predictions": again.predict(x, verbose=0),
    }
