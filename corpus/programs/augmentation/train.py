"""Train and evaluate, with MixUp done on the batch."""

import tensorflow as tf

from data import make_images, pipeline


def mixup(images, labels, alpha=0.2):
    weight = tf.random.uniform([tf.shape(images)[0]], 0.0, alpha)
    order = tf.random.shuffle(tf.range(tf.shape(images)[0]))
    w = tf.reshape(weight, [-1, 1, 1, 1])
    mixed = (1.0 - w) * images + w * tf.gather(images, order)
    one_hot = tf.one_hot(labels, 2)
    w = tf.reshape(weight, [-1, 1])
    return mixed, (1.0 - w) * one_hot + w * tf.gather(one_hot, order)


class Trainer:
    def __init__(self, model, learning_rate=1e-3):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(learning_rate)
        self.accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

    def train_step(self, images, labels):
        images, targets = mixup(images, labels)
        with tf.GradientTape() as tape:
            logits = self.model(images, training=True)
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=targets, logits=logits))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    def eval_step(self, images, labels):
        self.accuracy.update_state(labels, self.model(images, training=False))

    def fit(self, train, test, epochs):
        for epoch in range(epochs):
            loss = 0.0
            for images, labels in train:
                loss = self.train_step(images, labels)
            self.accuracy.reset_state()
            for images, labels in test:
                self.eval_step(images, labels)
            print(f"epoch {epoch}: loss {float(loss):.2f} accuracy {self.accuracy.result().numpy():.2f}")


def main():
    images, labels = make_images(768)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((12, 12, 3)),
            tf.keras.layers.Conv2D(4, 3),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.ReLU(),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(2),
        ]
    )
    train = pipeline(images[:640], labels[:640], 32, training=True)
    test = pipeline(images[640:], labels[640:], 32, training=False)
    Trainer(model).fit(train, test, epochs=8)


if __name__ == "__main__":
    main()
