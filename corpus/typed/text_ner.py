"""Tagging words: strings split into ragged tensors, a lookup table, TextVectorization, a masked loss, a transformer block, F1 by hand."""

import collections

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SENTENCES = [
    "EU rejects German call to boycott British lamb",
    "Peter Blackburn",
    "BRUSSELS said it disagreed with German advice",
    "The European Commission met on Thursday in Rome",
]
TAGS = [[1, 0, 3, 0, 0, 0, 3, 0], [2, 2], [4, 0, 0, 0, 0, 3, 0], [0, 1, 1, 0, 0, 0, 0, 4]]
MAX_LEN = 10
NUM_TAGS = 5


def make_tag_lookup_table():
    iob_labels = ["B", "I"]
    ner_labels = ["PER", "ORG", "LOC", "MISC"]
    all_labels = [(label1, label2) for label2 in ner_labels for label1 in iob_labels]
    all_labels = ["-".join([a, b]) for a, b in all_labels]
    all_labels = ["[PAD]", "O"] + all_labels
    return dict(zip(range(0, len(all_labels) + 1), all_labels))


def build_vocabulary(sentences, size=25):
    tokens = sum([sentence.lower().split() for sentence in sentences], [])
    counter = collections.Counter(tokens)
    return [token for token, count in counter.most_common(size - 2)]


def lowercase_and_split(text):
    text = tf.strings.lower(text)
    text = tf.strings.regex_replace(text, "[^a-z ]", "")
    return tf.strings.split(text)


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, inputs, training=False):
        attn_output = self.att(inputs, inputs)
        attn_output = self.dropout1(attn_output, training=training)
        out1 = self.layernorm1(inputs + attn_output)
        ffn_output = self.dropout2(self.ffn(out1), training=training)
        return self.layernorm2(out1 + ffn_output)


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, inputs):
        maxlen = tf.shape(inputs)[-1]
        positions = tf.range(start=0, limit=maxlen, delta=1)
        position_embeddings = self.pos_emb(positions)
        token_embeddings = self.token_emb(inputs)
        return token_embeddings + position_embeddings


class NERModel(keras.Model):
    def __init__(self, num_tags, vocab_size, maxlen=MAX_LEN, embed_dim=8, num_heads=2, ff_dim=8):
        super().__init__()
        self.embedding_layer = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim)
        self.transformer_block = TransformerBlock(embed_dim, num_heads, ff_dim)
        self.rnn = layers.Bidirectional(layers.LSTM(4, return_sequences=True))
        self.dropout1 = layers.Dropout(0.1)
        self.ff_final = layers.Dense(num_tags, activation="softmax")

    def call(self, inputs, training=False):
        x = self.embedding_layer(inputs)
        x = self.transformer_block(x)
        x = self.rnn(x)
        x = self.dropout1(x, training=training)
        x = self.ff_final(x)
        return x


class CustomNonPaddingTokenLoss(keras.losses.Loss):
    def __init__(self, name="custom_ner_loss"):
        super().__init__(name=name)

    def call(self, y_true, y_pred):
        loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=False, reduction="none")
        loss = loss_fn(y_true, y_pred)
        mask = tf.cast((y_true > 0), dtype=loss.dtype)
        loss = loss * mask
        return tf.reduce_sum(loss) / tf.reduce_sum(mask)


class MacroF1(keras.metrics.Metric):
    def __init__(self, num_tags, name="macro_f1", **kwargs):
        super().__init__(name=name, **kwargs)
        self.num_tags = num_tags
        self.confusion = self.add_weight(name="confusion", shape=(num_tags, num_tags), initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        predicted = tf.argmax(y_pred, axis=-1)
        matrix = tf.math.confusion_matrix(
            tf.reshape(y_true, [-1]), tf.reshape(predicted, [-1]), num_classes=self.num_tags, dtype=tf.float32
        )
        self.confusion.assign_add(matrix)

    def result(self):
        diagonal = tf.linalg.diag_part(tf.convert_to_tensor(self.confusion))
        precision = diagonal / (tf.reduce_sum(self.confusion, axis=0) + 1e-7)
        recall = diagonal / (tf.reduce_sum(self.confusion, axis=1) + 1e-7)
        return tf.reduce_mean(2 * precision * recall / (precision + recall + 1e-7))

    def reset_state(self):
        self.confusion.assign(tf.zeros_like(self.confusion))


vocabulary = build_vocabulary(SENTENCES)
lookup_layer = keras.layers.StringLookup(vocabulary=vocabulary)
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(vocabulary, tf.range(len(vocabulary), dtype=tf.int64)), default_value=-1
)


def map_record(text, tags):
    tokens = lowercase_and_split(text)
    return lookup_layer(tokens), tags


def generator():
    for text, tags in zip(SENTENCES, TAGS):
        yield text, np.array(tags)


def format_prediction(model, text):
    tokens = lowercase_and_split(tf.constant([text]))
    ids = lookup_layer(tokens).to_tensor(shape=(1, MAX_LEN))
    prediction = np.argmax(model.predict(ids, verbose=0), axis=-1)
    return prediction.reshape(-1)


def known_fraction(texts):
    ragged = lowercase_and_split(tf.constant(texts))
    found = tf.ragged.map_flat_values(table.lookup, ragged)
    return tf.reduce_mean(tf.cast(found >= 0, tf.float32), axis=1)


dataset = tf.data.Dataset.from_generator(
    generator, output_signature=(tf.TensorSpec([], tf.string), tf.TensorSpec([None], tf.int64))
)
dataset = dataset.map(map_record).padded_batch(2, padded_shapes=([MAX_LEN], [MAX_LEN]))
ner_model = NERModel(NUM_TAGS, len(vocabulary) + 2)
ner_model.compile(optimizer="adam", loss=CustomNonPaddingTokenLoss(), metrics=[MacroF1(NUM_TAGS)])
ner_model.fit(dataset, epochs=1, verbose=0)
mapping = make_tag_lookup_table()
print([mapping[t] for t in format_prediction(ner_model, "German call to Rome")], known_fraction(SENTENCES).shape)
vectorizer = layers.TextVectorization(max_tokens=30, output_sequence_length=6)
vectorizer.adapt(SENTENCES)
print(vectorizer(tf.constant(SENTENCES)).shape)
