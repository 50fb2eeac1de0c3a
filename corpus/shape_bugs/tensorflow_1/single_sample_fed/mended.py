"""A classifier class that predicts one sample: the batch axis is missing in the feed."""
import numpy as np
import tensorflow as tf


class Classifier(object):
    def __init__(self, n_features, n_classes):
        self.inputs = tf.placeholder(tf.float32, shape=(None, n_features), name='inputs')
        w = tf.get_variable('w', shape=[n_features, n_classes])
        b = tf.get_variable('b', shape=[n_classes], initializer=tf.zeros_initializer())
        self.probabilities = tf.nn.softmax(tf.matmul(self.inputs, w) + b)
        self.sess = tf.Session()
        self.sess.run(tf.global_variables_initializer())

    def predict_one(self, sample):
        feed = {self.inputs: sample[np.newaxis, :]}
        return self.sess.run(self.probabilities, feed_dict=feed)


classifier = Classifier(20, 5)
data = np.random.normal(size=(10, 20))
print(classifier.predict_one(data[0]))
