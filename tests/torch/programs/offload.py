# SPDX-License-Identifier: MIT
"""A GPT's activations through the arena, byte by byte: what is saved is filled with bytes of its own, and what comes back
must be those. Says what happened in one line of JSON."""
import argparse
import json

import gpt
import torch
from torch.utils.checkpoint import checkpoint

import shapecache

parser = argparse.ArgumentParser()
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--capacity", default="256MiB")
parser.add_argument("--twice", action="store_true", help="backward through each graph twice")
options = parser.parse_args()
options.vocabulary, options.width, options.layers, options.heads, options.length = 512, 128, 4, 4, 64


class Checked:
    """pack and unpack of an Activations, with a look at the bytes on both sides."""

    def __init__(self, activations):
        self.activations, self.compared, self.wrong, self.number = activations, 0, 0, 0
        self.contents = {}  # of what was saved more than once, too

    def pack(self, tensor):
        if self.activations._why_not(tensor):
            return self.activations.pack(tensor), None
        shared = self.activations._find_recent(tensor)
        if shared is not None:
            return self.activations.pack(tensor), self.contents[id(shared)]
        self.number += 1
        size = tensor.numel() * tensor.element_size()
        content = torch.randint(0, 256, (size,), dtype=torch.uint8, generator=torch.Generator().manual_seed(self.number))
        flat = torch.as_strided(tensor.detach(), (tensor.numel(),), (1,)).view(torch.uint8)
        flat.data.copy_(content)
        packed = self.activations.pack(tensor)
        self.contents[id(packed)] = content
        return packed, content

    def unpack(self, pair):
        packed, content = pair
        tensor = self.activations.unpack(packed)
        if content is not None:
            flat = torch.as_strided(tensor, (tensor.numel(),), (1,)).view(torch.uint8)
            self.compared += 1
            self.wrong += not torch.equal(flat.cpu(), content)
        return tensor


def loss_of(model):
    tokens = torch.randint(0, options.vocabulary, (4, options.length)).cuda()
    return model(tokens).float().sum()


torch.manual_seed(1)
gpt.checkpoint = lambda block, x, use_reentrant: checkpoint(block, x, use_reentrant=True)  # this kind saves its inputs
model = gpt.Gpt(options).cuda()
arena = shapecache.Arena(options.capacity, name="gpt")
with arena.offload_activations() as activations:
    pass
checked = Checked(activations)
for step in range(options.steps):
    with torch.autograd.graph.saved_tensors_hooks(checked.pack, checked.unpack):
        loss = loss_of(model)
    if options.twice:
        loss.backward(retain_graph=True)
    loss.backward()
    with torch.autograd.graph.saved_tensors_hooks(checked.pack, checked.unpack):
        loss = loss_of(model)  # nobody asks for it
    del loss
    checked.contents.clear()
torch.cuda.synchronize()
stats = arena.stats()
print(json.dumps({"compared": checked.compared, "wrong": checked.wrong, **activations.counts, "used_peak": stats.used_peak,
                  "wrong_order": stats.wrong_order, "bytes_in": stats.bytes_in}))
