import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


def fit(steps):
    for step in range(steps):
        inputs = tf.random.normal([32, 4])
        targets = tf.reduce_sum(inputs, axis=1, keepdims=True)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(inputs, training=True) - targets))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        if step % 20 == 0:
            print(step, float(loss))


fit(60)
