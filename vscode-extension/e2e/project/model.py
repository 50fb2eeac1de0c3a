"""A small model, written eagerly."""

from tensorflow import Variable, matmul, reduce_mean, zeros
from tensorflow.nn import relu


class Tower:
    def __init__(self, size: int) -> None:
        self.weights = Variable(zeros([size, size]))

    def forward(self, batch):
        hidden = matmul(batch, self.weights)
        for _ in range(20):
            hidden = relu(hidden + 1.0) * 0.5
        return hidden

    def spread(self, batch):
        centred = batch - reduce_mean(batch, axis=0)
        for _ in range(20):
            centred = relu(centred * 2.0) - 1.0
        return centred
