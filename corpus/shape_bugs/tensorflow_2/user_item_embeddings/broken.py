"""Two towers of a recommender: one is flattened, the other one is not."""
import tensorflow as tf
from tensorflow.keras.layers import Concatenate, Dense, Embedding, Flatten, Input


def tower(name, count, dim, flatten):
    ids = Input(shape=(1,), name=name)
    vector = Embedding(count, dim)(ids)
    return ids, Flatten()(vector) if flatten else vector


user, user_vector = tower("user", 100, 8, flatten=True)
item, item_vector = tower("item", 300, 8, flatten=False)
both = Concatenate()([user_vector, item_vector])  # BUG raises: (N, 8) and (N, 1, 8)
rating = Dense(1)(both)
print(tf.keras.Model([user, item], rating).output_shape)
