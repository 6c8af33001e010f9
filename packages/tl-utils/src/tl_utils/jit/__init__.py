"""Tools for the logs of TorchScript's compiler."""
