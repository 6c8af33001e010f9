# ruff: noqa: E501 - a signature is one line
"""Attention and the layers of transformers as programs."""

from __future__ import annotations

__all__ = ["ATTENTION", "TRANSFORMERS"]

ATTENTION = """
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor] = None, dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False) -> Tensor:
    return aten.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

def _additive_mask(mask: Optional[Tensor], name: str, like: Tensor) -> Optional[Tensor]:
    if mask is None:
        return None
    if mask.dtype != 11:
        if not mask.is_floating_point():
            raise RuntimeError(f"only bool and floating types of {name} are supported")
        return mask
    return aten.zeros_like(mask, dtype=like.dtype).masked_fill(mask, -inf)

def _wider_mask(mask: Optional[Tensor]) -> Optional[Tensor]:
    if mask is None:
        return None
    return aten.pad(mask, [0, 1])

def _projections(query: Tensor, key: Tensor, value: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], q_weight: Optional[Tensor], k_weight: Optional[Tensor], v_weight: Optional[Tensor], is_separate: bool) -> Tuple[Tensor, Tensor, Tensor]:
    q_bias: Optional[Tensor] = None
    k_bias: Optional[Tensor] = None
    v_bias: Optional[Tensor] = None
    if bias is not None:
        biases = bias.chunk(3)
        q_bias, k_bias, v_bias = biases[0], biases[1], biases[2]
    if is_separate:
        if q_weight is None or k_weight is None or v_weight is None:
            raise AssertionError("use_separate_proj_weight is True but a projection's weight is None")
        return aten.linear(query, q_weight, q_bias), aten.linear(key, k_weight, k_bias), aten.linear(value, v_weight, v_bias)
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if query is key and key is value:
        parts = aten.linear(query, weight, bias).chunk(3, -1)
        return parts[0], parts[1], parts[2]
    weights = weight.chunk(3)
    return aten.linear(query, weights[0], q_bias), aten.linear(key, weights[1], k_bias), aten.linear(value, weights[2], v_bias)

def _head_rows(x: Tensor, heads: int) -> Tensor:
    return x.reshape(x.size(0), x.size(1) * heads, x.size(2) // heads).transpose(0, 1)

def _own_rows(x: Tensor, name: str, q: Tensor) -> Tensor:
    if x.size(0) != q.size(0):
        raise AssertionError(f"expecting {name}.size(0) of {q.size(0)}, but got {x.size(0)}")
    if x.size(2) != q.size(2):
        raise AssertionError(f"expecting {name}.size(2) of {q.size(2)}, but got {x.size(2)}")
    return x

def _attention_weights(q: Tensor, k: Tensor, mask: Optional[Tensor]) -> Tensor:
    scores = (q * float(q.size(-1)) ** -0.5).matmul(k.transpose(-2, -1))
    if mask is None:
        return scores.softmax(-1)
    scores = scores + mask
    blind = (scores == -inf).all(-1, keepdim=True)
    return scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)

def _check_attention(query: Tensor, key: Tensor, value: Tensor, padding: Optional[Tensor], mask: Optional[Tensor], embed_dim: int, heads: int, is_separate: bool):
    dims = query.dim()
    if dims != 2 and dims != 3:
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(f"For {dims}-D `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if padding is not None and padding.dim() != dims - 1:
        raise AssertionError(f"For {dims}-D `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {padding.dim()}-D tensor instead")
    if mask is not None:
        expected = [query.size(0), key.size(0)]
        if mask.dim() == 3:
            expected = [(query.size(1) if dims == 3 else 1) * heads, query.size(0), key.size(0)]
        if mask.size() != expected:
            raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.size()}, but should be {expected}.")
    if query.size(-1) != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {query.size(-1)}")
    if embed_dim % heads != 0:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {heads}")
    if is_separate:
        if key.size()[:-1] != value.size()[:-1]:
            raise AssertionError(f"key's sequence and batch dims {key.size()[:-1]} do not match value's {value.size()[:-1]}")
    elif key.size() != value.size():
        raise AssertionError(f"key shape {key.size()} does not match value shape {value.size()}")

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Optional[Tensor], in_proj_bias: Optional[Tensor], bias_k: Optional[Tensor], bias_v: Optional[Tensor], add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Optional[Tensor], training: bool = True, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True, attn_mask: Optional[Tensor] = None, use_separate_proj_weight: bool = False, q_proj_weight: Optional[Tensor] = None, k_proj_weight: Optional[Tensor] = None, v_proj_weight: Optional[Tensor] = None, static_k: Optional[Tensor] = None, static_v: Optional[Tensor] = None, average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    _check_attention(query, key, value, key_padding_mask, attn_mask, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    batched = query.dim() == 3
    q, k, v = _projections(query, key, value, in_proj_weight, in_proj_bias, q_proj_weight, k_proj_weight, v_proj_weight, use_separate_proj_weight)
    padding = _additive_mask(key_padding_mask, "key_padding_mask", query)
    if not batched:
        q, k, v = q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)
        if padding is not None:
            padding = padding.unsqueeze(0)
    length, batch = q.size(0), q.size(1)
    causal = is_causal and padding is None and not need_weights
    mask = _additive_mask(attn_mask, "attn_mask", query)
    if causal:
        mask = None
    if mask is not None:
        if mask.dim() == 2:
            mask = mask.unsqueeze(0)
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k = aten.cat([k, bias_k.expand(1, batch, -1)])
        v = aten.cat([v, bias_v.expand(1, batch, -1)])
        mask, padding = _wider_mask(mask), _wider_mask(padding)
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")
    q = _head_rows(q, num_heads)
    k = _head_rows(k, num_heads) if static_k is None else _own_rows(static_k, "static_k", q)
    v = _head_rows(v, num_heads) if static_v is None else _own_rows(static_v, "static_v", q)
    if add_zero_attn:
        k, v = aten.pad(k, [0, 0, 0, 1]), aten.pad(v, [0, 0, 0, 1])
        mask, padding = _wider_mask(mask), _wider_mask(padding)
    if padding is not None:
        if padding.size() != [batch, k.size(1)]:
            raise AssertionError(f"expecting key_padding_mask shape of {(batch, k.size(1))}, but got {padding.size()}")
        padding = padding.view(batch, 1, 1, k.size(1)).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, k.size(1))
        mask = padding if mask is None else mask + padding
    rate = dropout_p if training else 0.0
    weights: Optional[Tensor] = None
    if need_weights:
        own = _attention_weights(q, k, mask)
        if rate > 0.0:
            own = aten.dropout(own, rate, True)
        output = own.matmul(v)
        own = own.view(batch, num_heads, length, own.size(2))
        if average_attn_weights:
            own = own.mean(1)
        weights = own if batched else own.squeeze(0)
    else:
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.size(0) == 1 and batch * length > 1 else mask.unflatten(0, [batch, mask.size(0) // batch])
        q, k, v = q.unflatten(0, [batch, num_heads]), k.unflatten(0, [batch, num_heads]), v.unflatten(0, [batch, num_heads])
        output = aten.scaled_dot_product_attention(q, k, v, mask, rate, causal).flatten(0, 1)
    output = output.transpose(0, 1).contiguous().view(length * batch, embed_dim_to_check)
    output = aten.linear(output, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.size(0))
    return output if batched else output.squeeze(1), weights

def _has_causal_mask(mask: Optional[Tensor], is_causal: Optional[bool]) -> bool:
    if is_causal is not None:
        return is_causal
    if mask is None:
        return False
    size = mask.size(-1)
    if mask.dim() != 2 or mask.size(0) != size:
        return False
    return bool((mask == aten.triu(aten.full([size, size], -inf, dtype=mask.dtype, device=mask.device), 1)).all())
"""

