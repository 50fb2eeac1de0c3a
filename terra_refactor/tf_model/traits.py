"""Traits of names for the hazard rules and the cost model: see `spec.Trait`.

Computes: nothing. Gives: `TRAITS`, one table. An eager-only function raises in a traced function, or returns
something other than a tensor's value there; tests/conformance/test_catalogue.py runs each such row, and each XLA row.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.tf_model.graph_traits import GRAPH_TRAITS
from terra_refactor.tf_model.name_table import NameTable, name_table, within
from terra_refactor.tf_model.spec import Trait

OPERATORS: Final = (
    "__abs__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ "
    "__mod__ __rmod__ "
    "__pow__ __rpow__ __matmul__ __rmatmul__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__ __invert__ __neg__ "
    "__lt__ __le__ __gt__ __ge__ __eq__ __ne__ __getitem__"
)
"""The operators that tensors and variables overload."""

_EAGER_ONLY: Final = " ".join(
    (
        within(
            "tensorflow.Tensor",
            "numpy tolist __array__ __float__ __index__ __complex__ __iter__ __len__ eval backing_device cpu gpu",
        ),
        within("tensorflow.Variable", "numpy __array__ eval __iter__"),
        within("tensorflow.RaggedTensor", "numpy to_list"),
        within("keras.Variable", "numpy __array__ __float__ __int__"),
        within("tensorflow.data.Dataset", "as_numpy_iterator __len__"),
        "tensorflow.saved_model.save tensorflow.make_ndarray tensorflow.make_tensor_proto "
        "tensorflow.test.compute_gradient",
        within("tensorflow.train.Checkpoint", "save restore read"),
        within("tensorflow.train.CheckpointManager", "save restore_or_initialize"),
        within(
            "keras.Model",
            "fit evaluate predict train_on_batch test_on_batch predict_on_batch fit_generator evaluate_generator "
            "predict_generator "
            "save save_weights export compile",
        ),
        "keras.layers.Layer.get_weights keras.optimizers.legacy.Optimizer.get_weights",
        "keras.models.clone_model keras.saving.save_model keras.saving.load_model keras.ops.convert_to_numpy "
        "keras.utils.clear_session",
        within("keras.utils", "pad_sequences img_to_array array_to_img save_img"),
        within("keras.backend", "get_value eval batch_get_value"),
    )
)

_CONCRETE_ARRAYS: Final = """ numpy.* !numpy.ndarray !numpy.dtype !numpy.generic !numpy.shape !numpy.ndim !numpy.size
!numpy.iterable !numpy.isscalar !numpy.finfo !numpy.iinfo !numpy.issubdtype !numpy.issubclass_ !numpy.result_type
!numpy.promote_types !numpy.errstate !numpy.seterr !numpy.geterr !numpy.set_printoptions !numpy.get_printoptions
!numpy.printoptions !numpy.zeros !numpy.ones !numpy.empty !numpy.eye !numpy.identity !numpy.arange
!numpy.random.RandomState !numpy.random.Generator !numpy.random.default_rng !numpy.random.seed !numpy.broadcast_shapes
tensorflow_datasets.as_numpy
"""

_WEIGHTLESS_LAYERS: Final = """
    Activation ActivityRegularization Add Average AveragePooling1D AveragePooling2D AveragePooling3D
    CategoryEncoding Concatenate Cropping1D Cropping2D Cropping3D Dot ELU Flatten GlobalAveragePooling1D
    GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D
    Identity InputLayer Lambda LeakyReLU Masking MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum Multiply
    Permute ReLU RepeatVector Reshape Resizing Rescaling Softmax Subtract TimeDistributed UnitNormalization UpSampling1D
    UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D CenterCrop
"""
_WEIGHTLESS: Final = " ".join(f"!keras.layers.{name}" for name in _WEIGHTLESS_LAYERS.split())
"""Layers without variables, which may be created inside a graph in each trace.

