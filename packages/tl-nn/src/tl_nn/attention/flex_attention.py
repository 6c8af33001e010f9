"""Attention whose scores and mask are given as functions."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple, Self

import tl_core
from tl_core import Tensor, where

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_Mod = Callable[..., Tensor]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """Switches for the auxiliary outputs of `flex_attention`.

    Example:
        >>> import tl_core
        >>> query = tl_core.zeros(1, 1, 2, 4)
        >>> _, aux = flex_attention(query, query, query, return_aux=AuxRequest(lse=True))
        >>> aux.lse
        tensor([[[0.6931, 0.6931]]])
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The auxiliary outputs of `flex_attention`.

    Example:
        >>> import tl_core
        >>> AuxOutput(lse=tl_core.zeros(2))
        AuxOutput(lse=tensor([0., 0.]), max_scores=None)
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that keeps all pairs.

    Args:
        batch: the index of the batch.
        head: the index of the head.
        token_q: the index of the query.
        token_kv: the index of the key.

    Example:
        >>> mask = create_block_mask(noop_mask, None, None, 128, 128, device="cpu")
        >>> mask.sparsity()
        0.0
    """
    return tl_core.ones((), dtype=tl_core.bool, device=batch.device)


def or_masks(*mask_mods: _Mod) -> _Mod:
    """The union of masks: a pair is visible in any of them.

    Raises:
        RuntimeError: If one of them can't be called.

    Example:
        >>> def first(b, h, q, k):
        ...     return k == 0
        ...
        >>> def causal(b, h, q, k):
        ...     return q >= k
        ...
        >>> either = or_masks(first, causal)
        >>> create_block_mask(either, None, None, 128, 128, device="cpu").sparsity()
        0.0
    """
    _check_callable("or_masks", mask_mods)

    def either(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=tl_core.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return either


def and_masks(*mask_mods: _Mod) -> _Mod:
    """The intersection of masks: a pair is visible in all of them.

    Raises:
        RuntimeError: If one of them can't be called.

    Example:
        >>> from tl_nn.attention.flex_attention import and_masks, create_mask
        >>> causal = lambda b, h, q, kv: q >= kv
        >>> near = lambda b, h, q, kv: q - kv <= 1
        >>> create_mask(and_masks(causal, near), 1, 1, 3, 3)[0, 0]
        tensor([[ True, False, False],
                [ True,  True, False],
                [False,  True,  True]])
    """
    _check_callable("and_masks", mask_mods)

    def both(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=tl_core.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return both


def _check_callable(name: str, mask_mods: tuple[Any, ...]) -> None:
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {name}({mask_mods})")


def _indices(shape: tuple[int, int, int, int], device: Any) -> list[Tensor]:
    """The indices of batch, head, query and key, each along its own dimension."""
    return [
        tl_core.arange(size, device=device).reshape([size if d == index else 1 for d in range(4)])
        for index, size in enumerate(shape)
    ]


def create_mask(
    mod_fn: _Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The elements of a mask that is given as a function.

    Args:
        mod_fn (callable): `mod_fn(b, h, q_idx, kv_idx)` returns True for visible pairs. Or it changes scores,
            `mod_fn(score, b, h, q_idx, kv_idx)`, and returns minus infinity for hidden pairs.
        B, H (int, optional): The numbers of batches and heads, 1 where the mask is the same for all.
        Q_LEN, KV_LEN (int): The numbers of queries and keys.
        device (optional): Where to put it.

    Returns:
        Tensor of bool, shape (B, H, Q_LEN, KV_LEN)

    Example:
        >>> from tl_nn.attention.flex_attention import create_mask
        >>> create_mask(lambda b, h, q, kv: q >= kv, 1, 1, 2, 2)[0, 0]
        tensor([[ True, False],
                [ True,  True]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    indices = _indices(shape, device)
    if _count_positional(mod_fn) == 5:
        scores = mod_fn(tl_core.zeros(shape, device=device), *indices)
        return (scores != float("-inf")).expand(shape).contiguous()
    return mod_fn(*indices).to(tl_core.bool).expand(shape).contiguous()


def _count_positional(function: _Mod) -> int:
    """The number of positional arguments of a function."""
    from inspect import Parameter, signature

    by_position = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        each.kind in by_position and each.default is Parameter.empty
        for each in signature(function).parameters.values()
    )


class BlockMask:
    """The blocks of the scores that a mask keeps, completely or in part.

    Made by `create_block_mask` or `from_kv_blocks`.

    Args:
        seq_lengths: the numbers of queries and of keys.
        kv_num_blocks: for each block of queries the number of its partly masked blocks of keys, int32 of shape
            (B, H, query blocks).
        kv_indices: which ones these are, int32 of shape (B, H, query blocks, key blocks).
        full_kv_num_blocks: the same of blocks that no element is masked in. None for none.
        full_kv_indices: which ones these are.
        q_num_blocks: the numbers of partly masked blocks of queries for each block of keys. None if they aren't
            known.
        q_indices: which ones these are.
        full_q_num_blocks: the same of blocks that no element is masked in.
        full_q_indices: which ones these are.
        BLOCK_SIZE: the numbers of queries and of keys in a block.
        mask_mod: the mask within blocks: `mask_mod(batch, head, query, key)`.

    Attributes:
        kv_num_blocks (Tensor of int32, shape (B, H, rows)): How many blocks of each row are left in in part.
        kv_indices (Tensor of int32, shape (B, H, rows, columns)): The columns of these blocks, at the beginning.
        full_kv_num_blocks, full_kv_indices (Tensor, optional): The same for blocks that are left in altogether.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices (Tensor, optional): The same by columns.
        BLOCK_SIZE ((int, int)): The numbers of queries and keys of a block.
        seq_lengths ((int, int)): The numbers of queries and keys.
        mask_mod (callable): The mask itself.

    Example:
        >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device="cpu")
        >>> type(mask).__name__, mask.shape
        ('BlockMask', (1, 1, 256, 256))
    """

    seq_lengths: tuple[int, int]
    kv_num_blocks: Tensor
    kv_indices: Tensor
    full_kv_num_blocks: Tensor | None
    full_kv_indices: Tensor | None
    q_num_blocks: Tensor | None
    q_indices: Tensor | None
    full_q_num_blocks: Tensor | None
    full_q_indices: Tensor | None
    BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE)
    mask_mod: _Mod

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: _Mod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for first, second, names in (
            (full_kv_num_blocks, full_kv_indices, "full_kv_num_blocks and full_kv_indices"),
            (q_num_blocks, q_indices, "q_num_blocks and q_indices"),
            (full_q_num_blocks, full_q_indices, "full_q_num_blocks and full_q_indices"),
        ):
            if (first is None) != (second is None):
                raise AssertionError(f"{names} must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: _Mod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> Self:
        """A mask from its blocks by rows.

        Args:
            kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, BLOCK_SIZE, mask_mod, seq_lengths: See the
                attributes of `BlockMask`.
            compute_q_blocks (bool): Whether the blocks by columns are found too.

        Raises:
            RuntimeError: If `kv_indices` has fewer than two dimensions.
            AssertionError: If one of the two tensors of full blocks is missing.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        nothing: tuple[Tensor | None, Tensor | None] = (None, None)
        partial = _transpose_blocks(kv_num_blocks, kv_indices) if compute_q_blocks else nothing
        full = nothing
        if compute_q_blocks and full_kv_num_blocks is not None and full_kv_indices is not None:
            full = _transpose_blocks(full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        own = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        return cls(seq_lengths, *own, *partial, *full, (size[0], size[1]), mask_mod or noop_mask)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All attributes, with those that are pairs spread out if `flatten`."""
        lengths: tuple[Any, ...] = self.seq_lengths if flatten else (self.seq_lengths,)
        size: tuple[Any, ...] = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*lengths, *(getattr(self, name) for name in _TENSORS), *size, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the scores, (B, H, queries, keys)."""
        *leading, _, _ = self.kv_indices.shape
        return (*leading, *self.seq_lengths)

    def numel(self) -> int:
        """The number of scores."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self) -> float:
        """The share of scores in blocks that are left out altogether, in percent."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each block that isn't left out altogether, shape (B, H, rows, columns)."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense.to(tl_core.int32)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """The blocks as a picture: dark where all are left in, light where some are.

        Args:
            grid_size (int or (int, int)): The largest numbers of rows and columns of the picture. -1 for all blocks.
            limit (int): The largest number of batches and heads shown.
        """
        dense = self.to_dense()
        pictures = dense.reshape(-1, *dense.shape[-2:])
        grid = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        shown = [_picture(picture, grid) for picture in pictures[:limit].unbind(0)]
        rest = [f"... {len(pictures) - limit} more"] if len(pictures) > limit else []
        return "\n\n".join([*shown, *rest])

    def to(self, device: Any) -> BlockMask:
        """The mask on another device."""
        own = [getattr(self, name) for name in _TENSORS]
        moved = [None if part is None else part.to(device) for part in own]
        parts: list[Any] = [self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod]
        return type(self)(*parts)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads or rows of blocks."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(each, each + 1 or None) if isinstance(each, int) else each for each in index)
        arguments: list[Any] = [
            None if part is None else part[index]
            for part in (self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)
        ]
        rows, columns = arguments[1].shape[-2:]
        lengths = (
            min(self.seq_lengths[0], rows * self.BLOCK_SIZE[0]),
            min(self.seq_lengths[1], columns * self.BLOCK_SIZE[1]),
        )
        arguments += [self.BLOCK_SIZE, self.mask_mod, lengths, self.q_indices is not None]
        return type(self).from_kv_blocks(*arguments)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%,\n{self.to_string()}\n)"


