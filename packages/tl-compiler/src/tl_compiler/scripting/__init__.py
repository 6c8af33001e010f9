"""The compiler of TorchScript: functions, modules and classes of Python become programs like those of archives."""
