"""Estimators in the manner of scikit-learn over TensorFlow: NumPy in and out, k-fold evaluation, a mixture model, PCA, logistic regression."""

import numpy as np
import tensorflow as tf


class BaseEstimator:
    def get_params(self):
        return {key: value for key, value in vars(self).items() if not key.endswith("_")}

    def fit(self, X, y=None):
        raise NotImplementedError

    def _validate(self, X, dtype=tf.float32):
        X = tf.convert_to_tensor(X, dtype=dtype)
        if len(X.shape) != 2:
            raise ValueError(f"expected a matrix, got rank {len(X.shape)}")
        return X


class TransformerMixin:
    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)


class StandardScaler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        X = self._validate(X)
        self.mean_, variance = tf.nn.moments(X, axes=[0])
        self.scale_ = tf.sqrt(variance) + 1e-8
        return self

    def transform(self, X):
        return (self._validate(X) - self.mean_) / self.scale_


class PCA(TransformerMixin, BaseEstimator):
    def __init__(self, n_components):
        self.n_components = n_components

    def fit(self, X, y=None):
        X = self._validate(X)
        self.mean_ = tf.reduce_mean(X, axis=0, keepdims=True)
        s, u, v = tf.linalg.svd(X - self.mean_, full_matrices=False)
        self.components_ = tf.transpose(v)[: self.n_components]
        self.explained_variance_ = (s**2 / tf.cast(tf.shape(X)[0] - 1, tf.float32))[: self.n_components]
        return self

    def transform(self, X):
        return tf.matmul(self._validate(X) - self.mean_, self.components_, transpose_b=True)

    def inverse_transform(self, Z):
        return Z @ self.components_ + self.mean_


class LogisticRegression(BaseEstimator):
    def __init__(self, learning_rate=0.1, max_iter=5, batch_size=8, seed=0):
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.seed = seed

    def _loss(self, X, y):
        logits = self._decision(X)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        return tf.reduce_mean(losses)

    def _decision(self, X):
        return tf.matmul(X, self.coef_) + self.intercept_

    def fit(self, X, y=None):
        X = self._validate(X)
        self.classes_, y = np.unique(y, return_inverse=True)
        n_features, n_classes = X.shape[1], len(self.classes_)
        self.coef_ = tf.Variable(tf.zeros([n_features, n_classes]))
        self.intercept_ = tf.Variable(tf.zeros([n_classes]))
        optimizer = tf.keras.optimizers.SGD(self.learning_rate)
        dataset = tf.data.Dataset.from_tensor_slices((X, y.astype(np.int32)))
        dataset = dataset.shuffle(len(X), seed=self.seed).batch(self.batch_size)
        for _ in range(self.max_iter):
            for xb, yb in dataset:
                self._step(optimizer, xb, yb)
        return self

    def _step(self, optimizer, xb, yb):
        with tf.GradientTape() as tape:
            loss = self._loss(xb, yb)
        variables = [self.coef_, self.intercept_]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def predict_proba(self, X):
        return tf.nn.softmax(self._decision(self._validate(X))).numpy()

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def score(self, X, y):
        return np.mean(self.predict(X) == y)


class GaussianMixture(BaseEstimator):
    def __init__(self, n_components=2, max_iter=3):
        self.n_components = n_components
        self.max_iter = max_iter

    def fit(self, X, y=None):
        X = self._validate(X, tf.float64)
        n, d = X.shape
        self.weights_ = tf.fill([self.n_components], tf.constant(1.0 / self.n_components, tf.float64))
        self.means_ = X[: self.n_components]
        self.covariances_ = tf.eye(d, batch_shape=[self.n_components], dtype=tf.float64)
        for _ in range(self.max_iter):
            log_resp = self._e_step(X)
            self._m_step(X, tf.exp(log_resp))
        return self

    def _log_prob(self, X):
        chol = tf.linalg.cholesky(self.covariances_)
        diff = X[:, tf.newaxis, :] - self.means_
        solved = tf.linalg.triangular_solve(chol, tf.transpose(diff, [1, 2, 0]))
        mahalanobis = tf.reduce_sum(tf.square(solved), axis=1)
        log_det = 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)), axis=-1)
        d = tf.cast(tf.shape(X)[1], tf.float64)
        log_norm = -0.5 * (d * np.log(2 * np.pi) + log_det[:, None] + mahalanobis)
        return tf.transpose(log_norm) + tf.math.log(self.weights_)

    def _e_step(self, X):
        weighted = self._log_prob(X)
        return weighted - tf.reduce_logsumexp(weighted, axis=1, keepdims=True)

    def _m_step(self, X, resp):
        nk = tf.reduce_sum(resp, axis=0) + 1e-10
        self.weights_ = nk / tf.cast(tf.shape(X)[0], tf.float64)
        self.means_ = tf.einsum("nk,nd->kd", resp, X) / nk[:, None]
        diff = X[None] - self.means_[:, None]
        self.covariances_ = tf.einsum("nk,knd,kne->kde", resp, diff, diff) / nk[:, None, None]
        self.covariances_ += 1e-6 * tf.eye(X.shape[1], dtype=tf.float64)

    def predict(self, X):
        return tf.argmax(self._e_step(self._validate(X, tf.float64)), axis=1)


class Pipeline(BaseEstimator):
    def __init__(self, steps):
        self.steps = steps

    def fit(self, X, y=None):
        for name, step in self.steps[:-1]:
            X = step.fit_transform(X, y)
        self.steps[-1][1].fit(X, y)
        return self

    def _transform(self, X):
        for _, step in self.steps[:-1]:
            X = step.transform(X)
        return X

    def predict(self, X):
        return self.steps[-1][1].predict(self._transform(X))


def make_blobs(n=30, d=4, classes=3, seed=0):
    rng = np.random.RandomState(seed)
    centers = rng.uniform(-5, 5, size=(classes, d))
    labels = rng.randint(classes, size=n)
    points = centers[labels] + rng.standard_normal((n, d))
    return points.astype(np.float32), labels


def k_fold(n, k=3):
    indices = np.arange(n)
    np.random.RandomState(0).shuffle(indices)
    folds = np.array_split(indices, k)
    for i in range(k):
        test = folds[i]
        train = np.concatenate([fold for j, fold in enumerate(folds) if j != i])
        yield train, test


def cross_val_score(make, X, y, k=3):
    scores = []
    for train, test in k_fold(len(X), k):
        estimator = make().fit(X[train], y[train])
        scores.append(np.mean(estimator.predict(X[test]) == y[test]))
    return np.array(scores)


def confusion(y_true, y_pred, n):
    matrix = np.zeros((n, n), dtype=int)
    np.add.at(matrix, (y_true, y_pred), 1)
    return matrix


X, y = make_blobs()
scores = cross_val_score(lambda: Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression())]), X, y)
pipeline = Pipeline([("scale", StandardScaler()), ("pca", PCA(2)), ("clf", LogisticRegression(max_iter=2))]).fit(X, y)
print(scores.shape, confusion(y, pipeline.predict(X), 3).shape)
mixture = GaussianMixture(3).fit(X)
print(mixture.predict(X).shape, PCA(2).fit(X).inverse_transform(PCA(2).fit_transform(X)).shape)
