"""Every layer rule against Keras: generated settings and inputs, symbolic and eager; the same answer, or a less precise one."""

from __future__ import annotations

import collections
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance import keras_calls as calls

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

EXAMPLES = int(os.environ.get("TERRA_CONFORMANCE_EXAMPLES", "6"))

SIZES = st.one_of(st.integers(1, 9), st.none())
FLOATS = st.sampled_from(["float32", "float32", "float64", "float16"])
NUMBERS = st.sampled_from(["float32", "float32", "float64", "int32", "int64", "uint8"])
FORMATS = st.sampled_from([{}, {}, {"data_format": "channels_last"}])


@dataclass(frozen=True)
class Case:
    """One row of the table: how to make a layer and its input."""

    layer: str
    settings: st.SearchStrategy[Mapping[str, Any]]
    inputs: st.SearchStrategy[Any]
    keywords: st.SearchStrategy[Mapping[str, Any]] = field(default_factory=lambda: st.just({}))
    misses_errors: bool = False
    """The rule does not know all refusals."""
    run_symbolic: bool = True
    run_eager: bool = True
    """False where Keras 3.15 ends the process (a division by zero in adaptive pooling of small inputs)."""
    positional: bool = False


@st.composite
def shapes(
    draw: st.DrawFn, low: int, high: int, sizes: st.SearchStrategy[int | None] = SIZES
) -> tuple[int | None, ...]:
    """A shape; mostly known sizes, sometimes an unknown batch or axis."""
    return tuple(draw(st.lists(sizes, min_size=low, max_size=high)))


def spec(low: int, high: int, dtypes: st.SearchStrategy[str] = FLOATS, sizes: st.SearchStrategy[Any] = SIZES) -> Any:
    return st.tuples(shapes(low, high, sizes), dtypes)


def fixed(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping[str, Any]]:
    """Settings of which each may be left out if its strategy is optional."""
    return st.fixed_dictionaries(strategies)


def optional(required: Mapping[str, st.SearchStrategy[Any]], others: Mapping[str, st.SearchStrategy[Any]]) -> Any:
    return st.fixed_dictionaries(dict(required), optional=dict(others))


BIG = st.one_of(st.integers(4, 12), st.none())
KNOWN = st.integers(1, 8)


def window(rank: int) -> st.SearchStrategy[Any]:
    return st.one_of(st.integers(1, 3), st.tuples(*[st.integers(1, 3)] * rank))


def convolutions() -> list[Case]:
    rows: list[Case] = []
    padding = st.sampled_from(["valid", "same"])
    for rank in (1, 2, 3):
        pads = st.sampled_from(["valid", "same", "causal"]) if rank == 1 else padding
        # strides and dilations above 1 together are refused by TensorFlow
        steps = st.sampled_from([{}, {"strides": 2}, {"dilation_rate": 2}, {"strides": (2,) * rank}])
        image = st.tuples(
            st.one_of(
                st.tuples(st.one_of(st.none(), st.integers(1, 3)), *[BIG] * rank, st.integers(1, 4)),
                shapes(rank + 1, rank + 2, st.integers(1, 4)),
            ),
            FLOATS,
        )
        for name in (f"Conv{rank}D", f"Conv{rank}DTranspose"):
            base = optional(
                {
                    "filters": st.integers(1, 4),
                    "kernel_size": window(rank),
                    "padding": pads if "T" not in name else padding,
                },
                {"use_bias": st.booleans(), "activation": st.just("relu")},
            )
            rows.append(Case(name, st.builds(lambda a, b: {**a, **b}, base, steps), image, misses_errors="T" in name))
        if rank < 3:
            base = optional({"kernel_size": window(rank), "padding": padding}, {"depth_multiplier": st.integers(1, 3)})
            rows.append(
                Case(
                    f"DepthwiseConv{rank}D", st.builds(lambda a, b: {**a, **b}, base, steps), image, misses_errors=True
                )
            )
            base = optional({"filters": st.integers(1, 4), "kernel_size": window(rank), "padding": padding}, {})
            rows.append(
                Case(
                    f"SeparableConv{rank}D", st.builds(lambda a, b: {**a, **b}, base, steps), image, misses_errors=True
                )
            )
        pool = optional({"pool_size": window(rank)}, {"strides": window(rank), "padding": padding})
        for name in (f"MaxPooling{rank}D", f"AveragePooling{rank}D"):
            rows.append(Case(name, pool, image, misses_errors=True))
        for name in (f"GlobalMaxPooling{rank}D", f"GlobalAveragePooling{rank}D"):
            rows.append(Case(name, optional({}, {"keepdims": st.booleans()}), image))
        for name in (f"AdaptiveMaxPooling{rank}D", f"AdaptiveAveragePooling{rank}D"):
            rows.append(
                Case(name, optional({"output_size": window(rank)}, {}), image, misses_errors=True, run_eager=False)
            )
        pair = st.tuples(st.integers(0, 2), st.integers(0, 2))
        pads_of = st.one_of(
            st.integers(0, 2),
            pair if rank == 1 else st.tuples(*[pair] * rank),
            st.tuples(*[st.integers(0, 2)] * rank) if rank > 1 else pair,
        )
        rows.append(Case(f"ZeroPadding{rank}D", optional({}, {"padding": pads_of}), image, misses_errors=True))
        rows.append(Case(f"Cropping{rank}D", optional({"cropping": pads_of}, {}), image))
        size = st.integers(1, 3) if rank == 1 else window(rank)
        rows.append(Case(f"UpSampling{rank}D", optional({}, {"size": size}), image))
    return rows


