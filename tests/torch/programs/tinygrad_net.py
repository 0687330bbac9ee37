# SPDX-License-Identifier: MIT
"""tinygrad: a small network trained eagerly, then by TinyJit, which builds a graph of its kernels."""
import os

os.environ.setdefault("DEV", "CUDA")

from tinygrad import Context, Device, GlobalCounters, Tensor, TinyJit, nn


class Net:
    def __init__(self):
        self.first, self.last = nn.Linear(64, 128), nn.Linear(128, 10)

    def __call__(self, x):
        return self.last(self.first(x).relu())


def main():
    assert Device.DEFAULT == "CUDA", Device.DEFAULT
    net = Net()
    optimizer = nn.optim.SGD(nn.state.get_parameters(net))

    def step(x, y):
        optimizer.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(y).backward()
        optimizer.step()
        return loss.realize()

    jitted = TinyJit(step)
    with Context(TRAINING=1):
        for i in range(10):
            x, y = Tensor.ones(32, 64).contiguous().realize(), Tensor.zeros(32, dtype="int").contiguous().realize()
            (step if i < 5 else jitted)(x, y).item()
    assert GlobalCounters.kernel_count > 0
    print("tinygrad_net: done")


if __name__ == "__main__":
    main()
