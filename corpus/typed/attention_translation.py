"""Translation with an encoder, Bahdanau attention and a decoder, trained with teacher forcing: the classic tutorial."""

import io
import os
import re
import time
import unicodedata

import numpy as np
import tensorflow as tf

PAIRS = [
    ("go .", "ve ."),
    ("help me !", "ayudame !"),
    ("i am cold .", "tengo frio ."),
    ("we are here .", "estamos aqui ."),
    ("is it late ?", "es tarde ?"),
    ("he ran .", "el corrio ."),
]
BATCH_SIZE = 2
embedding_dim = 8
units = 16


def unicode_to_ascii(s):
    return "".join(c for c in unicodedata.normalize("NFD", s) if unicodedata.category(c) != "Mn")


def preprocess_sentence(w):
    w = unicode_to_ascii(w.lower().strip())
    w = re.sub(r"([?.!,¿])", r" \1 ", w)
    w = re.sub(r'[" "]+', " ", w)
    return "<start> " + w.strip() + " <end>"


def create_dataset(pairs, num_examples=None):
    word_pairs = [[preprocess_sentence(w) for w in pair] for pair in pairs[:num_examples]]
    return zip(*word_pairs)


class LanguageIndex:
    def __init__(self, lang):
        self.word2idx = {}
        self.idx2word = {}
        self.vocab = set()
        for phrase in lang:
            self.vocab.update(phrase.split(" "))
        self.word2idx["<pad>"] = 0
        for index, word in enumerate(sorted(self.vocab)):
            self.word2idx[word] = index + 1
        for word, index in self.word2idx.items():
            self.idx2word[index] = word

    def encode(self, phrase):
        return [self.word2idx[w] for w in phrase.split(" ")]


def tokenize(lang):
    lang_index = LanguageIndex(lang)
    tensor = [lang_index.encode(sentence) for sentence in lang]
    tensor = tf.keras.preprocessing.sequence.pad_sequences(tensor, padding="post")
    return tensor, lang_index


def load_dataset(pairs, num_examples=None):
    inp_lang, targ_lang = create_dataset(pairs, num_examples)
    input_tensor, inp_tokenizer = tokenize(inp_lang)
    target_tensor, targ_tokenizer = tokenize(targ_lang)
    return input_tensor, target_tensor, inp_tokenizer, targ_tokenizer


class Encoder(tf.keras.Model):
    def __init__(self, vocab_size, embedding_dim, enc_units, batch_sz):
        super(Encoder, self).__init__()
        self.batch_sz = batch_sz
        self.enc_units = enc_units
        self.embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)
        self.gru = tf.keras.layers.GRU(
            self.enc_units, return_sequences=True, return_state=True, recurrent_initializer="glorot_uniform"
        )

    def call(self, x, hidden):
        x = self.embedding(x)
        output, state = self.gru(x, initial_state=hidden)
        return output, state

    def initialize_hidden_state(self):
        return tf.zeros((self.batch_sz, self.enc_units))


class BahdanauAttention(tf.keras.layers.Layer):
    def __init__(self, units):
        super(BahdanauAttention, self).__init__()
        self.W1 = tf.keras.layers.Dense(units)
        self.W2 = tf.keras.layers.Dense(units)
        self.V = tf.keras.layers.Dense(1)

    def call(self, query, values):
        query_with_time_axis = tf.expand_dims(query, 1)
        score = self.V(tf.nn.tanh(self.W1(query_with_time_axis) + self.W2(values)))
        attention_weights = tf.nn.softmax(score, axis=1)
        context_vector = attention_weights * values
        context_vector = tf.reduce_sum(context_vector, axis=1)
        return context_vector, attention_weights


class Decoder(tf.keras.Model):
    def __init__(self, vocab_size, embedding_dim, dec_units, batch_sz):
        super(Decoder, self).__init__()
        self.batch_sz = batch_sz
        self.dec_units = dec_units
        self.embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)
        self.gru = tf.keras.layers.GRU(self.dec_units, return_sequences=True, return_state=True)
        self.fc = tf.keras.layers.Dense(vocab_size)
        self.attention = BahdanauAttention(self.dec_units)

    def call(self, x, hidden, enc_output):
        context_vector, attention_weights = self.attention(hidden, enc_output)
        x = self.embedding(x)
        x = tf.concat([tf.expand_dims(context_vector, 1), x], axis=-1)
        output, state = self.gru(x)
        output = tf.reshape(output, (-1, output.shape[2]))
        x = self.fc(output)
        return x, state, attention_weights


