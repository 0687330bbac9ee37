# SPDX-License-Identifier: MIT
"""CUDA graphs: a whole training step captured and replayed, and callables graphed for training."""
import torch
from torch import nn
from torch.nn import functional as F


def network():
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256)).cuda()


def whole_step():
    """As PyTorch's manual does it: warm up on a side stream, capture forward, backward and update."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
    inputs = torch.randn(64, 256, device="cuda")
    targets = torch.randn(64, 256, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = step()
        assert torch.cuda.is_current_stream_capturing()
    for _ in range(10):
        inputs.copy_(torch.randn(64, 256))
        targets.copy_(torch.randn(64, 256))
        graph.replay()
        loss.item()


def shared_pool():
    """Two graphs whose memory comes from one pool, and a third thrown away."""
    pool = torch.cuda.graph_pool_handle()
    x = torch.zeros(1 << 20, device="cuda")
    graphs = [torch.cuda.CUDAGraph() for _ in range(3)]
    for graph in graphs:
        with torch.cuda.graph(graph, pool=pool):
            y = (x + 1).relu() * 2
    for _ in range(3):
        for graph in graphs:
            graph.replay()
    graphs.pop().reset()
    graphs[0].replay()
    y.sum().item()


def graphed_callables():
    """Forward and backward of two modules are graphs, between eager code that depends on data."""
    first, second = network(), network()
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    sample = torch.randn(64, 256, device="cuda", requires_grad=True)
    first, second = torch.cuda.make_graphed_callables((first, second), ((sample,), (sample,)))
    for i in range(6):
        x = torch.randn(64, 256).cuda()
        optimizer.zero_grad(set_to_none=True)
        mixed = first(x)
        loss = F.mse_loss(second(mixed) if i % 2 else mixed * 2, x)
        loss.backward()
        optimizer.step()
        loss.item()


def main():
    whole_step()
    shared_pool()
    graphed_callables()
    torch.cuda.synchronize()
    print("graphs: done")


if __name__ == "__main__":
    main()
