"""REINFORCE: the returns are stacked as a column."""
import numpy as np
import tensorflow as tf


class Policy:
    def __init__(self, n_obs, n_act):
        self.obs = tf.placeholder(tf.float32, [None, n_obs])
        self.act = tf.placeholder(tf.int32, [None])
        self.ret = tf.placeholder(tf.float32, [None])
        logits = tf.matmul(self.obs, tf.get_variable("w", [n_obs, n_act]))
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=self.act)
        self.loss = tf.reduce_mean(nll * self.ret)

    def update(self, sess, episode):
        obs = np.vstack([step[0] for step in episode])
        act = np.array([step[1] for step in episode])
        ret = np.array([step[2] for step in episode])
        return sess.run(self.loss, {self.obs: obs, self.act: act, self.ret: ret})


policy = Policy(4, 2)
episode = []
for t in range(12):
    episode.append((np.random.rand(4), t % 2, float(t)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(policy.update(sess, episode) > 0)