input_tensor, target_tensor, inp_lang, targ_lang = load_dataset(PAIRS)
max_length_targ, max_length_inp = target_tensor.shape[1], input_tensor.shape[1]
steps_per_epoch = len(input_tensor) // BATCH_SIZE
vocab_inp_size = len(inp_lang.word2idx) + 1
vocab_tar_size = len(targ_lang.word2idx) + 1
dataset = tf.data.Dataset.from_tensor_slices((input_tensor, target_tensor)).shuffle(len(input_tensor))
dataset = dataset.batch(BATCH_SIZE, drop_remainder=True)

encoder = Encoder(vocab_inp_size, embedding_dim, units, BATCH_SIZE)
decoder = Decoder(vocab_tar_size, embedding_dim, units, BATCH_SIZE)
optimizer = tf.keras.optimizers.Adam()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def loss_function(real, pred):
    mask = tf.math.logical_not(tf.math.equal(real, 0))
    loss_ = loss_object(real, pred)
    mask = tf.cast(mask, dtype=loss_.dtype)
    loss_ *= mask
    return tf.reduce_mean(loss_)


@tf.function
def train_step(inp, targ, enc_hidden):
    loss = 0
    with tf.GradientTape() as tape:
        enc_output, enc_hidden = encoder(inp, enc_hidden)
        dec_hidden = enc_hidden
        dec_input = tf.expand_dims([targ_lang.word2idx["<start>"]] * BATCH_SIZE, 1)
        for t in range(1, targ.shape[1]):
            predictions, dec_hidden, _ = decoder(dec_input, dec_hidden, enc_output)
            loss += loss_function(targ[:, t], predictions)
            dec_input = tf.expand_dims(targ[:, t], 1)
    batch_loss = loss / int(targ.shape[1])
    variables = encoder.trainable_variables + decoder.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables))
    return batch_loss


def evaluate(sentence):
    attention_plot = np.zeros((max_length_targ, max_length_inp))
    sentence = preprocess_sentence(sentence)
    inputs = [inp_lang.word2idx[i] for i in sentence.split(" ")]
    inputs = tf.keras.preprocessing.sequence.pad_sequences([inputs], maxlen=max_length_inp, padding="post")
    inputs = tf.convert_to_tensor(inputs)
    result = ""
    hidden = [tf.zeros((1, units))]
    enc_out, enc_hidden = encoder(inputs, hidden)
    dec_hidden = enc_hidden
    dec_input = tf.expand_dims([targ_lang.word2idx["<start>"]], 0)
    for t in range(max_length_targ):
        predictions, dec_hidden, attention_weights = decoder(dec_input, dec_hidden, enc_out)
        attention_weights = tf.reshape(attention_weights, (-1,))
        attention_plot[t] = attention_weights.numpy()
        predicted_id = tf.argmax(predictions[0]).numpy()
        result += targ_lang.idx2word.get(predicted_id, "?") + " "
        if targ_lang.idx2word.get(predicted_id) == "<end>":
            return result, sentence, attention_plot
        dec_input = tf.expand_dims([predicted_id], 0)
    return result, sentence, attention_plot


for epoch in range(1):
    start = time.time()
    enc_hidden = encoder.initialize_hidden_state()
    total_loss = 0
    for batch, (inp, targ) in enumerate(dataset.take(steps_per_epoch)):
        batch_loss = train_step(inp, targ, enc_hidden)
        total_loss += batch_loss
    print(f"Epoch {epoch + 1} Loss {total_loss / steps_per_epoch:.4f}")
result, sentence, attention_plot = evaluate("i am cold .")
attention_plot = attention_plot[: len(result.split(" ")), : len(sentence.split(" "))]
print(attention_plot.shape)
