"""One-line descriptions of operations, layers and classes of TensorFlow, Keras and NumPy, for an editor.

Computes: nothing. Gives: `description_of`. Ignores: names that are not listed. The texts are written for this
project. A key is a name's last component, or its last two if that is ambiguous.
"""

from __future__ import annotations

from typing import Final

_OPERATIONS: Final = """
abs: Absolute value of each element.
accumulate_n: Sum of tensors of one shape, element by element.
add: Sum, element by element, with broadcasting.
add_n: Sum of a list of tensors of one shape.
argmax: Index of the largest element along an axis.
argmin: Index of the smallest element along an axis.
argsort: Indices that sort a tensor along an axis.
assign: Replaces the variable's value.
assign_add: Adds to the variable's value.
assign_sub: Subtracts from the variable's value.
as_dtype: The dtype that a name or a NumPy type stands for.
batch_normalization: Normalises with given mean and variance, then scales and shifts.
bias_add: Adds a vector to the last axis.
boolean_mask: Keeps the elements where a mask is true; how many is known only at run time.
broadcast_to: Repeats along axes of size 1 until the tensor has the given shape.
cast: Converts the element type; the shape stays.
clip_by_global_norm: Scales a list of tensors down so that their common norm is bounded.
clip_by_norm: Scales a tensor down so that its norm is bounded.
clip_by_value: Limits each element to a range.
concat: Joins tensors along an existing axis; the sizes of that axis add up.
concatenate: Joins tensors along an existing axis; the sizes of that axis add up.
cond: Runs one of two functions, as a tensor says.
constant: A tensor of given values.
conv1d: Convolution over one spatial axis.
conv2d: Convolution over height and width; the last axis becomes the number of filters.
conv3d: Convolution over three spatial axes.
convert_to_tensor: A tensor of a number, list or array; a tensor stays what it is.
cos: Cosine of each element.
cumprod: Running product along an axis.
cumsum: Running sum along an axis.
custom_gradient: Decorator that gives a function a derivative of its own.
depthwise_conv2d: Convolves each channel by itself.
divide: Quotient, element by element; integers give a float.
dot: Dot product of vectors, or product of matrices.
dropout: Sets random elements to 0 and scales the others up.
einsum: Sums products as the equation says; letters that are not in the result are summed over.
embedding_lookup: Picks rows of a table by index.
equal: Whether elements are equal, with broadcasting.
exp: Exponential of each element.
expand_dims: Inserts an axis of size 1.
eye: Identity matrix, or a batch of them.
fill: A tensor of one value.
floor: Rounds each element down.
foldl: Folds a function over the first axis, step by step.
function: Traces a Python function into a graph, once for each kind of arguments.
gather: Picks slices by index along an axis.
gather_nd: Picks elements or slices by index vectors.
gelu: Gaussian error linear unit.
gradients: Symbolic derivatives, for graphs of TensorFlow 1.
greater: Whether left is greater, element by element.
greater_equal: Whether left is greater or equal, element by element.
group: One operation that runs several.
identity: The same tensor, as a new operation.
l2_normalize: Scales to length 1 along an axis.
leaky_relu: Positive elements stay; negative ones are scaled down.
less: Whether left is less, element by element.
less_equal: Whether left is less or equal, element by element.
linspace: Evenly spaced numbers between two ends.
log: Natural logarithm of each element.
log_softmax: Logarithm of softmax along an axis.
logical_and: True where both are true.
logical_not: Inverts each truth value.
logical_or: True where either is true.
map_fn: Applies a function to each slice along the first axis, one after another.
matmul: Matrix product of the last two axes; the axes before them are broadcast.
matrix_transpose: Swaps the last two axes.
max_pool2d: Largest element in each window.
maximum: The larger element of two.
mean: Mean over axes.
minimum: The smaller element of two.
moments: Mean and variance over axes.
multiply: Product, element by element, with broadcasting.
negative: The negative of each element.
norm: Norm of vectors or matrices.
not_equal: Whether elements differ, with broadcasting.
numpy_function: Calls a Python function on NumPy arrays from within a graph.
one_hot: Replaces each index by a vector with a single 1; adds an axis.
ones: A tensor of ones.
ones_like: Ones in the shape of another tensor.
pad: Adds elements before and after along each axis.
pow: Power, element by element.
print: Prints each time the graph runs.
py_function: Calls a Python function on eager tensors from within a graph.
range: Numbers from a start to a limit, as a vector.
rank: Number of axes, as a tensor.
reduce_all: Whether all elements are true, over axes.
reduce_any: Whether any element is true, over axes.
reduce_logsumexp: Logarithm of the sum of exponentials over axes.
reduce_max: Largest element over axes.
reduce_mean: Mean over axes; without an axis, over all.
reduce_min: Smallest element over axes.
reduce_prod: Product over axes.
reduce_std: Standard deviation over axes.
reduce_sum: Sum over axes; without an axis, over all.
reduce_variance: Variance over axes.
relu: Negative elements become 0.
repeat: Repeats elements along an axis.
reshape: The same elements in another shape; one size may be -1.
resize: Resizes images to a height and width.
reverse: Reverses along axes.
reverse_sequence: Reverses the first part of each sequence.
round: Rounds each element to the nearest integer, halves to even.
rsqrt: One over the square root of each element.
scan: Folds a function over the first axis and keeps each step.
scatter_nd: Writes values into zeros at given places.
segment_mean: Mean of the rows that have the same segment number.
segment_sum: Sum of the rows that have the same segment number.
selu: Scaled exponential linear unit.
sequence_mask: True for the first places of each row, as many as its length says.
set_shape: Tells TensorFlow more about the static shape; changes no data.
shape: The shape as a tensor, known at run time.
sigmoid: Logistic function of each element, between 0 and 1.
sigmoid_cross_entropy_with_logits: Cross-entropy of independent classes, from logits.
sign: Sign of each element: -1, 0 or 1.
sin: Sine of each element.
size: Number of elements, as a tensor.
slice: A part of a tensor by start and size.
softmax: Exponentials divided by their sum along an axis: each slice adds up to 1.
softmax_cross_entropy_with_logits: Cross-entropy of one distribution per row, from logits.
softplus: Smooth form of relu.
sparse_softmax_cross_entropy_with_logits: Cross-entropy of one class index per row, from logits.
split: Cuts a tensor into parts along an axis.
sqrt: Square root of each element.
square: Square of each element.
squared_difference: Square of the difference, element by element.
squeeze: Takes away axes of size 1.
stack: Joins tensors along a new axis.
stop_gradient: The same tensor, through which no derivative flows.
strided_slice: A part of a tensor by start, end and step.
subtract: Difference, element by element, with broadcasting.
silu: Each element times its sigmoid.
tanh: Hyperbolic tangent of each element.
tensordot: Sums products over the given axes of two tensors.
tile: Repeats a tensor along each axis.
top_k: Largest elements of the last axis, and their indices.
transpose: Permutes the axes; without a permutation, reverses them.
tuple: A tuple of its elements.
unique: Distinct elements, and where each stands.
unsorted_segment_sum: Sum of the rows that have the same segment number, in any order.
unstack: Takes a tensor apart along an axis.
where: Picks from two tensors by a condition; with the condition alone, the places where it is true.
while_loop: Repeats a function while a condition holds.
xdivy: Quotient that is 0 where the numerator is 0.
zeros: A tensor of zeros.
zeros_like: Zeros in the shape of another tensor.
random.normal: Random numbers of a normal distribution.
random.uniform: Random numbers, evenly spread over a range.
random.shuffle: Shuffles the first axis.
random.categorical: Draws classes from logits.
strings.split: Splits texts into pieces: a ragged tensor.
ndarray.astype: Converts the element type.
Tensor.numpy: The value as a NumPy array; only for eager tensors.
Tensor.get_shape: The static shape, as a `tf.TensorShape`.
"""