The variables of `TimeDistributed` are those of the wrapped layer.
"""

WEIGHTLESS_WITH: Final = {"keras.layers.Normalization": ("mean", "variance")}
"""Layers that have no variables if these arguments are given."""

SEEDED_LAYERS: Final = frozenset(
    f"keras.layers.{name}"
    for name in (
        "AlphaDropout",
        "Dropout",
        "GaussianDropout",
        "GaussianNoise",
        "SpatialDropout1D",
        "SpatialDropout2D",
        "SpatialDropout3D",
    )
)
"""Layers whose only variable is the state of their random generator, which Keras 3 creates in the constructor, and
which Keras 2 does not have.
"""

_LAYER_STATE: Final = """ tensorflow.Variable tensorflow.compat.v1.Variable keras.Variable keras.layers.Layer
keras.Model keras.Sequential keras.metrics.Metric keras.optimizers.Optimizer keras.optimizers.legacy.Optimizer
keras.random.SeedGenerator keras.layers.Layer.add_weight keras.layers.Layer.add_variable keras.layers.Layer.build
keras.metrics.Metric.add_weight keras.metrics.Metric.add_variable keras.optimizers.Optimizer.build
keras.optimizers.Optimizer.add_variable keras.optimizers.Optimizer.add_variable_from_reference keras.Model.compile
keras.models.clone_model keras.saving.load_model keras.backend.variable keras.backend.random_uniform_variable
keras.backend.random_normal_variable tensorflow.random.Generator tensorflow.random.Generator.from_seed
tensorflow.random.Generator.from_state tensorflow.random.Generator.from_non_deterministic_state
tensorflow.random.Generator.from_key_counter tensorflow.train.ExponentialMovingAverage
tensorflow.compat.v1.get_variable tensorflow.compat.v1.get_local_variable tensorflow.compat.v1.layers.*
tensorflow.compat.v1.train.Optimizer tensorflow.compat.v1.train.create_global_step
tensorflow.compat.v1.train.get_or_create_global_step
"""

_APPLICATIONS: Final = within(
    "keras.applications",
    "ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge DenseNet121 DenseNet169 DenseNet201 "
    "EfficientNetB0 EfficientNetB1 "
    "EfficientNetB2 EfficientNetB3 EfficientNetB4 EfficientNetB5 EfficientNetB6 EfficientNetB7 EfficientNetV2B0 "
    "EfficientNetV2B1 EfficientNetV2B2 "
    "EfficientNetV2B3 EfficientNetV2L EfficientNetV2M EfficientNetV2S InceptionResNetV2 InceptionV3 MobileNet "
    "MobileNetV2 MobileNetV3Large "
    "MobileNetV3Small NASNetLarge NASNetMobile ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2 VGG16 "
    "VGG19 Xception",
)

_ASSIGN: Final = (
    "assign assign_add assign_sub batch_scatter_update scatter_add scatter_div scatter_max scatter_min scatter_mul "
    "scatter_nd_add scatter_nd_max "
    "scatter_nd_min scatter_nd_sub scatter_nd_update scatter_sub scatter_update count_up_to load __iadd__ __isub__ "
    "__imul__ __itruediv__ __ipow__"
)

_TENSOR_STATE: Final = " ".join(
    (
        within("tensorflow.Variable", _ASSIGN),
        within("keras.Variable", "assign assign_add assign_sub"),
        within("keras.layers.Layer", "set_weights"),
        within(
            "keras.optimizers.Optimizer",
            "apply_gradients apply minimize update_step assign assign_add assign_sub finalize_variable_values "
            "set_weights",
        ),
        within("keras.optimizers.legacy.Optimizer", "apply_gradients minimize set_weights"),
        within("tensorflow.compat.v1.train.Optimizer", "apply_gradients minimize"),
        within("keras.metrics.Metric", "update_state reset_state reset_states merge_state __call__"),
        within("keras.Model", "train_step test_step compute_metrics reset_metrics reset_states compute_loss"),
        within("keras.backend", "update update_add update_sub set_value batch_set_value moving_average_update"),
        within(
            "tensorflow.compat.v1",
            "assign assign_add assign_sub scatter_add scatter_sub scatter_update scatter_nd_update scatter_nd_add",
        ),
        "tensorflow.lookup.experimental.MutableHashTable.insert tensorflow.lookup.experimental.MutableHashTable.remove",
        "tensorflow.lookup.experimental.DenseHashTable.insert tensorflow.lookup.experimental.DenseHashTable.erase",
        "tensorflow.queue.QueueBase.* tensorflow.print tensorflow.io.write_file "
        "tensorflow.train.ExponentialMovingAverage.apply",
        within("tensorflow.summary", "audio histogram image scalar text write graph flush"),
        within("tensorflow.summary.experimental", "write_raw_pb"),
        "tensorflow.raw_ops.Assign tensorflow.raw_ops.AssignVariableOp tensorflow.raw_ops.AssignAddVariableOp "
        "tensorflow.raw_ops.AssignSubVariableOp",
    )
)

TENSOR_MODULES: Final = """ tensorflow.math.? tensorflow.nn.? tensorflow.nn.experimental.? tensorflow.math.special.?
tensorflow.linalg.* tensorflow.bitwise.? tensorflow.signal.? tensorflow.strings.? tensorflow.sparse.?
tensorflow.ragged.? tensorflow.image.? tensorflow.audio.? tensorflow.quantization.? tensorflow.sets.?
tensorflow.raw_ops.? tensorflow.random.? tensorflow.random.experimental.? tensorflow.experimental.numpy.* keras.ops.?
keras.ops.image.? keras.ops.linalg.? keras.ops.nn.? keras.activations.? keras.random.? !tensorflow.image.ResizeMethod
!tensorflow.random.set_seed !tensorflow.random.Generator !tensorflow.random.Algorithm
!tensorflow.random.get_global_generator !tensorflow.random.set_global_generator !tensorflow.random.create_rng_state
!keras.random.SeedGenerator !tensorflow.experimental.numpy.experimental_enable_numpy_behavior
!tensorflow.experimental.numpy.random.seed !tensorflow.experimental.numpy.finfo !tensorflow.experimental.numpy.iinfo
!tensorflow.experimental.numpy.issubdtype !tensorflow.experimental.numpy.promote_types
!tensorflow.experimental.numpy.result_type !keras.ops.is_tensor !keras.ops.dtype !keras.ops.convert_to_numpy
!keras.activations.get !keras.activations.serialize !keras.activations.deserialize !tensorflow.nn.RNNCellDeviceWrapper
!tensorflow.nn.RNNCellDropoutWrapper !tensorflow.nn.RNNCellResidualWrapper
"""
"""Modules in which everything, with a few exceptions, runs operations and returns tensors."""

ROOT_OPERATIONS: Final = within(
    "tensorflow",
    "approx_top_k argsort batch_to_space bitcast boolean_mask broadcast_dynamic_shape broadcast_to case cast "
    "clip_by_global_norm clip_by_norm "
    "clip_by_value concat cond constant conv convert_to_tensor dynamic_partition dynamic_stitch edit_distance einsum "
    "ensure_shape expand_dims "
    "extract_volume_patches eye fftnd fill fingerprint foldl foldr gather gather_nd gradients guarantee_const "
    "hessians histogram_fixed_width "
    "histogram_fixed_width_bins identity identity_n ifftnd irfftnd linspace map_fn meshgrid norm one_hot ones "
    "ones_like pad parallel_stack range rank "
    "realdiv repeat required_space_to_batch_paddings reshape reverse reverse_sequence rfftnd roll scan scatter_nd "
    "searchsorted sequence_mask shape "
    "shape_n size slice sort space_to_batch space_to_batch_nd split squeeze stack stop_gradient strided_slice "
    "switch_case tensor_scatter_nd_add "
    "tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot tile "
    "timestamp transpose truncatediv "
    "truncatemod tuple unique unique_with_counts unravel_index unstack vectorized_map where while_loop zeros "
    "zeros_like py_function "
    "numpy_function dtypes.complex dtypes.saturate_cast random_index_shuffle debugging.check_numerics",
)
"""Operations of the package itself."""

_IO_OPERATIONS: Final = within(
    "tensorflow.io",
    "decode_and_crop_jpeg decode_base64 decode_bmp decode_compressed decode_csv decode_gif decode_image decode_jpeg "
    "decode_json_example decode_png "
    "decode_proto decode_raw deserialize_many_sparse encode_base64 encode_jpeg encode_png encode_proto "
    "extract_jpeg_shape is_jpeg matching_files "
    "parse_example parse_sequence_example parse_single_example parse_single_sequence_example parse_tensor read_file "
    "serialize_many_sparse "
    "serialize_sparse serialize_tensor decode_jxl decode_webp",
)

_V1_OPERATIONS: Final = within(
    "tensorflow.compat.v1",
    "placeholder placeholder_with_default sparse_placeholder py_func multinomial sparse_to_dense string_split "
    "to_float to_double to_int32 "
    "to_int64 to_bfloat16 div floor_div substr setdiff1d batch_gather extract_image_patches count_nonzero "
    "confusion_matrix arg_max arg_min "
    "verify_tensor_all_finite losses.? layers.? metrics.? nn.? Session.run get_variable",
)

_KERAS_CALLS: Final = """
    keras.layers.Layer.__call__ keras.layers.Layer.call keras.Model.__call__ keras.Model.call keras.losses.Loss.__call__
    keras.losses.Loss.call keras.metrics.Metric.__call__ keras.metrics.Metric.result keras.initializers.Initializer.__call__
    keras.regularizers.Regularizer.__call__ keras.constraints.Constraint.__call__ keras.optimizers.schedules.LearningRateSchedule.__call__
    keras.Operation.__call__ keras.Operation.call keras.Model.predict_step
