"""Segmentation with a small FCN: augmentation, dice loss, IoU metrics, custom callback."""
import tensorflow as tf
from tensorflow.keras.layers import Conv2D, UpSampling2D, MaxPool2D, Concatenate, Input, BatchNormalization, ReLU

NUM_CLASSES = 4
SIZE = 64
AUTOTUNE = tf.data.AUTOTUNE


def synth(i):
    i = tf.cast(i, tf.float32)
    ys, xs = tf.meshgrid(tf.range(SIZE), tf.range(SIZE), indexing="ij")
    r = tf.sqrt(tf.cast((ys - SIZE // 2) ** 2 + (xs - SIZE // 2) ** 2, tf.float32))
    mask = tf.cast(tf.math.floormod(r + i, 16.0) // 4.0, tf.int32)
    image = tf.stack([tf.sin(r), tf.cos(r), tf.cast(mask, tf.float32)], axis=-1)
    return image, mask[..., tf.newaxis]


def augment(image, mask):
    if tf.random.uniform(()) > 0.5:
        image = tf.image.flip_left_right(image)
        mask = tf.image.flip_left_right(mask)
    image = tf.image.random_brightness(image, 0.1)
    return image, mask


def random_crop(image, mask, crop):
    both = tf.concat([image, tf.cast(mask, tf.float32)], axis=-1)
    both = tf.image.random_crop(both, size=[crop, crop, 4])
    return both[..., :3], tf.cast(both[..., 3:], tf.int32)


def get_dataset(n, batch_size, training=True):
    ds = tf.data.Dataset.range(n).map(synth, num_parallel_calls=AUTOTUNE)
    if training:
        ds = ds.map(augment).map(lambda i, m: random_crop(i, m, 48)).shuffle(16)
    else:
        ds = ds.map(lambda i, m: random_crop(i, m, 48))
    return ds.batch(batch_size, drop_remainder=True).prefetch(AUTOTUNE)


class ConvBNReLU(tf.keras.layers.Layer):
    def __init__(self, filters, kernel_size=3, **kwargs):
        super().__init__(**kwargs)
        self.conv = Conv2D(filters, kernel_size, padding="same", use_bias=False)
        self.bn = BatchNormalization()
        self.act = ReLU()

    def call(self, x, training=None):
        return self.act(self.bn(self.conv(x), training=training))


def encoder_block(x, filters):
    skip = ConvBNReLU(filters)(x)
    down = MaxPool2D(2)(skip)
    return down, skip


def decoder_block(x, skip, filters):
    x = UpSampling2D(2, interpolation="bilinear")(x)
    x = Concatenate(axis=-1)([x, skip])
    return ConvBNReLU(filters)(x)


def build_model(size, widths=(8, 16)):
    inputs = Input((size, size, 3))
    x, skips = inputs, []
    for w in widths:
        x, skip = encoder_block(x, w)
        skips.append(skip)
    x = ConvBNReLU(32)(x)
    for w, skip in zip(reversed(widths), reversed(skips)):
        x = decoder_block(x, skip, w)
    return tf.keras.Model(inputs, Conv2D(NUM_CLASSES, 1)(x))


def one_hot_mask(mask):
    return tf.one_hot(tf.squeeze(mask, axis=-1), NUM_CLASSES)


def dice_coefficient(y_true, y_pred, smooth=1.0):
    inter = tf.reduce_sum(y_true * y_pred, axis=(1, 2))
    union = tf.reduce_sum(y_true, axis=(1, 2)) + tf.reduce_sum(y_pred, axis=(1, 2))
    return (2.0 * inter + smooth) / (union + smooth)


def combined_loss(mask, logits, weight=0.5):
    ce = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.squeeze(mask, -1), logits)
    dice = 1.0 - tf.reduce_mean(dice_coefficient(one_hot_mask(mask), tf.nn.softmax(logits)), axis=-1)
    return weight * tf.reduce_mean(ce, axis=[1, 2]) + (1 - weight) * dice


def iou_per_class(mask, logits):
    pred = tf.argmax(logits, axis=-1, output_type=tf.int32)
    cm = tf.math.confusion_matrix(tf.reshape(mask, [-1]), tf.reshape(pred, [-1]), NUM_CLASSES)
    inter = tf.linalg.diag_part(cm)
    union = tf.reduce_sum(cm, 0) + tf.reduce_sum(cm, 1) - inter
    return tf.math.divide_no_nan(tf.cast(inter, tf.float32), tf.cast(union, tf.float32))


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        schedule = tf.keras.optimizers.schedules.PolynomialDecay(lr, 100, power=0.9)
        self.optimizer = tf.keras.optimizers.SGD(schedule, momentum=0.9)
        self.loss_metric = tf.keras.metrics.Mean()
        self.ema = [tf.identity(w) for w in model.trainable_variables]

    def update_ema(self, decay):
        self.ema = [decay * e + (1 - decay) * w for e, w in zip(self.ema, self.model.trainable_variables)]
        return self.ema

    def train_on_batch(self, image, mask):
        with tf.GradientTape() as tape:
            logits = self.model(image, training=True)
            losses = combined_loss(mask, logits)
            loss = tf.nn.compute_average_loss(losses, global_batch_size=image.shape[0])
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        self.loss_metric.update_state(loss)
        return losses

    def evaluate(self, ds):
        total = tf.zeros([NUM_CLASSES])
        count = 0
        for image, mask in ds:
            total += iou_per_class(mask, self.model(image, training=False))
            count += 1
        return total / count


def main():
    trainer = Trainer(build_model(48), 0.01)
    for image, mask in get_dataset(12, 4):
        trainer.train_on_batch(image, mask)
        trainer.update_ema(0.99)
    print(trainer.evaluate(get_dataset(8, 4, training=False)), trainer.loss_metric.result())


if __name__ == "__main__":
    main()