_KERAS: Final = """
Activation: Applies an activation function.
Add: Sum of several inputs.
Adam: Optimizer with adaptive moments.
Attention: Dot-product attention of queries over keys and values.
AveragePooling2D: Mean of each window.
BatchNormalization: Normalises over the batch while training; uses moving averages otherwise.
Bidirectional: Runs a recurrent layer in both directions.
Concatenate: Joins inputs along an axis.
Conv1D: Convolution over one spatial axis.
Conv2D: Convolution over height and width.
Conv2DTranspose: Transposed convolution, which enlarges height and width.
Conv3D: Convolution over three spatial axes.
Dense: Matrix product with a kernel, plus a bias; acts on the last axis.
DepthwiseConv2D: Convolves each channel by itself.
Dropout: Sets random elements to 0, only while training.
Embedding: Replaces indices by rows of a trainable table.
Flatten: All axes but the first become one.
GRU: Gated recurrent unit over the time axis.
GlobalAveragePooling1D: Mean over the time axis.
GlobalAveragePooling2D: Mean over height and width.
GlobalMaxPooling1D: Largest element over the time axis.
GlobalMaxPooling2D: Largest element over height and width.
GradientTape: Records operations, to compute derivatives afterwards.
Input: Symbolic input of a functional model; the batch size comes first.
LSTM: Long short-term memory over the time axis.
Lambda: Wraps a function as a layer.
Layer: Base class of Keras layers.
LayerNormalization: Normalises each sample over its last axes.
LeakyReLU: Positive elements stay; negative ones are scaled down.
Masking: Marks time steps to be skipped.
MaxPooling1D: Largest element of each window.
MaxPooling2D: Largest element of each window.
Mean: Metric: weighted mean of what it was given.
Metric: Base class of Keras metrics.
Model: A model of layers, with training and evaluation loops.
Module: Base class of objects that hold variables.
MultiHeadAttention: Attention in several heads of smaller size.
Multiply: Product of several inputs.
Permute: Permutes the axes after the first.
ReLU: Negative elements become 0.
RNN: Runs a recurrent cell over the time axis.
RepeatVector: Repeats each vector along a new time axis.
Reshape: The same elements of each sample in another shape.
SGD: Stochastic gradient descent, with momentum where it is given.
SeparableConv2D: Depthwise convolution, then a 1 × 1 convolution.
Sequential: Layers, one after the other.
Softmax: Softmax along an axis.
SparseCategoricalCrossentropy: Cross-entropy of class indices.
CategoricalCrossentropy: Cross-entropy of one-hot classes.
BinaryCrossentropy: Cross-entropy of independent yes-or-no labels.
MeanSquaredError: Mean of squared differences.
Subtract: Difference of two inputs.
TensorArray: List of tensors that can be written inside a graph.
TensorShape: A static shape, in which sizes may be unknown.
TensorSpec: Dtype and shape that an argument must have.
TimeDistributed: Applies a layer to each time step.
UpSampling2D: Repeats rows and columns.
Variable: A tensor that keeps its value between calls and can be assigned.
VarianceScaling: Initializer that scales with the size of the layer.
ZeroPadding1D: Adds zeros before and after the time axis.
ZeroPadding2D: Adds rows and columns of zeros.
add_loss: Adds a term to the layer's or model's loss.
add_weight: Makes a variable that belongs to the layer.
apply_gradients: One step of the optimizer: updates each variable by its gradient.
binary_crossentropy: Cross-entropy of independent yes-or-no labels.
categorical_crossentropy: Cross-entropy of one-hot classes.
sparse_categorical_crossentropy: Cross-entropy of class indices.
mean_squared_error: Mean of squared differences over the last axis.
compile: Sets optimizer, loss and metrics for `fit`.
compute_loss: The loss that `compile` was given, plus the layers' own.
evaluate: Loss and metrics over a dataset.
fit: Trains over a dataset; Keras traces the training step itself.
get_config: The arguments with which the object can be made again.
predict: Outputs for a dataset, as NumPy arrays.
predict_on_batch: Outputs for one batch, as NumPy arrays.
reset_state: Sets a metric back to its start.
result: The value of a metric so far.
summary: Prints the model's layers with output shapes and weights.
train_on_batch: One training step on one batch.
update_state: Takes a batch into a metric.
GradientTape.gradient: Derivatives of a result by variables or tensors that the tape has watched.
GradientTape.jacobian: Derivatives of each element of a result.
GradientTape.watch: Records what is done with a tensor that is no variable.
Dataset.batch: Joins consecutive elements into batches; the last may be smaller.
Dataset.cache: Keeps elements after the first pass.
Dataset.filter: Keeps the elements for which a function is true.
Dataset.from_generator: A dataset of what a Python generator yields.
Dataset.from_tensor_slices: A dataset of the slices along the first axis.
Dataset.from_tensors: A dataset of one element.
Dataset.map: Applies a function to each element, inside a graph.
Dataset.padded_batch: Batches of sequences that are filled up to one length.
Dataset.prefetch: Prepares elements while the model works.
Dataset.repeat: Repeats the dataset.
Dataset.shuffle: Shuffles through a buffer.
Dataset.skip: Leaves out the first elements.
Dataset.take: Only the first elements.
Dataset.zip: Pairs the elements of datasets.
Dataset.range: A dataset of integers.
image_data_format: The default order of axes: `channels_last` or `channels_first`.
floatx: The default float type.
epsilon: The small number by which Keras avoids a division by 0.
int_shape: The static shape as a tuple; None where a size is unknown.
"""

_LIBRARIES: Final = ("tensorflow", "keras", "tf_keras", "numpy")


def _table() -> dict[str, str]:
    rows = (line.partition(": ") for line in (_OPERATIONS + _KERAS).splitlines() if line)
    return {name: text for name, _, text in rows}


_SUMMARIES: Final = _table()


def description_of(name: str) -> str | None:
    """A one-line description of a canonical library name; None if there is none."""
    parts = name.removesuffix(".__call__").removesuffix(".__init__").split(".")
    if parts[0] not in _LIBRARIES:
        return None
    return _SUMMARIES.get(".".join(parts[-2:])) or _SUMMARIES.get(parts[-1])