"""

_KERAS_FUNCTIONS: Final = " ".join(
    (
        "keras.losses.? !keras.losses.get !keras.losses.serialize !keras.losses.deserialize !keras.losses.Loss",
        "keras.metrics.? !keras.metrics.get !keras.metrics.serialize !keras.metrics.deserialize !keras.metrics.Metric",
        within(
            "keras.backend",
            "abs all any arange argmax argmin batch_dot batch_flatten batch_normalization bias_add "
            "binary_crossentropy binary_focal_crossentropy "
            "cast categorical_crossentropy categorical_focal_crossentropy clip concatenate constant conv1d conv2d "
            "conv2d_transpose conv3d cos "
            "ctc_batch_cost ctc_decode ctc_label_dense_to_sparse cumprod cumsum depthwise_conv2d dot dropout elu "
            "equal exp expand_dims eye flatten "
            "foldl foldr gather gradients greater greater_equal hard_sigmoid in_top_k l2_normalize less less_equal "
            "log map_fn max maximum mean min "
            "minimum not_equal one_hot ones ones_like permute_dimensions pool2d pool3d pow prod random_bernoulli "
            "random_binomial random_normal "
            "random_uniform relu repeat repeat_elements resize_images resize_volumes reverse rnn round "
            "separable_conv2d shape sigmoid sign sin "
            "softmax softplus softsign sparse_categorical_crossentropy spatial_2d_padding spatial_3d_padding sqrt "
            "square squeeze stack std "
            "stop_gradient sum switch tanh temporal_padding tile to_dense transpose truncated_normal var zeros "
            "zeros_like reshape",
        ),
    )
)

_METHODS: Final = " ".join(
    (
        within("tensorflow.Tensor", OPERATORS),
        within("tensorflow.Variable", OPERATORS + " value read_value gather_nd sparse_read " + _ASSIGN),
        within("keras.Variable", OPERATORS),
        within("keras.KerasTensor", OPERATORS.replace(" __eq__", "") + " reshape squeeze"),
        within(
            "tensorflow.RaggedTensor",
            OPERATORS.replace("__matmul__ __rmatmul__ ", "")
            + " to_tensor to_sparse with_values with_flat_values row_lengths bounding_shape merge_dims consumers",
        ),
        within("tensorflow.sparse.SparseTensor", "__mul__ __truediv__ with_values"),
        within("tensorflow.GradientTape", "gradient jacobian batch_jacobian"),
        within("tensorflow.TensorArray", "read stack concat gather size grad"),
        within("tensorflow.data.Iterator", "get_next __next__ next"),
        "tensorflow.data.Dataset.reduce tensorflow.data.Dataset.get_single_element tensorflow.data.Dataset.cardinality",
        within("tensorflow.random.Generator", "binomial make_seeds normal truncated_normal uniform uniform_full_int"),
        within("tensorflow.lookup.StaticHashTable", "lookup size __getitem__"),
        within("tensorflow.lookup.StaticVocabularyTable", "lookup size __getitem__"),
        within("tensorflow.lookup.experimental.MutableHashTable", "lookup size __getitem__ export"),
        within("tensorflow.lookup.experimental.DenseHashTable", "lookup size __getitem__ export"),
        within("tensorflow.ones_initializer", "__call__"),
        within("tensorflow.zeros_initializer", "__call__"),
        within("tensorflow.constant_initializer", "__call__"),
        within("tensorflow.random_normal_initializer", "__call__"),
        within("tensorflow.random_uniform_initializer", "__call__"),
    )
)

_RETURNS_TENSOR: Final = " ".join(
    (TENSOR_MODULES, ROOT_OPERATIONS, _IO_OPERATIONS, _V1_OPERATIONS, _KERAS_CALLS, _KERAS_FUNCTIONS, _METHODS)
)

_ASSERTIONS: Final = within(
    "tensorflow.debugging",
    "Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer assert_less "
    "assert_less_equal assert_near "
    "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank "
    "assert_rank_at_least assert_rank_in "
    "assert_same_float_dtype assert_scalar assert_shapes assert_type",
)

_SIDE_OPERATIONS: Final = " ".join(
    (
        _ASSERTIONS,
        _TENSOR_STATE,
        "tensorflow.group tensorflow.no_op tensorflow.custom_gradient",
        within("tensorflow.TensorArray", "write unstack split scatter close"),
    )
)

_HOST_CALLBACK: Final = (
    "tensorflow.py_function tensorflow.numpy_function tensorflow.compat.v1.py_func "
    "tensorflow.data.Dataset.from_generator"
)

_DATASET: Final = """ tensorflow.data.Dataset.* tensorflow.data.TFRecordDataset tensorflow.data.TextLineDataset
tensorflow.data.FixedLengthRecordDataset !tensorflow.data.Dataset.element_spec !tensorflow.data.Dataset.cardinality
!tensorflow.data.Dataset.reduce !tensorflow.data.Dataset.options !tensorflow.data.Dataset.__iter__
!tensorflow.data.Dataset.__len__ !tensorflow.data.Dataset.__bool__ !tensorflow.data.Dataset.__nonzero__
!tensorflow.data.Dataset.get_single_element !tensorflow.data.Dataset.as_numpy_iterator !tensorflow.data.Dataset.save
!tensorflow.data.Dataset.fingerprint tensorflow.data.experimental.Counter tensorflow.data.experimental.CsvDataset
tensorflow.data.experimental.RandomDataset tensorflow.data.experimental.SqlDataset
tensorflow.data.experimental.make_csv_dataset tensorflow.data.experimental.make_batched_features_dataset
tensorflow.data.experimental.choose_from_datasets tensorflow.data.experimental.sample_from_datasets
tensorflow.data.experimental.load keras.utils.image_dataset_from_directory keras.utils.text_dataset_from_directory
keras.utils.audio_dataset_from_directory keras.utils.timeseries_dataset_from_array keras.utils.split_dataset
tensorflow_datasets.load
"""

_XLA_UNSUPPORTED: Final = " ".join(
    (
        "tensorflow.strings.? tensorflow.print",
        "tensorflow.py_function tensorflow.numpy_function tensorflow.compat.v1.py_func "
        "tensorflow.compat.v1.string_split",
        within("tensorflow.lookup.StaticHashTable", "lookup size __getitem__"),
        within("tensorflow.lookup.StaticVocabularyTable", "lookup size __getitem__"),
        within("tensorflow.lookup.experimental.MutableHashTable", "lookup size __getitem__ insert remove export"),
        within("tensorflow.data.Iterator", "get_next __next__ next"),
        within(
            "tensorflow.io",
            "decode_bmp decode_csv decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png "
            "encode_base64 decode_base64 decode_raw "
            "matching_files parse_example parse_single_example parse_tensor read_file serialize_tensor write_file",
        ),
        within("tensorflow.summary", "audio histogram image scalar text write"),
        "tensorflow.data.Dataset.reduce tensorflow.edit_distance tensorflow.histogram_fixed_width tensorflow.fingerprint",
        "tensorflow.nn.ctc_greedy_decoder tensorflow.nn.ctc_beam_search_decoder tensorflow.sparse.sparse_dense_matmul",
        within("tensorflow.image", "crop_and_resize draw_bounding_boxes adjust_jpeg_quality random_jpeg_quality"),
        within("tensorflow.math", "segment_sum segment_mean segment_max segment_min segment_prod"),
        within("tensorflow.linalg", "lu det eig eigvals sqrtm"),
        within("tensorflow.random", "poisson gamma shuffle stateless_binomial log_uniform_candidate_sampler"),
        "tensorflow.sets.? tensorflow.RaggedTensor.to_tensor",
    )
)

_TRANSPARENT_DECORATOR: Final = """
    functools.wraps functools.lru_cache functools.cache functools.update_wrapper
    tensorflow.function tensorflow.autograph.experimental.do_not_convert tensorflow.Module.with_name_scope
    keras.saving.register_keras_serializable abc.abstractmethod typing.no_type_check typing.final typing.override typing.overload
    atexit.register gin.configurable gin.register gin.external_configurable typeguard.typechecked
    check_shapes.check_shapes check_shapes.inherit_check_shapes deprecated.deprecated
