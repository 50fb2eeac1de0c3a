"""Pictures are decoded by a function that does not say how many axes they have, then resized in `map`."""
import tensorflow as tf

picture = tf.io.encode_png(tf.zeros([6, 5, 3], tf.uint8))
files = tf.data.Dataset.from_tensor_slices([picture.numpy()] * 4)


def load(contents):
    image = tf.io.decode_image(contents, channels=3)
    return tf.image.resize(image, [8, 8])  # BUG raises: an animation would have an axis more: the rank is not known


for batch in files.map(load).batch(2):
    print(batch.shape)