def core() -> list[Case]:
    target = st.lists(st.sampled_from([-1, 1, 2, 3, 4]), min_size=1, max_size=3).map(tuple)
    axis = st.sampled_from([{}, {"axis": -1}, {"axis": 1}])
    rows = [
        Case(
            "Dense",
            optional({"units": KNOWN}, {"use_bias": st.booleans(), "activation": st.just("relu")}),
            spec(2, 4, NUMBERS, st.one_of(KNOWN, KNOWN, st.none())),
            misses_errors=True,
        ),
        Case(
            "Embedding",
            optional({"input_dim": st.just(10), "output_dim": KNOWN}, {}),
            spec(1, 3, st.sampled_from(["int32", "int64", "uint8"])),
        ),
        Case("Flatten", st.just({}), spec(1, 5, NUMBERS)),
        Case("Reshape", fixed(target_shape=target), spec(1, 4, NUMBERS), misses_errors=True),
        Case(
            "Permute", st.sampled_from([{"dims": (2, 1)}, {"dims": (1, 2)}, {"dims": (3, 1, 2)}]), spec(3, 4, NUMBERS)
        ),
        Case("RepeatVector", fixed(n=st.integers(1, 4)), spec(2, 3, NUMBERS)),
        Case("Masking", st.just({}), spec(2, 4, FLOATS)),
        Case("ActivityRegularization", st.just({}), spec(1, 4, FLOATS)),
        Case("BatchNormalization", axis, spec(2, 4, FLOATS, st.one_of(KNOWN, KNOWN)), misses_errors=True),
        Case("LayerNormalization", axis, spec(2, 4, FLOATS, KNOWN), misses_errors=True),
        Case("UnitNormalization", axis, spec(2, 4, FLOATS)),
        Case("RMSNormalization", axis, spec(2, 4, FLOATS, KNOWN), misses_errors=True),
        Case("GroupNormalization", fixed(groups=st.integers(1, 3)), spec(2, 4, FLOATS, KNOWN), misses_errors=True),
        Case("Softmax", axis, spec(2, 4, FLOATS)),
        Case("Resizing", fixed(height=KNOWN, width=KNOWN), spec(3, 4, FLOATS, KNOWN), misses_errors=True),
        Case("CenterCrop", fixed(height=KNOWN, width=KNOWN), spec(3, 4, FLOATS, KNOWN), misses_errors=True),
        Case("RandomCrop", fixed(height=KNOWN, width=KNOWN), spec(3, 4, FLOATS, KNOWN), misses_errors=True),
        Case("Rescaling", fixed(scale=st.just(0.5)), spec(1, 4, NUMBERS)),
        Case("Identity", st.just({}), spec(1, 4, NUMBERS)),
        Case(
            "CategoryEncoding",
            fixed(num_tokens=st.just(4), output_mode=st.sampled_from(["one_hot", "multi_hot", "count"])),
            spec(1, 2, st.just("int32")),
            misses_errors=True,
        ),
        Case(
            "Activation", fixed(activation=st.sampled_from(["relu", "softmax", "tanh", "linear"])), spec(2, 4, FLOATS)
        ),
        Case(
            "EinsumDense",
            st.sampled_from(
                [
                    {"equation": "abc,cd->abd", "output_shape": (None, 5)},
                    {"equation": "...x,xy->...y", "output_shape": 6},
                    {"equation": "abc,cde->abde", "output_shape": (None, 2, 3), "bias_axes": "de"},
                    {"equation": "ab,bc->ac", "output_shape": 7},
                ]
            ),
            spec(2, 4, FLOATS, KNOWN),
            misses_errors=True,
        ),
    ]
    words = st.tuples(shapes(1, 2, KNOWN), st.just("string"))
    numbers = st.tuples(shapes(1, 2, KNOWN), st.just("int64"))
    vocabulary = {"vocabulary": ["a", "b"]}
    for arguments in ({}, {"output_mode": "multi_hot"}, {"output_mode": "one_hot"}):
        strings = {**vocabulary, **arguments}
        rows.append(Case("StringLookup", st.just(strings), words, misses_errors=True, run_symbolic=False))
        integers = {"vocabulary": [3, 4], **arguments}
        rows.append(Case("IntegerLookup", st.just(integers), numbers, misses_errors=True, run_symbolic=False))
    inverse = {**vocabulary, "invert": True}
    rows.append(Case("StringLookup", st.just(inverse), numbers, misses_errors=True, run_symbolic=False))
    for arguments in ({}, {"output_sequence_length": 4}, {"output_mode": "multi_hot"}, {"split": None}):
        settings_of = {**vocabulary, **arguments}
        rows.append(Case("TextVectorization", st.just(settings_of), words, misses_errors=True, run_symbolic=False))
    for arguments in ({}, {"output_mode": "multi_hot"}):
        hashing = {"num_bins": 5, **arguments}
        rows.append(Case("Hashing", st.just(hashing), numbers, misses_errors=True, run_symbolic=False))
    rows.append(Case("Normalization", st.just({"mean": 0.0, "variance": 1.0}), spec(2, 3, FLOATS, KNOWN)))
    for name in ("ReLU", "LeakyReLU", "ELU", "Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise"):
        arguments = {"rate": 0.5} if name.endswith("Dropout") else ({"stddev": 0.1} if name == "GaussianNoise" else {})
        rows.append(Case(name, st.just(arguments), spec(1, 4, NUMBERS), misses_errors=True))
    rows.append(Case("PReLU", st.just({}), spec(2, 4, FLOATS, KNOWN)))
    for rank in (1, 2, 3):
        rows.append(Case(f"SpatialDropout{rank}D", st.just({"rate": 0.5}), spec(rank + 1, rank + 2, FLOATS)))
    for name, arguments in (
        ("RandomFlip", {}),
        ("RandomRotation", {"factor": 0.2}),
        ("RandomZoom", {"height_factor": 0.2}),
        ("RandomTranslation", {"height_factor": 0.2, "width_factor": 0.2}),
        ("RandomContrast", {"factor": 0.2}),
        ("RandomBrightness", {"factor": 0.2}),
        ("RandomShear", {"x_factor": 0.2}),
        ("RandomHue", {"factor": 0.2}),
        ("RandomSaturation", {"factor": 0.2}),
        ("RandomSharpness", {"factor": 0.2}),
        ("RandomPerspective", {"factor": 0.2}),
        ("RandomGaussianBlur", {"factor": 0.2}),
        ("RandomPosterization", {"factor": 4}),
        ("RandomInvert", {"factor": 0.2}),
        ("RandomErasing", {"factor": 0.2}),
        ("RandomColorJitter", {"brightness_factor": 0.2}),
        ("Solarization", {}),
        ("AutoContrast", {}),
        ("Equalization", {}),
        ("ContrastLimitedAdaptiveHistogramEqualization", {}),
        ("RandomColorDegeneration", {"factor": 0.2}),
        ("RandomElasticTransform", {}),
        ("RandomGrayscale", {}),
    ):
        image = st.tuples(st.tuples(st.integers(1, 3), KNOWN, KNOWN, st.just(3)), FLOATS)
        rows.append(Case(name, st.just(arguments), image, misses_errors=True))
    return rows


