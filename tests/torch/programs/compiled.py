# SPDX-License-Identifier: MIT
"""torch.compile: kernels made by Triton for a model's forward and backward pass, and again for another shape.

With --mode reduce-overhead PyTorch makes CUDA graphs of them."""
import argparse

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", default="default")
    mode = parser.parse_args().mode
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    compiled = torch.compile(model, mode=mode)
    for step in range(6):
        loss = compiled(torch.randn(32 if step < 3 else 48, 64, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    print("compiled: done")


if __name__ == "__main__":
    main()
