# SPDX-License-Identifier: MIT
"""A GPT-style transformer on random tokens: the workload most of PyTorch's users have.

What reaches the allocator is decided by the options: the lengths of the batches, whether a last one
is short, evaluation, accumulation, recomputation, precision and the optimizer.
"""
import argparse
import contextlib
import random

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.projections = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.before_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.projections(self.before_attention(x)).split(width, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.before_mlp(x))


class Gpt(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.recompute = options.checkpoint
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.positions = nn.Embedding(options.length, options.width)
        self.blocks = nn.ModuleList(Block(options.width, options.heads) for _ in range(options.layers))
        self.last = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, options.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute and self.training else block(x)
        return self.head(self.last(x))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=256, help="the longest sequence")
    parser.add_argument("--lengths", choices=("fixed", "bucketed", "random"), default="fixed")
    parser.add_argument("--bucket", type=int, default=64, help="lengths are rounded up to a multiple of it")
    parser.add_argument("--short-last", type=int, default=0, metavar="N",
                        help="every N-th batch is smaller, as the last one of an epoch with drop_last=False")
    parser.add_argument("--evaluate", type=int, default=0, metavar="N", help="evaluate every N steps")
    parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="micro-batches a step")
    parser.add_argument("--checkpoint", action="store_true", help="recompute the blocks in the backward pass")
    parser.add_argument("--clip", action="store_true", help="clip the gradients' norm")
    parser.add_argument("--precision", choices=("float32", "bf16", "fp16"), default="float32",
                        help="bf16: autocast; fp16: autocast with a GradScaler")
    parser.add_argument("--optimizer", choices=("adamw", "sgd"), default="adamw")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def lengths(options):
    draw = random.Random(options.seed)
    while True:
        length = options.length
        if options.lengths != "fixed":
            length = draw.randint(options.length // 8, options.length)
        if options.lengths == "bucketed":
            length = min(options.length, -(-length // options.bucket) * options.bucket)
        yield length


def batches(options):
    for number, length in enumerate(lengths(options), 1):
        short = options.short_last and number % options.short_last == 0
        rows = max(1, options.batch // 3) if short else options.batch
        yield torch.randint(options.vocabulary, (rows, length + 1)).clamp(max=options.vocabulary - 1)


def loss_of(model, tokens, device, precision):
    tokens = tokens.to(device, non_blocking=True)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    autocast = torch.autocast("cuda", dtype=dtype) if dtype else contextlib.nullcontext()
    with autocast:
        logits = model(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def evaluate(model, options, device):
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            tokens = torch.randint(options.vocabulary, (2 * options.batch, options.length + 1))
            loss_of(model, tokens, device, options.precision)
    model.train()


def main():
    options = parse()
    torch.manual_seed(options.seed)
    device = torch.device("cuda")
    model = Gpt(options).to(device)
    kinds = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    optimizer = kinds[options.optimizer](model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", enabled=options.precision == "fp16")
    data = batches(options)
    for step in range(options.steps):
        for _ in range(options.accumulate):
            loss = loss_of(model, next(data), device, options.precision) / options.accumulate
            scaler.scale(loss).backward()
        if options.clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        loss.item()
        if options.evaluate and (step + 1) % options.evaluate == 0:
            evaluate(model, options, device)
    print(f"gpt: {options.steps} steps done")


if __name__ == "__main__":
    main()
