"""TorchScript, the ONNX exporter and native switches by name. README.md describes the folder."""
