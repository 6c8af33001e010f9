"""The graph mode: models are traced, observed, converted to reference layers and lowered to integer layers."""
