"""Side effects of calls of TensorFlow, Keras and NumPy outside the program: see `domain.effect.EffectKind`.

Computes: nothing. Gives: `EFFECTS`, one table. Python's own library and third parties are in `python_api.py`. A name
without a row has no effect: operations, and everything that a graph performs exactly like eager code, have none here
(see `Trait.TENSOR_STATE` for state that TensorFlow owns).
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.tf_model.name_table import NameTable, name_table, within
from terra_refactor.tf_model.spec import Trait
from terra_refactor.tf_model.traits import TRAITS

_FILES: Final = " ".join(
    (
        "tensorflow.io.gfile.* tensorflow.io.TFRecordWriter tensorflow.io.TFRecordWriter.* tensorflow.io.write_graph",
        "tensorflow.saved_model.save tensorflow.saved_model.load tensorflow.saved_model.contains_saved_model "
        "tensorflow.compat.v1.gfile.*",
        within(
            "tensorflow.train",
            "checkpoints_iterator get_checkpoint_state latest_checkpoint list_variables load_checkpoint load_variable",
        ),
        within("tensorflow.train.Checkpoint", "save restore read write"),
        within("tensorflow.train.CheckpointManager", "save restore_or_initialize"),
        "tensorflow.compat.v1.train.Saver.* tensorflow.summary.create_file_writer "
        "tensorflow.compat.v1.summary.FileWriter",
        "tensorflow.compat.v1.summary.FileWriter.* tensorflow.data.experimental.save tensorflow.data.Dataset.save",
        within("keras.Model", "save save_weights load_weights export"),
        "keras.saving.save_model keras.saving.load_model keras.saving.load_weights keras.saving.save_weights",
        within(
            "keras.utils",
            "get_file save_img load_img plot_model image_dataset_from_directory text_dataset_from_directory "
            "audio_dataset_from_directory",
        ),
        "keras.datasets.* keras.export.*  tensorflow.sysconfig.* tensorflow.load_library tensorflow.load_op_library",
        "tensorflow.profiler.* tensorflow.distribute.Server tensorflow.distribute.cluster_resolver.* "
        "tensorflow.lite.Interpreter",
        "numpy.load numpy.save numpy.savez numpy.savez_compressed numpy.loadtxt numpy.savetxt numpy.genfromtxt "
        "numpy.fromfile numpy.memmap",
        "numpy.ndarray.tofile numpy.ndarray.dump numpy.fromregex numpy.DataSource",
    )
)

_SETTINGS: Final = " ".join(
    (
        "tensorflow.config.run_functions_eagerly tensorflow.config.experimental_run_functions_eagerly",
        within(
            "tensorflow.config",
            "set_logical_device_configuration set_soft_device_placement set_visible_devices threading.* "
            "optimizer.set_jit",
        ),
        within(
            "tensorflow.config.experimental",
            "enable_op_determinism set_memory_growth enable_tensor_float_32_execution set_synchronous_execution",
        ),
        within(
            "tensorflow.debugging",
            "enable_check_numerics disable_check_numerics set_log_device_placement disable_traceback_filtering",
        ),
        "tensorflow.debugging.enable_traceback_filtering tensorflow.summary.trace_on tensorflow.summary.trace_off "
        "tensorflow.summary.trace_export",
        "tensorflow.summary.experimental.set_step tensorflow.random.set_global_generator tensorflow.random.set_seed "
        "tensorflow.autograph.set_verbosity",
        within(
            "keras.config",
            "set_backend set_dtype_policy set_epsilon set_floatx set_image_data_format disable_traceback_filtering",
        ),
        "keras.config.enable_traceback_filtering keras.config.enable_interactive_logging "
        "keras.config.disable_interactive_logging",
        "keras.utils.clear_session keras.backend.reset_uids keras.backend.set_learning_phase ",
        "keras.backend.get_uid keras.backend.manual_variable_initialization",
        within(
            "tensorflow.compat.v1",
            "disable_eager_execution enable_eager_execution disable_v2_behavior enable_v2_behavior reset_default_graph",
        ),
        "tensorflow.compat.v1.add_to_collection numpy.seterr numpy.set_printoptions numpy.random.seed "
        "numpy.random.set_state",
        "tensorflow.experimental.numpy.experimental_enable_numpy_behavior "
        "tensorflow.register_tensor_conversion_function",
    )
)
"""Calls that change settings or registries of the process."""

_SESSIONS: Final = within(
    "tensorflow.compat.v1",
    "Session.run Session.partial_run InteractiveSession.run InteractiveSession.partial_run",
)
"""Calls that run another graph immediately: they run while a function is traced, and not afterwards."""

_RANDOM_ARRAYS: Final = (
    "numpy.random.* !numpy.random.RandomState !numpy.random.default_rng "
    "!numpy.random.Generator !numpy.random.SeedSequence"
)

_TENSOR_RANDOM: Final = " ".join(
    (
        "tensorflow.random.* keras.random.* tensorflow.nn.dropout tensorflow.nn.experimental.general_dropout",
        "!tensorflow.random.stateless_binomial !tensorflow.random.stateless_categorical "
        "!tensorflow.random.stateless_gamma",
        "!tensorflow.random.stateless_normal !tensorflow.random.stateless_parameterized_truncated_normal "
        "!tensorflow.random.split",
        "!tensorflow.random.stateless_poisson !tensorflow.random.stateless_truncated_normal "
        "!tensorflow.random.stateless_uniform",
        "!tensorflow.random.create_rng_state !tensorflow.random.fold_in !tensorflow.random.get_global_generator",
        "!tensorflow.random.set_global_generator !tensorflow.random.set_seed !tensorflow.random.Algorithm "
        "!tensorflow.random.Generator",
        "!tensorflow.random.Generator.from_seed !tensorflow.random.Generator.from_state "
        "!tensorflow.random.Generator.from_key_counter",
        "!tensorflow.random.experimental.stateless_shuffle !tensorflow.random.experimental.index_shuffle",
        within(
            "tensorflow.image",
            "random_brightness random_contrast random_crop random_flip_left_right random_flip_up_down random_hue "
            "random_jpeg_quality random_saturation "
            "sample_distorted_bounding_box",
        ),
        within("tensorflow.nn", "fractional_avg_pool fractional_max_pool nce_loss sampled_softmax_loss"),
        within(
            "keras.backend", "dropout random_bernoulli random_binomial random_normal random_uniform truncated_normal"
        ),
        "!keras.random.SeedGenerator tensorflow.compat.v1.nn.dropout tensorflow.compat.v1.multinomial",
        within(
            "keras.layers",
            "Dropout.__call__ SpatialDropout1D.__call__ SpatialDropout2D.__call__ SpatialDropout3D.__call__ "
            "GaussianNoise.__call__",
        ),
        within("keras.layers", "GaussianDropout.__call__ AlphaDropout.__call__"),
        "tensorflow.experimental.numpy.random.*",
    )
)


def _patterns_of(trait: Trait) -> str:
    """The names that have a trait, as patterns."""
    return " ".join(
        (
            *(name for name, traits in TRAITS.exact.items() if trait in traits),
            *(f"{name}.*" for name, traits in TRAITS.below.items() if trait in traits),
            *(f"{name}.?" for name, traits in TRAITS.directly_below.items() if trait in traits),
            *(f"!{name}" for name, traits in TRAITS.excluded.items() if trait in traits),
        )
    )


EFFECTS: Final[NameTable[EffectKind]] = name_table(
    {
        EffectKind.INPUT_OUTPUT: f"{_FILES} {_SETTINGS} {_SESSIONS}",
        EffectKind.PRINT: "keras.Model.summary keras.utils.Progbar.update keras.utils.Progbar.add",
        EffectKind.LOG: "tensorflow.get_logger tensorflow.compat.v1.logging.*",
        EffectKind.RANDOM: f"{_RANDOM_ARRAYS} keras.utils.set_random_seed",
        EffectKind.TENSOR_STATE: _patterns_of(Trait.TENSOR_STATE),
        EffectKind.TENSOR_RANDOM: _TENSOR_RANDOM,
        EffectKind.VARIABLE_CREATION: _patterns_of(Trait.CREATES_STATE),
    }
)
"""All effects of library names."""
