"""The cost of a training job before it runs: messages, memory and time of a cut model on a machine."""