@st.composite
def same_or_broadcast(draw: st.DrawFn) -> list[calls.Spec]:
    base = draw(shapes(2, 4))
    specs: list[calls.Spec] = []
    for _ in range(draw(st.integers(2, 3))):
        shape = tuple(
            draw(st.sampled_from([size, size, size, size, 1, 2])) if axis else size for axis, size in enumerate(base)
        )
        specs.append((shape, draw(FLOATS)))
    return specs


@st.composite
def concatenable(draw: st.DrawFn) -> list[calls.Spec]:
    base = draw(shapes(2, 4))
    specs: list[calls.Spec] = []
    for _ in range(draw(st.integers(2, 3))):
        last = draw(SIZES)
        change = draw(st.integers(0, 9))
        shape = (*base[:-1], last)
        if change == 0:
            shape = (*shape, 2)
        if change == 1:
            shape = (*shape[:1], 5, *shape[2:])
        specs.append((shape, draw(FLOATS)))
    return specs


def attention_inputs() -> Any:
    @st.composite
    def build(draw: st.DrawFn) -> list[calls.Spec]:
        batch = draw(SIZES)
        steps, source = draw(SIZES), draw(SIZES)
        depth = draw(KNOWN)
        value = draw(KNOWN)
        query: calls.Spec = ((batch, steps, depth), "float32")
        if draw(st.booleans()):
            return [query, ((batch, source, depth), "float32")]
        return [query, ((batch, source, value), "float32"), ((batch, source, depth), "float32")]

    return build()


