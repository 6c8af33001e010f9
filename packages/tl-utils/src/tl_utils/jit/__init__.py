"""What debugged TorchScript's compiler."""
