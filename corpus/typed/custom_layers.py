"""Layers, losses, metrics, callbacks and schedules by inheritance, used by compile and fit."""

import tensorflow as tf


class SqueezeExcite(tf.keras.layers.Layer):
    def __init__(self, ratio=4):
        super().__init__()
        self.ratio = ratio

    def build(self, input_shape):
        channels = input_shape[-1]
        self.squeeze = tf.keras.layers.Dense(channels // self.ratio, activation="relu")
        self.excite = tf.keras.layers.Dense(channels, activation="sigmoid")
        super().build(input_shape)

    def call(self, inputs):
        pooled = tf.reduce_mean(inputs, axis=[1, 2])
        gate = self.excite(self.squeeze(pooled))
        return inputs * gate[:, None, None, :]


class WeightedLoss(tf.keras.losses.Loss):
    def __init__(self, weights):
        super().__init__()
        self.weights = tf.constant(weights)

    def call(self, y_true, y_pred):
        per_sample = tf.keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
        return per_sample * tf.gather(self.weights, tf.reshape(tf.cast(y_true, tf.int32), [-1]))


class F1(tf.keras.metrics.Metric):
    def __init__(self, name="f1", **kwargs):
        super().__init__(name=name, **kwargs)
        self.true = self.add_weight(name="tp", initializer="zeros")
        self.false = self.add_weight(name="fp", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        predicted = tf.argmax(y_pred, axis=-1)
        truth = tf.cast(tf.reshape(y_true, [-1]), predicted.dtype)
        hits = tf.cast(predicted == truth, tf.float32)
        self.true.assign_add(tf.reduce_sum(hits))
        self.false.assign_add(tf.reduce_sum(1.0 - hits))

    def result(self):
        return self.true / (self.true + self.false + 1e-6)


class Warmup(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, steps):
        self.peak = peak
        self.steps = steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return self.peak * tf.minimum(1.0, step / self.steps)


class Net(tf.keras.Model):
    def __init__(self, channels=(8, 16), classes=3):
        super().__init__()
        self.blocks = []
        for width in channels:
            self.blocks.append(
                [tf.keras.layers.Conv2D(width, 3, padding="same"), SqueezeExcite(), tf.keras.layers.MaxPool2D()]
            )
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.head = tf.keras.layers.Dense(classes)

    def run_block(self, block, x):
        for layer in block:
            x = layer(x)
        return x

    def call(self, x, training=None):
        for block in self.blocks:
            x = self.run_block(block, x)
        return self.head(self.pool(x))


images = tf.random.normal((12, 16, 16, 3))
labels = tf.random.uniform((12, 1), maxval=3, dtype=tf.int32)
net = Net()
net.compile(optimizer=tf.keras.optimizers.SGD(Warmup(0.1, 10)), loss=WeightedLoss([1.0, 2.0, 0.5]), metrics=[F1()])
net.fit(images, labels, batch_size=6, epochs=1, verbose=0)
print(net(images).shape)
