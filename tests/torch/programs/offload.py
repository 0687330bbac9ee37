# SPDX-License-Identifier: MIT
"""A GPT's activations through the arena, byte by byte: what comes back must be what was saved. Says what happened in one line of JSON."""
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
        self.activations, self.compared, self.wrong = activations, 0, 0

    def pack(self, tensor):
        is_staying = self.activations._why_not(tensor)
        content = None if is_staying else bytes_of(tensor).cpu()
        return self.activations.pack(tensor), content

    def unpack(self, pair):
        packed, content = pair
        tensor = self.activations.unpack(packed)
        if content is not None:
            self.compared += 1
            self.wrong += not torch.equal(bytes_of(tensor).cpu(), content)
        return tensor


def bytes_of(tensor):
    return torch.as_strided(tensor.detach(), (tensor.numel(),), (1,)).view(torch.uint8)


class Stamp:
    """The simulated GPU computes nothing: each layer's output gets bytes of its own. No layer saves its own output."""

    def __init__(self):
        self.number = 0

    def __call__(self, module, inputs, output):
        self.number += 1
        to = bytes_of(output)
        draw = torch.Generator().manual_seed(self.number)
        to.copy_(torch.randint(0, 256, to.shape, dtype=torch.uint8, generator=draw))


def loss_of(model):
    tokens = torch.randint(0, options.vocabulary, (4, options.length)).cuda()
    return model(tokens).float().sum()


torch.manual_seed(1)
gpt.checkpoint = lambda block, x, use_reentrant: checkpoint(block, x, use_reentrant=True)  # this kind saves its inputs
model = gpt.Gpt(options).cuda()
stamp = Stamp()
for part in model.modules():
    if isinstance(part, (torch.nn.Linear, torch.nn.GELU, torch.nn.LayerNorm, torch.nn.Embedding)):
        part.register_forward_hook(stamp)
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
torch.cuda.synchronize()
stats = arena.stats()
print(json.dumps({"compared": checked.compared, "wrong": checked.wrong, **activations.counts, "used_peak": stats.used_peak,
                  "wrong_order": stats.wrong_order, "bytes_in": stats.bytes_in}))