"""

TRAITS: Final[NameTable[Trait]] = name_table(
    {
        Trait.EAGER_ONLY: _EAGER_ONLY,
        Trait.CONCRETE_ARRAYS: _CONCRETE_ARRAYS,
        Trait.ARRAY_OF_ITSELF: within("numpy", "array asarray asanyarray ascontiguousarray"),
        Trait.CREATES_STATE: f"{_LAYER_STATE} {_APPLICATIONS} {_WEIGHTLESS}",
        Trait.TENSOR_STATE: _TENSOR_STATE,
        Trait.TENSOR_OPERATION: f"{_RETURNS_TENSOR} {_SIDE_OPERATIONS}",
        Trait.RETURNS_TENSOR: _RETURNS_TENSOR,
        Trait.TAKES_TENSORS: f"{_RETURNS_TENSOR} {_SIDE_OPERATIONS} tensorflow.is_tensor tensorflow.get_static_value",
        Trait.HOST_CALLBACK: _HOST_CALLBACK,
        Trait.DATASET: _DATASET,
        Trait.XLA_UNSUPPORTED: _XLA_UNSUPPORTED,
        Trait.TRANSPARENT_DECORATOR: _TRANSPARENT_DECORATOR,
        **GRAPH_TRAITS,
    }
)
"""All traits of library names."""
