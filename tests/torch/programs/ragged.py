# SPDX-License-Identifier: MIT
"""Trains a small encoder on sentences of random length; one of them is a whole document. docs/reading-a-log.md tells its end."""
import argparse
import random

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (part.view(rows, length, self.heads, -1).transpose(1, 2) for part in self.mix(self.norm(x)).split(width, dim=2))
        scores = q @ k.transpose(2, 3)
        mixed = scores.softmax(dim=3) @ v
        return x + self.out(mixed.transpose(1, 2).reshape(rows, length, width))


def lengths(options):
    draw = random.Random(options.seed)
    for number in range(options.steps):
        length = options.document if number == options.at else draw.randint(32, 256)
        if options.cut:
            length = min(length, options.cut)
        yield -(-length // options.bucket) * options.bucket


def train(options):
    tokens = nn.Embedding(1000, options.width).cuda()
    model = nn.Sequential(*(Layer(options.width, 4) for _ in range(options.layers)), nn.Linear(options.width, 1000)).cuda()
    optimizer = torch.optim.AdamW([*tokens.parameters(), *model.parameters()])
    for length in lengths(options):
        batch = torch.randint(1000, (options.rows, length), device="cuda")
        loss = nn.functional.cross_entropy(model(tokens(batch)).flatten(0, 1), batch.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"ragged: {options.steps} steps done")


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--document", type=int, default=900, help="length of the one that is no sentence")
    parser.add_argument("--at", type=int, default=29, help="the batch it is in")
    parser.add_argument("--cut", type=int, default=0, metavar="N", help="cut off what is longer")
    parser.add_argument("--bucket", type=int, default=1, metavar="N", help="round lengths up to a multiple of it")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


train(parse())
