# SPDX-License-Identifier: MIT
"""A small network trained by PyTorch, deterministically: each step's loss as its bits."""

import struct

import torch

STEPS, ROWS, WIDTH = 30, 4096, 512

torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
model = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH),
                            torch.nn.Linear(WIDTH, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
inputs, labels = torch.randn(ROWS, WIDTH).cuda(), torch.randint(10, (ROWS,)).cuda()
for step in range(STEPS):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    print(f"loss.{step} {struct.pack('>f', loss.item()).hex()} -")