TRANSFORMERS = {
    "MultiheadAttention": """
def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True, attn_mask: Optional[Tensor] = None, average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    swapped = self.batch_first and query.dim() == 3
    if swapped:
        if key is value:
            if query is key:
                query = key = value = query.transpose(1, 0)
            else:
                query, key = query.transpose(1, 0), key.transpose(1, 0)
                value = key
        else:
            query, key, value = query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
    if self._qkv_same_embed_dim:
        output, weights = F.multi_head_attention_forward(query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal)
    else:
        output, weights = F.multi_head_attention_forward(query, key, value, self.embed_dim, self.num_heads, None, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask, True, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal)
    return output.transpose(1, 0) if swapped else output, weights
""",
    "TransformerEncoderLayer": """
def forward(self, src: Tensor, src_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: bool = False) -> Tensor:
    x = src
    if self.norm_first:
        x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
        return x + self._ff_block(self.norm2(x))
    x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
    return self.norm2(x + self._ff_block(x))

def _sa_block(self, x: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool) -> Tensor:
    y = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, True, is_causal)[0]
    return self.dropout1(y)

def _ff_block(self, x: Tensor) -> Tensor:
    return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
""",
    "TransformerEncoder": """
def forward(self, src: Tensor, mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: Optional[bool] = None) -> Tensor:
    padding = _additive_mask(src_key_padding_mask, "src_key_padding_mask", src)
    own = _additive_mask(mask, "mask", src)
    causal = _has_causal_mask(own, is_causal)
    output = src
    for layer in self.layers:
        output = layer(output, src_mask=own, is_causal=causal, src_key_padding_mask=padding)
    if self.norm is not None:
        output = self.norm(output)
    return output
""",
    "TransformerDecoder": """
def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None, tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None, tgt_is_causal: Optional[bool] = None, memory_is_causal: bool = False) -> Tensor:
    causal = _has_causal_mask(tgt_mask, tgt_is_causal)
    output = tgt
    for layer in self.layers:
        output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal)
    if self.norm is not None:
        output = self.norm(output)
    return output
""",
    "Transformer": """
def forward(self, src: Tensor, tgt: Tensor, src_mask: Optional[Tensor] = None, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None, src_is_causal: Optional[bool] = None, tgt_is_causal: Optional[bool] = None, memory_is_causal: bool = False) -> Tensor:
    axis = 0 if self.batch_first else 1
    if src.dim() == 3 and src.size(axis) != tgt.size(axis):
        raise RuntimeError(f"the batch number of src and tgt must be equal, got {src.size(axis)} and {tgt.size(axis)}")
    if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
        raise RuntimeError(f"the feature number of src and tgt must be equal to d_model, {self.d_model}, got {src.size(-1)} and {tgt.size(-1)}")
    memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
    return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
""",
}
