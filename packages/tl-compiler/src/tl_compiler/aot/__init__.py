"""Functions whose forward and backward passes are graphs before they run: `functorch.compile`.

The function runs once on examples, and its gradients are taken; the joint graph is parted into one of the forward pass,
which also returns what the other needs, and one of the backward pass. Compilers get both.
"""