_TENSORS = (
    "kv_num_blocks",
    "kv_indices",
    "full_kv_num_blocks",
    "full_kv_indices",
    "q_num_blocks",
    "q_indices",
    "full_q_num_blocks",
    "full_q_indices",
)


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """The listed blocks as bool of shape (*, rows, columns)."""
    columns = indices.shape[-1]
    listed = tl_core.arange(columns, device=indices.device) < counts.unsqueeze(-1)
    dense = tl_core.zeros(indices.shape, dtype=tl_core.int32, device=indices.device)
    return dense.scatter_add_(-1, indices.to(tl_core.int64), listed.to(tl_core.int32)) > 0


def _list_blocks(dense: Tensor) -> tuple[Tensor, Tensor]:
    """The inverse: the number of blocks of each row, and their columns at the beginning."""
    counts = dense.to(tl_core.int32).sum(-1).to(tl_core.int32)
    order = tl_core.argsort(dense.to(tl_core.int32), dim=-1, descending=True, stable=True)
    return counts, order.to(tl_core.int32).contiguous()


def _transpose_blocks(counts: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The blocks listed by columns."""
    return _list_blocks(_dense(counts, indices).transpose(-2, -1))


def _picture(dense: Tensor, grid: tuple[int, int]) -> str:
    sizes = [size if most == -1 else min(size, most) for size, most in zip(dense.shape, grid, strict=True)]
    cells: list[list[int]] = dense.tolist()
    lines = []
    for row in range(sizes[0]):
        line = ""
        for column in range(sizes[1]):
            inside = [
                cells[r][c]
                for r in _part(row, sizes[0], dense.shape[0])
                for c in _part(column, sizes[1], dense.shape[1])
            ]
            share = sum(inside) / len(inside)
            line += "██" if share == 1 else "░░" if share > 0 else "  "
        lines.append(line)
    return "\n".join(lines)


def _part(index: int, parts: int, size: int) -> range:
    """The indices of one of some equal parts."""
    return range(index * size // parts, (index + 1) * size // parts)


def create_block_mask(
    mask_mod: _Mod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks of a mask that is given as a function.

    Args:
        mask_mod (callable): `mask_mod(b, h, q_idx, kv_idx)` returns True for visible pairs. It is called once, with
            tensors of indices that broadcast against each other.
        B, H (int, optional): The numbers of batches and heads, 1 where the mask is the same for all.
        Q_LEN, KV_LEN (int): The numbers of queries and keys.
        device (optional): Where to put it.
        BLOCK_SIZE (int or (int, int)): The numbers of queries and keys of a block.
        separate_full_blocks (bool): Whether blocks that are left in altogether are listed by themselves.

    Raises:
        AssertionError: If it changes scores instead.

    Example:
        >>> from tl_nn.attention.flex_attention import create_block_mask
        >>> create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 256, 256)
        BlockMask(shape=(1, 1, 256, 256), sparsity=25.00%)
    """
    if _count_positional(mask_mod) != 4:
        raise AssertionError("create-block_mask requires a mask_mod function! Got one of other arguments")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else (BLOCK_SIZE[0], BLOCK_SIZE[1])
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    partial, full = _by_blocks(mask, size, separate_full_blocks)
    parts: list[Any] = [*_list_blocks(partial), *((None, None) if full is None else _list_blocks(full))]
    parts += [size, mask_mod, (Q_LEN, KV_LEN)]
    return BlockMask.from_kv_blocks(*parts)


def _by_blocks(mask: Tensor, size: tuple[int, int], separate: bool) -> tuple[Tensor, Tensor | None]:
    """The blocks that the mask keeps in part, and the blocks that it keeps completely."""
    *leading, queries, keys = mask.shape
    rows, columns = -(-queries // size[0]), -(-keys // size[1])
    padded = mask.new_zeros((*leading, rows * size[0], columns * size[1]))
    padded[..., :queries, :keys] = mask
    blocks = padded.view(*leading, rows, size[0], columns, size[1]).to(tl_core.int32)
    counts = blocks.sum([-3, -1])
    if not separate:
        return counts > 0, None
    full = counts == size[0] * size[1]
    return (counts > 0) & ~full, full


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _Mod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention whose scores are changed by a function, and masked by another.

    It is computed operator by operator, with all scores in memory. Functions are called once, with tensors of indices
    that broadcast against each other and against the scores.

    Args:
        query (Tensor, shape (B, Hq, L, E)): The queries.
        key, value (Tensor, shape (B, H, S, E), (B, H, S, Ev)): The keys and values.
        score_mod (callable, optional): `score_mod(score, b, h, q_idx, kv_idx)` gives the scores to take.
        block_mask (BlockMask, optional): The visible pairs.
        scale (float, optional): The factor of the scores, by default `1 / sqrt(E)`.
        enable_gqa (bool): Whether Hq may be a multiple of H.
        return_lse (bool): Whether the logarithm of each query's sum is returned too, shape (B, Hq, L).
        kernel_options (dict, optional): Accepted for compatibility.
        return_aux (AuxRequest, optional): The auxiliary outputs to return.

    Returns:
        Tensor, shape (B, Hq, L, Ev), or it and the auxiliary outputs.

    Raises:
        ValueError: If shapes don't fit, or types differ.

    Example:
        >>> import tl_core
        >>> from tl_nn.attention.flex_attention import flex_attention
        >>> q, k, v = (tl_core.ones(1, 2, 4, 8) for _ in range(3))
        >>> flex_attention(q, k, v, lambda score, b, h, q, kv: score - (q - kv).abs()).shape
        torch.Size([1, 2, 4, 8])
    """
    _check_inputs(query, key, value, block_mask, enable_gqa)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (_repeat_heads(each, groups) for each in (key, value))
    wide = tl_core.float64 if query.dtype == tl_core.float64 else tl_core.float32
    factor = 1.0 / sqrt(query.shape[-1]) if scale is None else scale
    scores = (query.to(wide) @ key.to(wide).transpose(-2, -1)) * factor
    batch, heads, queries, keys = scores.shape
    indices = _indices((batch, heads, queries, keys), scores.device)
    if score_mod is not None:
        scores = score_mod(scores, *indices).to(wide)
    if block_mask is not None:
        scores = where(block_mask.mask_mod(*indices), scores, float("-inf"))
    largest = scores.amax(-1, keepdim=True)
    # A query without visible keys gets zeros.
    blind = largest == float("-inf")
    shifted = (scores - where(blind, 0.0, largest)).exp()
    total = where(blind, 1.0, shifted.sum(-1, keepdim=True))
    result = ((shifted / total) @ value.to(wide)).to(query.dtype)
    lse = (largest + total.log()).squeeze(-1)
    if return_aux is not None:
        return result, AuxOutput(
            lse if return_aux.lse else None, largest.squeeze(-1) if return_aux.max_scores else None
        )
    return (result, lse) if return_lse else result


def _repeat_heads(heads: Tensor, count: int) -> Tensor:
    """Each head several times, one after the other."""
    batch, number, length, size = heads.shape
    return heads.unsqueeze(2).expand(batch, number, count, length, size).reshape(batch, -1, length, size)


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, gqa: bool) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise ValueError(
            "Expected query, key, and value to be 4D tensors, but got "
            f"query: {query.dim()}D, key: {key.dim()}D and value: {value.dim()}D"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, but got "
            f"query.dtype: {query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got E={query.shape[-1]} and "
            f"E={key.shape[-1]}."
        )
    if key.shape[:3] != value.shape[:3]:
        raise ValueError(
            f"Expect key and value to have the same B, H and S but got {key.shape} and {value.shape}"
        )
    if query.shape[1] != key.shape[1] and not gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} and "
            f"Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA."
        )
    if query.shape[1] % key.shape[1]:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={query.shape[1]} and "
            f"Hkv={key.shape[1]}."
        )
    if block_mask is not None and block_mask.seq_lengths != (query.shape[-2], key.shape[-2]):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.shape[-2]} and "
            f"kv_len={key.shape[-2]}."
        )
