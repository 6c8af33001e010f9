"""The same elements at other indices: transposed, repeated, with other dimensions."""

from opgen.row import Composite, Op

ROWS = [
    Op(
        "flip(Tensor self, int[] dims) -> Tensor", shape="self.shape",
        stored="float8 float4 bits",
        core=True,
        grad={"self": "g.flip(dims)"},
        jvp="linear", batch="dims",
        doc="A copy in which the order of the given dimensions is reversed.",
        example=">>> tl.flip(tl.tensor([1, 2, 3]), (0,))\ntensor([3, 2, 1])",
    ),
    Composite(
        "fliplr(Tensor self) -> Tensor", shape="self.shape",
        doc="A copy with the second dimension reversed.",
        example=">>> tl.fliplr(tl.tensor([[1, 2]]))\ntensor([[2, 1]])",
    ),
    Composite(
        "flipud(Tensor self) -> Tensor", shape="self.shape",
        doc="A copy with the first dimension reversed.",
        example=">>> tl.flipud(tl.tensor([[1], [2]]))\ntensor([[2],\n        [1]])",
    ),
    Composite(
        "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor",
        shape="self.shape if k % 2 == 0 else swap(self.shape, dims[0], dims[1])",
        doc="A copy turned by k quarters in the plane of two dimensions, from the first towards the second.",
        about={"k": "the number of quarter turns"},
        example=">>> tl.rot90(tl.tensor([[1, 2], [3, 4]]))\ntensor([[2, 4],\n        [1, 3]])",
    ),
    Composite(
        "roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", shape="self.shape",
        shown="input, shifts, dims=None",
        doc=(
            "A copy with the elements moved along dimensions; what leaves at the end comes in at the start. "
            "Without dimensions the flattened tensor is rolled."
        ),
        example=">>> tl.roll(tl.tensor([1, 2, 3]), 1)\ntensor([3, 1, 2])",
    ),
    Composite(
        "repeat(Tensor self, int[] repeats) -> Tensor", shape="repeat(self.shape, repeats)",
        function=False,
        core=True,
        doc=(
            "The tensor many times over along each dimension; more counts than dimensions add leading "
            "dimensions."
        ),
        example=">>> tl.tensor([1, 2]).repeat(2)\ntensor([1, 2, 1, 2])",
    ),
    Composite(
        "tile(Tensor self, int[] dims) -> Tensor", shape="tile(self.shape, dims)",
        doc="The tensor many times over along each dimension; the counts stand for the last dimensions.",
        example=">>> tl.tile(tl.tensor([1, 2]), (2,))\ntensor([1, 2, 1, 2])",
    ),
    Composite(
        "kron(Tensor self, Tensor other) -> Tensor", shape="kron(self.shape, other.shape)",
        out=True,
        ref="numpy.kron",
        doc="The Kronecker product: every element of the input times the whole other tensor.",
        example=">>> tl.kron(tl.tensor([1, 10]), tl.tensor([1, 2]))\ntensor([ 1,  2, 10, 20])",
    ),
    Composite(
        "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        shape="move(self.shape, source, destination)",
        aliases=("moveaxis",),
        doc="Dimensions moved to other places; the rest keep their order.",
        about={"source": "the dimensions that move"},
        example=">>> tl.movedim(tl.zeros(2, 3, 4), 0, 2).shape\ntorch.Size([3, 4, 2])",
    ),
    Composite(
        "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        shape="move(self.shape, source, destination)",
        aliases=("moveaxis",),
        doc="A dimension moved to another place; the rest keep their order.",
    ),
    Composite(
        "unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)",
        shape="unflatten(self.shape, dim, sizes)",
        doc="One dimension as several; -1 stands for the size that fits.",
        example=">>> tl.unflatten(tl.arange(4), 0, (2, 2))\ntensor([[0, 1],\n        [2, 3]])",
    ),
    Composite(
        "ravel(Tensor(a) self) -> Tensor(a)", shape="flatten(self.shape, 0, -1)",
        doc="All elements in one dimension: a view where one exists, else a copy.",
        example=">>> tl.ravel(tl.tensor([[1, 2], [3, 4]]))\ntensor([1, 2, 3, 4])",
    ),
    Composite(
        "adjoint(Tensor(a) self) -> Tensor(a)", shape="swap(self.shape, -1, -2)",
        doc="The conjugate transpose of a matrix or of a batch of matrices.",
        example=">>> tl.adjoint(tl.tensor([[1j, 2]]))\ntensor([[0.-1.j],\n        [2.-0.j]])",
    ),
    Composite(
        "broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", shape="expand(self.shape, size)",
        shown="input, shape",
        doc="The tensor expanded to a shape, without a copy.",
        example=">>> tl.broadcast_to(tl.tensor([1, 2]), (2, 2))\ntensor([[1, 2],\n        [1, 2]])",
    ),
    Composite(
        "broadcast_tensors(Tensor[] tensors) -> Tensor[]",
        shape="[broadcast(*[t.shape for t in tensors])] * len(tensors)",
        method=False,
        doc="The tensors expanded to their common shape, without a copy.",
    ),
]  # fmt: skip
