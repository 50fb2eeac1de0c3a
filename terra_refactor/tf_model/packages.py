"""Well-known packages that are not catalogued name by name, with the effects of calls into them.

Computes: nothing. Gives: `PACKAGES` (the known packages: any name below them is a library entity), `PACKAGE_EFFECTS`, `PACKAGE_TRAITS`
and `may_only_compute`. A name of a known package without a row in `PACKAGE_EFFECTS` is assumed to change only its arguments. Ignores:
signatures and results.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.tf_model.name_table import NameTable, name_table, within, words
from terra_refactor.tf_model.spec import Trait

PACKAGES: Final = words(
    "absl array_record attr attrs bs4 check_shapes chex cloudpickle cma colorama cycler cython deap deprecated "
    "deprecation dill dm_tree docopt einops etils "
    "fire flax future gast gin google gym gymnasium h5py hydra imageio imgaug albumentations IPython ipywidgets jax "
    "jaxlib jaxtyping joblib kfac "
    "keras_core keras_cv keras_hub keras_nlp keras_preprocessing keras_tuner librosa lightgbm loguru lxml matplotlib "
    "ml_collections ml_dtypes "
    "mock mpl_toolkits msgpack multipledispatch nbformat networkx nibabel nltk numba omegaconf opt_einsum optax "
    "optree optuna packaging pandas "
    "parameterized PIL plotly progressbar protobuf psutil pybullet pycocotools pydantic pydot pydub pygame pylab "
    "pynvml pytest pytest_mock "
    "pyximport pywt ray regex requests rich ruamel sacrebleu sacred scipy seaborn sentencepiece setuptools shapely "
    "six skimage skopt sklearn "
    "sortedcontainers soundfile spacy statsmodels sympy tabulate tensorboard tensorboardX tensorflow_addons "
    "tensorflow_datasets tensorflow_hub "
    "tensorflow_io tensorflow_probability tensorflow_text tensorrt tensorstore termcolor tifffile toml tomli toolz "
    "torch torchvision tqdm "
    "transformers tree trimesh typeguard typer typing_extensions ujson umap wandb wrapt xarray xgboost yaml zmq cv2 "
    "click docker git psycopg2 "
    "pymongo redis sqlalchemy flask fastapi hypothesis nose pkg_resources lz4 zstandard gspread boto3 botocore "
    "mlflow comet_ml neptune"
)
"""Their import names."""

TENSOR_PACKAGES: Final = words(
    "decorator deprecated deprecation einops etils gin hydra keras keras_core keras_cv keras_hub keras_nlp "
    "keras_preprocessing keras_tuner multipledispatch optree ray sacred tensorflow tensorflow_addons "
    "tensorflow_datasets tensorflow_hub tensorflow_io tensorflow_probability tensorflow_text tensorstore tf_keras "
    "toolz transformers tree typeguard wrapt"
)
"""Packages whose functions may return tensors, or the results of functions passed to them."""

_ARRAYS: Final = (
    "cv2 h5py imageio imgaug albumentations jax jaxlib librosa lightgbm matplotlib mpl_toolkits networkx nibabel "
    "nltk numba pandas PIL plotly pycocotools "
    "pydub pylab pywt scipy seaborn shapely skimage skopt sklearn soundfile spacy statsmodels tifffile torch "
    "torchvision trimesh umap xarray xgboost "
    "optax flax chex sacrebleu sympy"
)

_ASSIGNMENTS: Final = within("tensorflow_probability.util.TransformedVariable", "assign assign_add assign_sub")

_MOSTLY_INPUT_OUTPUT: Final = words(
    "pylab seaborn plotly h5py imageio requests git docker redis psycopg2 pymongo sqlalchemy zmq ray boto3 botocore gspread psutil pynvml "
    "pygame pybullet gym gymnasium transformers tifffile keras_tuner optuna hydra flask fastapi"
)
"""Packages whose functions mostly do input or output, while some only compute."""

PACKAGE_EFFECTS: Final[NameTable[EffectKind]] = name_table(
    {
        EffectKind.PRINT: "tqdm.* progressbar.* rich.print rich.console.Console.* click.echo click.secho "
        "typer.echo termcolor.cprint IPython.display.*",
        EffectKind.LOG: "absl.logging.* loguru.* tensorboardX.* wandb.* mlflow.* comet_ml.* neptune.* sacred.* "
        "tensorboard.*",
        EffectKind.INPUT_OUTPUT: " ".join(f"{package}.*" for package in sorted(_MOSTLY_INPUT_OUTPUT))
        + " "
        + "cv2.imread cv2.imwrite cv2.imshow cv2.waitKey cv2.VideoCapture "
        "cv2.VideoCapture.* cv2.VideoWriter cv2.VideoWriter.* "
        "cv2.destroyAllWindows cv2.namedWindow PIL.Image.open PIL.Image.Image.save PIL.Image.Image.show "
        "matplotlib.pyplot.* matplotlib.use "
        "matplotlib.figure.Figure.savefig joblib.dump joblib.load yaml.dump "
        "yaml.load yaml.safe_load yaml.safe_dump "
        "pandas.read_csv pandas.read_table pandas.read_excel pandas.read_json pandas.read_pickle pandas.read_hdf "
        "pandas.read_parquet pandas.read_sql "
        "pandas.DataFrame.to_csv pandas.DataFrame.to_excel pandas.DataFrame.to_json pandas.DataFrame.to_pickle "
        "pandas.DataFrame.to_hdf "
        "scipy.io.* scipy.misc.imread scipy.misc.imsave skimage.io.* sklearn.datasets.* soundfile.* librosa.load "
        "librosa.output.* "
        "nltk.download tensorflow_datasets.load tensorflow_datasets.builder tensorflow_hub.load "
        "tensorflow_hub.KerasLayer tensorflow_hub.resolve "
        "keras_hub.models.* keras_nlp.models.* nibabel.load nibabel.save "
        "sentencepiece.SentencePieceProcessor.Load "
        "cloudpickle.dump cloudpickle.load dill.dump dill.load absl.app.run absl.flags.DEFINE_bool "
        "absl.flags.DEFINE_boolean absl.flags.DEFINE_string "
        "absl.flags.DEFINE_integer absl.flags.DEFINE_float absl.flags.DEFINE_enum absl.flags.DEFINE_list "
        "absl.flags.DEFINE_multi_string "
        "gin.parse_config gin.parse_config_file gin.parse_config_files_and_bindings gin.bind_parameter "
        "gin.clear_config fire.Fire "
        "wandb.* mlflow.* comet_ml.* neptune.* tensorboardX.* tensorboard.*",
        EffectKind.RANDOM: "scipy.stats.rvs sklearn.utils.shuffle sklearn.model_selection.train_test_split "
        "imgaug.* albumentations.* "
        "torch.rand torch.randn torch.randint torch.manual_seed",
        # classes: an object creates its variables the first time that it is called
        EffectKind.VARIABLE_CREATION: "tensorflow_addons.layers.? tensorflow_addons.optimizers.? "
        "tensorflow_addons.metrics.? tensorflow_hub.KerasLayer "
        "tensorflow_hub.load tensorflow_probability.layers.? "
        "tensorflow_probability.util.TransformedVariable keras_hub.layers.? keras_nlp.layers.? keras_cv.layers.?",
        EffectKind.TENSOR_STATE: _ASSIGNMENTS,
    }
)
"""All effects of names in these packages."""

PACKAGE_TRAITS: Final[NameTable[Trait]] = name_table(
    {
        Trait.CONCRETE_ARRAYS: " ".join(f"{package}.*" for package in _ARRAYS.split()),
        Trait.TENSOR_OPERATION: "tensorflow_addons.* tensorflow_probability.* tensorflow_text.* tensorflow_io.* "
        "keras_hub.* keras_nlp.* keras_cv.* einops.*",
        Trait.CREATES_STATE: "tensorflow_addons.layers.? tensorflow_addons.optimizers.? "
        "tensorflow_addons.metrics.? tensorflow_hub.KerasLayer "
        "tensorflow_hub.load tensorflow_probability.layers.? "
        "tensorflow_probability.util.TransformedVariable keras_hub.layers.? keras_nlp.layers.? keras_cv.layers.?",
        Trait.TAKES_TENSORS: "tensorflow_addons.* tensorflow_probability.* tensorflow_text.* einops.*",
        Trait.EAGER_ONLY: within("tensorflow_probability.util.DeferredTensor", "numpy __array__"),
        Trait.TENSOR_STATE: _ASSIGNMENTS,
        Trait.DATASET: "tensorflow_datasets.load tensorflow_datasets.core.DatasetBuilder.as_dataset",
    }
)
"""Traits of names of these packages."""


def may_only_compute(name: str) -> bool:
    """Whether a library function is assumed to do input or output only because most functions of its package do, as it
    creates an object (`gym.spaces.Box(...)`) or reads an item (`spaces["camera"]`).
    """
    last = name.rpartition(".")[2]
    return name.partition(".")[0] in _MOSTLY_INPUT_OUTPUT and (last.startswith("__") or last[:1].isupper())
