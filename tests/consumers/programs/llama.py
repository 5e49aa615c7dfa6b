"""A model like Llama, for the programs beside it; `case` has its sizes by the names that plans use."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch import nn


class Attention(nn.Module):
    def __init__(self, case: Any) -> None:
        super().__init__()
        self.head_dim = case.hidden // case.heads
        self.query = nn.Linear(case.hidden, case.heads * self.head_dim, bias=False)
        self.key = nn.Linear(case.hidden, case.kv_heads * self.head_dim, bias=False)
        self.value = nn.Linear(case.hidden, case.kv_heads * self.head_dim, bias=False)
        self.output = nn.Linear(case.heads * self.head_dim, case.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (self._by_head(product(x)) for product in (self.query, self.key, self.value))
        y = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return self.output(y.transpose(1, 2).flatten(2))

    def _by_head(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)


class FeedForward(nn.Module):
    def __init__(self, case: Any) -> None:
        super().__init__()
        self.gate = nn.Linear(case.hidden, case.ffn, bias=False)
        self.up = nn.Linear(case.hidden, case.ffn, bias=False)
        self.down = nn.Linear(case.ffn, case.hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, case: Any) -> None:
        super().__init__()
        self.first_norm = nn.RMSNorm(case.hidden)
        self.attention = Attention(case)
        self.second_norm = nn.RMSNorm(case.hidden)
        self.mlp = FeedForward(case)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first_norm(x))
        return x + self.mlp(self.second_norm(x))


class Model(nn.Module):
    def __init__(self, case: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(case.vocab, case.hidden)
        self.layers = nn.ModuleList(Layer(case) for _ in range(case.layers))
        self.norm = nn.RMSNorm(case.hidden)
        self.head = nn.Linear(case.hidden, case.vocab, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
