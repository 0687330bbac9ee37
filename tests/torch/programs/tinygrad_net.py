# SPDX-License-Identifier: MIT
"""tinygrad: a convolutional network trained eagerly and by TinyJit, through the driver's own calls."""
import os

os.environ.setdefault("DEV", "CUDA")

from tinygrad import Context, Device, GlobalCounters, Tensor, TinyJit, nn


class Net:
    def __init__(self):
        self.first, self.second = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.last = nn.Linear(16 * 5 * 5, 10)

    def __call__(self, x):
        x = self.first(x).relu().max_pool2d()
        return self.last(self.second(x).relu().max_pool2d().flatten(1))


def main():
    assert Device.DEFAULT == "CUDA", Device.DEFAULT
    net = Net()
    optimizer = nn.optim.Adam(nn.state.get_parameters(net))

    def step(x, y):
        optimizer.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(y).backward()
        optimizer.step()
        return loss.realize()

    jitted = TinyJit(step)
    with Context(TRAINING=1):
        for i in range(8):
            x, y = Tensor.randn(16, 1, 28, 28).realize(), Tensor.randint(16, high=10).realize()
            (step if i < 3 else jitted)(x, y).item()
    assert GlobalCounters.kernel_count > 0
    print("tinygrad_net: done")


if __name__ == "__main__":
    main()
