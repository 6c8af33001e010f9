"""Layers whose weights are packed int8."""

from opgen.row import Op

_WEIGHT = {
    "packed": "the weight, from `_pack_int8`",
    "column_sums": "the sums of the weight's rows, from `_pack_int8`",
    "scales": "a scale for each row of the weight",
    "zero_points": "a zero point for each row of the weight, by default 0",
}

ROWS = [
    Op(
        "_pack_int8(Tensor weight) -> (Tensor packed, Tensor column_sums)",
        shape=(
            "[[(weight.shape[0] + 15) // 16, (weight.shape[1] + 3) // 4, 64], [(weight.shape[0] + 15) // 16 "
            "* 16]]"
        ),
        shards="replicate",
        method=False,
        grad="none:defined on integers only",
        jvp="none:integers", batch="loop",
        doc="A matrix of int8 in the order of int8 products: panels of 16 rows, four columns together.",
        about={"weight": "the matrix, of int8"},
        example=(
            ">>> packed, sums = tl._pack_int8(tl.ones(2, 3, dtype=tl.int8))\n>>> packed.shape, sums[:2]\n"
            "(torch.Size([1, 1, 64]), tensor([3, 3], dtype=torch.int32))"
        ),
    ),
    Op(
        (
            "_int8_linear_dynamic(Tensor input, Tensor packed, Tensor column_sums, Tensor scales, Tensor? "
            "zero_points=None, Tensor? bias=None, bool reduce_range=True, bool relu=False) -> Tensor"
        ),
        shape="[*input.shape[:-1], scales.shape[0]]", shards="replicate",
        method=False,
        grad="none:not implemented for _int8_linear_dynamic",
        jvp="none:not implemented", batch="loop",
        doc="A linear layer with a weight of int8, whose input is rounded to bytes by its range.",
        about={
            None: _WEIGHT,
            "reduce_range": "whether bytes are from 0 to 127",
            "relu": "whether negative results become 0",
        },
        example=(
            ">>> packed, sums = tl._pack_int8(tl.ones(2, 4, dtype=tl.int8))\n>>> "
            "tl._int8_linear_dynamic(tl.full((1, 4), 127.0), packed, sums, tl.tensor([1.0, 0.5]))\n"
            "tensor([[508., 254.]])"
        ),
    ),
    Op(
        (
            "_int8_linear(Tensor input, float input_scale, int input_zero_point, Tensor packed, Tensor "
            "column_sums, Tensor scales, Tensor? zero_points, Tensor? bias, float? scale, int? zero_point, "
            "bool relu=False) -> Tensor"
        ),
        shape="[*input.shape[:-1], scales.shape[0]]", shards="replicate",
        method=False,
        grad="none:defined on integers only",
        jvp="none:integers", batch="loop",
        doc="A linear layer of bytes with a weight of int8, to bytes, or to float32 without a scale.",
        about={
            None: _WEIGHT,
            "input": "the integers of the input, of uint8 or int8",
            "input_scale": "the scale of the input",
            "input_zero_point": "the zero point of the input",
            "scale": "the scale of the result, or None for floating numbers",
            "zero_point": "the zero point of the result, or None",
            "relu": "whether negative results become 0",
        },
        example=(
            ">>> packed, sums = tl._pack_int8(tl.ones(2, 4, dtype=tl.int8))\n>>> x = tl.full((1, 4), 3, "
            "dtype=tl.uint8)\n>>> tl._int8_linear(x, 1.0, 0, packed, sums, tl.tensor([1.0, 0.5]), None, "
            "None, 1.0, 0)\ntensor([[12,  6]], dtype=torch.uint8)"
        ),
    ),
    Op(
        (
            "_int8_convolution(Tensor input, float input_scale, int input_zero_point, Tensor packed, Tensor "
            "column_sums, Tensor scales, Tensor? zero_points, Tensor? bias, int[] kernel_size, int[] stride, "
            "int[] padding, int[] dilation, int groups, float? scale, int? zero_point, bool relu=False) -> "
            "Tensor"
        ),
        shape=(
            "convolution(input.shape, [scales.shape[0], quotient(input.shape[1], groups), *kernel_size], "
            "stride, padding, dilation, groups)"
        ),
        shards="replicate",
        method=False,
        grad="none:defined on integers only",
        jvp="none:integers", batch="loop",
        doc=(
            "A convolution of bytes on one to three axes with a weight of int8, to bytes, or to float32 "
            "without a scale, channels last."
        ),
        about={
            None: _WEIGHT,
            "packed": "the weight of each group, from `_pack_int8`: a column for each tap and channel",
            "column_sums": "the sums of the weight's rows, of each group",
            "input": "the integers of the input, of uint8 or int8",
            "input_scale": "the scale of the input",
            "input_zero_point": "the zero point of the input",
            "kernel_size": "the extent of the kernel",
            "scale": "the scale of the result, or None for floating numbers",
            "zero_point": "the zero point of the result, or None",
            "relu": "whether negative results become 0",
        },
    ),
    Op(
        (
            "_int8_recurrent_layer(Tensor gates, Tensor h0, Tensor? c0, Tensor packed, Tensor column_sums, "
            "Tensor scales, Tensor? zero_points, Tensor? bias, int mode, bool reverse) -> (Tensor output, "
            "Tensor hidden, Tensor state)"
        ),
        shape="[[gates.shape[0], *h0.shape], h0.shape, h0.shape]", shards="replicate",
        function=False, method=False,
        grad="none:not implemented for _int8_recurrent_layer",
        jvp="none:not implemented", batch="loop",
        doc="One direction of one layer with weights of int8, from the gates' products with the input.",
    ),
    Op(
        (
            "_quantized_embedding_bag(Tensor weight, int bits, Tensor indices, Tensor offsets, int mode=0, "
            "Tensor? per_sample_weights=None, bool include_last_offset=False) -> Tensor"
        ),
        shape=(
            "[offsets.shape[0] - 1 if include_last_offset else offsets.shape[0], (weight.shape[1] - 8) if "
            "bits == 8 else (weight.shape[1] - 4) * quotient(8, bits)]"
        ),
        shards="replicate",
        method=False,
        grad="none:not implemented for _quantized_embedding_bag",
        jvp="none:not implemented",
        batch="refuse:() takes the bags of all examples in one call: join their offsets",
        doc="Sums or means of rows of integers, each row with a scale and a bias.",
        about={
            "weight": (
                "the table, of uint8: in each row the integers, the first in the lowest bits, then scale and "
                "bias, of float32 for 8 bits and of float16 otherwise"
            ),
            "bits": "the bits of an integer: 8, 4 or 2",
            "indices": "the rows of all bags; an index of -1 names no row",
            "offsets": "the position of the first index of each bag",
            "mode": "0 for sums, 1 for means",
            "per_sample_weights": "a factor for each index",
            "include_last_offset": "whether the last offset is the end of the last bag",
        },
        example=(
            ">>> row = tl.cat([tl.tensor([3, 5], dtype=tl.uint8), tl.tensor([0.5, 1.0]).view(tl.uint8)])\n"
            ">>> tl._quantized_embedding_bag(row[None], 8, tl.tensor([0]), tl.tensor([0]))\ntensor([[2.5000, "
            "3.5000]])"
        ),
    ),
    Op(
        "_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
        shape="[self.shape[0], mat2.shape[0]]", shards="i_, j_, j -> ij",
        method=False,
        grad="none:not implemented for _weight_int8pack_mm",
        jvp="none:not implemented", batch="loop",
        doc="The product with the transpose of a matrix of int8, whose rows have scales.",
        about={
            "mat2": "the weight, a row of int8 for each feature of the result",
            "scales": "a factor for each row",
        },
        example=(
            ">>> w = tl.tensor([[1, 2], [3, -4]], dtype=tl.int8)\n>>> tl._weight_int8pack_mm(tl.ones(1, 2), "
            "w, tl.tensor([1.0, 0.5]))\ntensor([[ 3.0000, -0.5000]])"
        ),
    ),
    Op(
        "_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor",
        shape="[self.shape[0], quotient(self.shape[1], 2)]", shards="replicate",
        method=False,
        grad="none:defined on integers only",
        jvp="none:integers", batch="loop",
        doc=(
            "A matrix of integers from 0 to 15, two in a byte, in the order of `_weight_int4pack_mm_for_cpu`."
        ),
        about={"self": "the matrix, of int32", "innerKTiles": "has no effect on a CPU"},
        example=(
            ">>> tl._convert_weight_to_int4pack_for_cpu(tl.zeros(16, 32, dtype=tl.int32), 1).shape\n"
            "torch.Size([16, 16])"
        ),
    ),
    Op(
        (
            "_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> "
            "Tensor"
        ),
        shape="[self.shape[0], mat2.shape[0]]", shards="replicate",
        method=False,
        grad="none:not implemented for _weight_int4pack_mm_for_cpu",
        jvp="none:not implemented", batch="loop",
        doc=(
            "The product with the transpose of a packed matrix of 4-bit integers, whose groups of columns "
            "have scales."
        ),
        about={
            "mat2": "the weight, from `_convert_weight_to_int4pack_for_cpu`",
            "qGroupSize": "the columns of a group",
            "qScaleAndZeros": "a scale and a zero for each group and row: scale * (integer - 8) + zero",
        },
        example=(
            ">>> w = tl._convert_weight_to_int4pack_for_cpu(tl.full((16, 32), 9, dtype=tl.int32), 1)\n>>> "
            "scale_and_zero = tl.tensor([1.0, 0.0]).repeat(1, 16, 1)\n>>> "
            "tl._weight_int4pack_mm_for_cpu(tl.ones(1, 32), w, 32, scale_and_zero)[0, :2]\ntensor([32., 32.])"
        ),
    ),
    Op(
        "_quantize_bytes(Tensor self, float scale, int zero_point, bool is_signed) -> Tensor",
        shape="self.shape", shards="elementwise",
        method=False,
        grad="none:the result is an integer",
        jvp="none:the result is an integer", batch="loop",
        doc="Numbers as bytes: rint(fma(x, 1 / scale, zero_point)), clamped.",
        about={
            "scale": "the difference of the numbers of successive integers",
            "zero_point": "the integer of the number 0",
            "is_signed": "whether the result is of int8, not uint8",
        },
        example=(
            ">>> tl._quantize_bytes(tl.tensor([0.1, 0.26, 99.0]), 0.1, 5, False)\ntensor([  6,   8, 255], "
            "dtype=torch.uint8)"
        ),
    ),
    Op(
        "_dequantize_bytes(Tensor self, float scale, int zero_point) -> Tensor", shape="self.shape",
        shards="elementwise",
        method=False,
        grad="none:defined on integers only",
        jvp="none:integers", batch="loop",
        doc="The numbers of bytes: (x - zero_point) * scale.",
        about={
            "self": "the bytes, of uint8 or int8",
            "scale": "the difference of the numbers of successive integers",
            "zero_point": "the integer of the number 0",
        },
        example=(
            ">>> tl._dequantize_bytes(tl.tensor([6, 8], dtype=tl.uint8), 0.5, 5)\ntensor([0.5000, 1.5000])"
        ),
    ),
    Op(
        (
            "_add_bytes(Tensor self, float self_scale, int self_zero_point, Tensor other, float other_scale, "
            "int other_zero_point, float scale, int zero_point, bool relu=False) -> Tensor"
        ),
        shape="self.shape", shards="elementwise",
        method=False,
        grad="none:defined on integers only",
        jvp="none:integers", batch="loop",
        doc="The sum of the numbers of bytes, as bytes.",
        about={
            "self": "bytes, of uint8 or int8",
            "self_scale": "the scale of `self`",
            "self_zero_point": "the zero point of `self`",
            "other": "bytes of the same type and shape",
            "other_scale": "the scale of `other`",
            "other_zero_point": "the zero point of `other`",
            "scale": "the scale of the result, or None for floating numbers",
            "zero_point": "the zero point of the result, or None",
            "relu": "whether negative results become 0",
        },
        example=(
            ">>> x = tl.tensor([6, 8], dtype=tl.uint8)\n>>> tl._add_bytes(x, 1.0, 0, x, 0.5, 0, 1.0, 1)\n"
            "tensor([10, 13], dtype=torch.uint8)"
        ),
    ),
]  # fmt: skip