def merging() -> list[Case]:
    rows = [
        Case(name, st.just({}), same_or_broadcast(), misses_errors=True)
        for name in ("Add", "Multiply", "Average", "Maximum", "Minimum")
    ]
    two = same_or_broadcast().map(lambda specs: specs[:2])
    rows.append(Case("Subtract", st.just({}), two, misses_errors=True))
    rows.append(
        Case("Concatenate", st.sampled_from([{}, {"axis": -1}, {"axis": 1}]), concatenable(), misses_errors=True)
    )
    dots = st.sampled_from(
        [
            [((2, 3), "float32"), ((2, 3), "float32")],
            [((2, 3, 4), "float32"), ((2, 5, 4), "float32")],
            [((2, 3, 4), "float32"), ((2, 4), "float32")],
            [((None, 3, 4), "float32"), ((None, 3, 5), "float32")],
            [((2, 3, 4), "float32"), ((2, 3, 5), "float32")],
        ]
    )
    rows.append(
        Case(
            "Dot", st.sampled_from([{"axes": 1}, {"axes": -1}, {"axes": (2, 1)}, {"axes": 2}]), dots, misses_errors=True
        )
    )
    scores = st.sampled_from([{}, {"return_attention_scores": True}])
    for name in ("Attention", "AdditiveAttention"):
        rows.append(Case(name, st.just({}), attention_inputs(), scores, misses_errors=True))
    heads = optional(
        {"num_heads": st.integers(1, 3), "key_dim": st.integers(1, 4)},
        {"output_shape": st.integers(1, 5), "value_dim": st.integers(1, 4)},
    )
    known = attention_inputs().map(lambda specs: specs[:2])
    rows.append(Case("MultiHeadAttention", heads, known, scores, misses_errors=True, positional=True))
    return rows


def recurrent() -> list[Case]:
    flags = {"return_sequences": st.booleans(), "return_state": st.booleans()}
    sequence = st.tuples(
        st.one_of(
            st.tuples(
                st.one_of(st.none(), st.integers(1, 3)), st.one_of(st.none(), st.integers(1, 4)), st.integers(1, 4)
            ),
            shapes(2, 4, st.integers(1, 4)),
        ),
        FLOATS,
    )
    rows = [
        Case(name, optional({"units": st.integers(1, 4)}, flags), sequence) for name in ("SimpleRNN", "GRU", "LSTM")
    ]
    for rank in (1, 2):
        step = [st.integers(3, 6)] * rank
        video = st.tuples(
            st.tuples(st.one_of(st.none(), st.integers(1, 2)), st.integers(1, 3), *step, st.integers(1, 2)),
            st.just("float32"),
        )
        rows.append(
            Case(
                f"ConvLSTM{rank}D",
                optional(
                    {"filters": st.integers(1, 3), "kernel_size": st.integers(1, 3)},
                    {**flags, "padding": st.sampled_from(["valid", "same"])},
                ),
                video,
            )
        )
    return rows


CASES = [*convolutions(), *core(), *merging(), *recurrent()]

# what Keras' own symbolic answer gets wrong, seen by running the layer: the eager answer is then the judge
PRECISION: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.layer)
def test_layer(case: Case) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case.settings, case.inputs, case.keywords)
    def check(arguments: Mapping[str, Any], inputs: Any, keywords: Mapping[str, Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes = calls.layer_outcomes(
                case.layer,
                arguments,
                inputs,
                keywords,
                run_symbolic=case.run_symbolic,
                run_eager=case.run_eager,
                positional=case.positional,
            )
        eager_refuses = isinstance(outcomes[-1][1], Exception)
        for ours, real in outcomes:
            if isinstance(ours, calls.OperationError) and eager_refuses:
                continue
            found = calls.differences(ours, real, misses_errors=case.misses_errors)
            assert found is None, f"{case.layer}({arguments})({inputs}, {keywords}): {found}"
            PRECISION[case.layer]["exact" if calls.is_exact(ours, real) else "less"] += 1

    check()


def test_precision_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints how often each rule was as precise as Keras; a rule that never is would be worthless."""
    with capsys.disabled():
        for name, counts in sorted(PRECISION.items()):
            if counts["less"]:
                print(f"\n{name}: exact {counts['exact']} of {counts.total()}", end="")
    assert all(counts["exact"] for counts in PRECISION.values())
