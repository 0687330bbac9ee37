# SPDX-License-Identifier: MIT
"""Work on several streams: copies ahead of compute, tensors handed across with record_stream and events."""
import torch
from torch import nn


class Prefetcher:
    """Copies the next batch on a stream of its own while the model works on this one."""

    def __init__(self, count, rows):
        self.stream = torch.cuda.Stream()
        self.host = [torch.randn(rows + i % 3, 512).pin_memory() for i in range(count)]

    def __iter__(self):
        ready = None
        for host in self.host:
            with torch.cuda.stream(self.stream):
                batch = host.to("cuda", non_blocking=True)
            if ready is not None:
                yield self.hand_over(ready)
            ready = batch
        yield self.hand_over(ready)

    def hand_over(self, batch):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch.record_stream(torch.cuda.current_stream())
        return batch


def branches(x, streams):
    """Two halves of a layer at once, joined by events."""
    fork = torch.cuda.Event()
    fork.record()
    outs = []
    for stream in streams:
        with torch.cuda.stream(stream):
            stream.wait_event(fork)
            outs.append((x @ x.t()).softmax(-1) @ x)
            x.record_stream(stream)
    for stream, out in zip(streams, outs):
        torch.cuda.current_stream().wait_stream(stream)
        out.record_stream(torch.cuda.current_stream())
    return sum(outs)


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    streams = [torch.cuda.Stream(), torch.cuda.Stream(priority=-1)]
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for batch in Prefetcher(12, 128):
        loss = branches(model(batch), streams).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    print("streams: done")


if __name__ == "__main__":
    main()
