"""Weather forecasting: NumPy preprocessing, a window generator class with properties, several models in a dictionary, a residual wrapper."""

import numpy as np
import tensorflow as tf


def synthetic_weather(hours=200, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(hours, dtype=np.float64)
    day = np.sin(2 * np.pi * t / 24)
    year = np.cos(2 * np.pi * t / (24 * 365.2425))
    temperature = 10 + 5 * day + rng.normal(scale=0.5, size=hours)
    wind = np.abs(rng.standard_normal(hours))
    angle = rng.uniform(0, 2 * np.pi, hours)
    columns = {"T": temperature, "Wx": wind * np.cos(angle), "Wy": wind * np.sin(angle), "day": day, "year": year}
    return columns


def to_matrix(columns):
    names = list(columns)
    return np.stack([columns[name] for name in names], axis=1), {name: i for i, name in enumerate(names)}


def split_data(values, fractions=(0.7, 0.2)):
    n = len(values)
    first = int(n * fractions[0])
    second = first + int(n * fractions[1])
    return values[:first], values[first:second], values[second:]


class Scaler:
    def __init__(self):
        self.mean = None
        self.std = None

    def fit(self, data):
        self.mean = data.mean(axis=0)
        self.std = data.std(axis=0)
        return self

    def transform(self, data):
        return (data - self.mean) / self.std


class WindowGenerator:
    def __init__(self, input_width, label_width, shift, train_df, val_df, test_df, column_indices, label_columns=None):
        self.train_df = train_df
        self.val_df = val_df
        self.test_df = test_df
        self.label_columns = label_columns
        self.column_indices = column_indices
        self.input_width = input_width
        self.label_width = label_width
        self.shift = shift
        self.total_window_size = input_width + shift
        self.input_slice = slice(0, input_width)
        self.input_indices = np.arange(self.total_window_size)[self.input_slice]
        self.label_start = self.total_window_size - self.label_width
        self.labels_slice = slice(self.label_start, None)
        self.label_indices = np.arange(self.total_window_size)[self.labels_slice]

    def __repr__(self):
        return f"Total window size: {self.total_window_size}"

    def split_window(self, features):
        inputs = features[:, self.input_slice, :]
        labels = features[:, self.labels_slice, :]
        if self.label_columns is not None:
            labels = tf.stack([labels[:, :, self.column_indices[name]] for name in self.label_columns], axis=-1)
        inputs.set_shape([None, self.input_width, None])
        labels.set_shape([None, self.label_width, None])
        return inputs, labels

    def make_dataset(self, data):
        data = np.array(data, dtype=np.float32)
        ds = tf.keras.utils.timeseries_dataset_from_array(
            data=data, targets=None, sequence_length=self.total_window_size, sequence_stride=1, shuffle=True, batch_size=16
        )
        return ds.map(self.split_window)

    @property
    def train(self):
        return self.make_dataset(self.train_df)

    @property
    def val(self):
        return self.make_dataset(self.val_df)

    @property
    def test(self):
        return self.make_dataset(self.test_df)

    @property
    def example(self):
        result = getattr(self, "_example", None)
        if result is None:
            result = next(iter(self.train))
            self._example = result
        return result


class Baseline(tf.keras.Model):
    def __init__(self, label_index=None):
        super().__init__()
        self.label_index = label_index

    def call(self, inputs):
        if self.label_index is None:
            return inputs
        result = inputs[:, :, self.label_index]
        return result[:, :, tf.newaxis]


class ResidualWrapper(tf.keras.Model):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def call(self, inputs, *args, **kwargs):
        delta = self.model(inputs, *args, **kwargs)
        return inputs + delta


class FeedBack(tf.keras.Model):
    def __init__(self, units, out_steps, num_features):
        super().__init__()
        self.out_steps = out_steps
        self.units = units
        self.lstm_cell = tf.keras.layers.LSTMCell(units)
        self.lstm_rnn = tf.keras.layers.RNN(self.lstm_cell, return_state=True)
        self.dense = tf.keras.layers.Dense(num_features)

    def warmup(self, inputs):
        x, *state = self.lstm_rnn(inputs)
        prediction = self.dense(x)
        return prediction, state

    def call(self, inputs, training=None):
        predictions = []
        prediction, state = self.warmup(inputs)
        predictions.append(prediction)
        for _ in range(1, self.out_steps):
            x = prediction
            x, state = self.lstm_cell(x, states=state, training=training)
            prediction = self.dense(x)
            predictions.append(prediction)
        predictions = tf.stack(predictions)
        predictions = tf.transpose(predictions, [1, 0, 2])
        return predictions


def compile_and_fit(model, window, patience=2, epochs=1):
    early_stopping = tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=patience, mode="min")
    model.compile(
        loss=tf.keras.losses.MeanSquaredError(),
        optimizer=tf.keras.optimizers.Adam(),
        metrics=[tf.keras.metrics.MeanAbsoluteError()],
    )
    return model.fit(window.train, epochs=epochs, validation_data=window.val, callbacks=[early_stopping], verbose=0)


matrix, column_indices = to_matrix(synthetic_weather())
train_data, val_data, test_data = split_data(matrix)
scaler = Scaler().fit(train_data)
train_data, val_data, test_data = (scaler.transform(part) for part in (train_data, val_data, test_data))
common = dict(train_df=train_data, val_df=val_data, test_df=test_data, column_indices=column_indices)
single = WindowGenerator(input_width=6, label_width=1, shift=1, label_columns=["T"], **common)
wide = WindowGenerator(input_width=12, label_width=12, shift=1, **common)
multi = WindowGenerator(input_width=12, label_width=4, shift=4, **common)
num_features = matrix.shape[1]
models = {
    "linear": (tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1), tf.keras.layers.Reshape([1, -1])]), single),
    "residual": (
        ResidualWrapper(
            tf.keras.Sequential(
                [
                    tf.keras.layers.LSTM(8, return_sequences=True),
                    tf.keras.layers.Dense(num_features, kernel_initializer=tf.initializers.zeros()),
                ]
            )
        ),
        wide,
    ),
    "feedback": (FeedBack(8, 4, num_features), multi),
}
performance = {}
for name, (model, window) in models.items():
    compile_and_fit(model, window)
    performance[name] = model.evaluate(window.test, verbose=0)
baseline = Baseline(column_indices["T"])
example_inputs, example_labels = wide.example
print(baseline(example_inputs).shape, example_labels.shape, sorted(performance))
