import tensorflow as tf


class Trainer:
    def __init__(self, width):
        self.weights = tf.Variable(tf.zeros([width, 1]))
        self.optimizer = tf.keras.optimizers.SGD(0.1)
        self.history = []

    def loss(self, x, y):
        return tf.reduce_mean(tf.square(tf.matmul(x, self.weights) - y))

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(x, y)
        gradients = tape.gradient(loss, [self.weights])
        self.optimizer.apply_gradients(zip(gradients, [self.weights]))
        self.history.append(loss)
        return loss

    def fit(self, dataset, epochs=2):
        for epoch in range(epochs):
            for x, y in dataset:
                loss = self.step(x, y)
            print("epoch", epoch, float(loss))
        return self.history


data = tf.data.Dataset.from_tensor_slices((tf.zeros([64, 3]), tf.zeros([64, 1]))).batch(16, drop_remainder=True)
trainer = Trainer(3)
history = trainer.fit(data)
