"""Rules about raw operations: which may be deferred, and under which condition.

Computes: from an operation's name (and dtypes) whether it can fail on values, touches state, or is random. Needs:
only names. Gives: the closed sets below and `is_total_op`. Ignores: speed. An operation missing here runs
immediately, which is slower but never wrong.

"Total" means: with the dtypes, static shapes and constant operands of an earlier run, it cannot fail, and its outputs
have the same shapes. Only total operations are deferred into segments, because an operation that fails must fail at
its own line of Python, before the next line has run.
"""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """The set of words in a text."""
    return frozenset(text.split())


# Element-wise, linear-algebra, convolution and shape operations whose validity never depends on values.
TOTAL_OPS = names(
    """
    Abs AccumulateNV2 Acos Acosh Add AddN AddV2 All Angle Any ApproximateEqual ArgMax ArgMin Asin Asinh Atan Atan2 Atanh
    FFT FFT2D FFT3D IFFT IFFT2D IFFT3D RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D Cholesky CholeskyGrad MatrixDeterminant
    LogMatrixDeterminant Qr Svd MatrixTriangularSolve
    AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchToSpaceND BesselI0e BesselI1e
    BiasAdd BiasAddGrad Bitcast BitwiseAnd BitwiseOr BitwiseXor BroadcastArgs BroadcastGradientArgs BroadcastTo Cast Ceil ClipByValue
    Complex ComplexAbs ConcatOffset ConcatV2 Conj Const Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D
    Conv3DBackpropFilterV2 Conv3DBackpropInputV2 Cos Cosh Cross Cumprod Cumsum CumulativeLogsumexp DepthToSpace
    DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Diag DiagPart Digamma
    DivNoNan Einsum Elu EluGrad EmptyTensorList EnsureShape Equal Erf Erfc Erfinv Exp ExpandDims Expm1 Fill Floor
    FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 Greater
    GreaterEqual Identity IdentityN Igamma Igammac Imag Inv InvGrad IsFinite IsInf IsNan L2Loss LRN LRNGrad LeakyRelu
    LeakyReluGrad Less LessEqual Lgamma LinSpace Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul MatrixBandPart
    MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2
    MatrixSetDiagV3 Max MaxPool MaxPool3D MaxPool3DGrad MaxPoolGrad MaxPoolGradGrad MaxPoolV2 Maximum Mean Min Minimum
    MirrorPad MirrorPadGrad Mul MulNoNan Ndtri Neg NextAfter NoOp NotEqual OneHot OnesLike Pack Pad PadV2 PreventGradient Prod
    Range Rank Real Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Reshape ResizeArea ResizeBicubic
    ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad ReverseV2 Rint
    Roll Round Rsqrt RsqrtGrad ScaleAndTranslate ScaleAndTranslateGrad Select SelectV2 Selu SeluGrad Shape ShapeN Sigmoid
    SigmoidGrad Sign Sin Sinh Size Slice Snapshot Softmax SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign
    SoftsignGrad SpaceToBatchND SpaceToDepth Split SplitV Sqrt SqrtGrad Square SquaredDifference Squeeze StopGradient
    StridedSlice StridedSliceGrad Sub Sum Tan Tanh TanhGrad Tile TopK TopKV2 Transpose Unpack Xdivy Xlog1py Xlogy
    ZerosLike Zeta _EagerConst _FusedBatchNormEx
    StatelessRandomUniform StatelessRandomUniformV2 StatelessRandomNormal StatelessRandomNormalV2
    StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessRandomGetKeyCounter StatelessRandomGetAlg
    StatelessRandomGetKeyCounterAlg StatelessRandomUniformInt StatelessRandomUniformIntV2
    StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
    """
)

# Total only for floating point: integers may be divided by zero, or raised to a negative power.
TOTAL_FLOAT_OPS = names("Div RealDiv FloorDiv FloorMod Mod TruncateDiv TruncateMod Pow")

# State whose order the shim itself maintains: variables.
VARIABLE_READ_OPS = names("ReadVariableOp VariableShape")
VARIABLE_WRITE_OPS = names(
    """
    RngReadAndSkip RngSkip AssignVariableOp AssignAddVariableOp AssignSubVariableOp ResourceApplyAdaMax ResourceApplyAdadelta
    ResourceApplyAdagrad ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad ResourceApplyAddSign
    ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent
    ResourceStridedSliceAssign
    ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyPowerSign ResourceApplyRMSProp
    """
)

# Operations that read indices: total if the indices are proved to be in range (see `Guard` in trie.py). name ->
# (position of the operand whose size bounds the indices, position of the indices, position of the axis or None)
INDEX_OPS = {
    "GatherV2": (0, 1, 2),
    "Gather": (0, 1, None),
    "ResourceGather": (0, 1, None),
}
# segment ids are checked against the number of segments
SEGMENT_OPS = {"UnsortedSegmentSum": (1, 2), "UnsortedSegmentMax": (1, 2), "UnsortedSegmentMin": (1, 2)}
# labels are checked against the last dimension of the logits
LABEL_OPS = {"SparseSoftmaxCrossEntropyWithLogits": (0, 1)}

# Operands whose values decide the shape of the result, or whether it fails: they must be constants of the path.
# Negative positions count from the last operand.
SHAPE_OPERANDS: dict[str, tuple[int, ...]] = {
    "All": (1,),
    "Any": (1,),
    "AvgPool3DGrad": (0,),
    "AvgPoolGrad": (0,),
    "BroadcastGradientArgs": (0, 1),
    "ArgMax": (1,),
    "ArgMin": (1,),
    "BatchToSpaceND": (1, 2),
    "BroadcastArgs": (0, 1),
    "BroadcastTo": (1,),
    "ConcatOffset": (0,),
    "ConcatV2": (-1,),
    "CumulativeLogsumexp": (1,),
    "MaxPoolV2": (1, 2),
    "MirrorPadGrad": (1,),
    "Conv2DBackpropFilter": (1,),
    "Conv2DBackpropInput": (0,),
    "Conv3DBackpropFilterV2": (1,),
    "Conv3DBackpropInputV2": (0,),
    "Cumprod": (1,),
    "Cumsum": (1,),
    "DepthwiseConv2dNativeBackpropFilter": (1,),
    "DepthwiseConv2dNativeBackpropInput": (0,),
    "ExpandDims": (1,),
    "Fill": (0,),
    "GatherV2": (2,),
    "IRFFT": (1,),
    "IRFFT2D": (1,),
    "IRFFT3D": (1,),
    "LinSpace": (2,),
    "MatrixBandPart": (1, 2),
    "MatrixDiagV3": (1, 2, 3),
    "MatrixDiagPartV3": (1,),
    "MatrixSetDiagV3": (2,),
    "Max": (1,),
    "Mean": (1,),
    "Min": (1,),
    "MirrorPad": (1,),
    "OneHot": (1,),
    "Pad": (1,),
    "PadV2": (1,),
    "Prod": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "RFFT": (1,),
    "RFFT2D": (1,),
    "RFFT3D": (1,),
    "ResizeArea": (1,),
    "ResizeBicubic": (1,),
    "ResizeBilinear": (1,),
    "ResizeNearestNeighbor": (1,),
    "ReverseV2": (1,),
    "Roll": (1, 2),
    "ScaleAndTranslate": (1,),
    "Slice": (1, 2),
    "SpaceToBatchND": (1, 2),
    "Split": (0,),
    "SplitV": (1, 2),
    "StridedSlice": (1, 2, 3),
    "StridedSliceGrad": (0, 1, 2, 3),
    "ResourceStridedSliceAssign": (1, 2, 3),
    "Sum": (1,),
    "Tile": (1,),
    "TopKV2": (1,),
    "Transpose": (1,),
    "UnsortedSegmentMax": (2,),
    "UnsortedSegmentMin": (2,),
    "UnsortedSegmentSum": (2,),
    **dict.fromkeys(
        names(
            """
            StatelessRandomUniform StatelessRandomUniformV2 StatelessRandomNormal
            StatelessRandomNormalV2 StatelessTruncatedNormal StatelessTruncatedNormalV2
            StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
            """
        ),
        (0,),
    ),
    "StatelessRandomUniformInt": (0, 2, 3),  # an empty range is an error
    "StatelessRandomUniformIntV2": (0, 4, 5),
}

# Their results depend only on shapes, which the path fixes.
SHAPE_READING_OPS = names("Shape ShapeN Size Rank VariableShape StatelessRandomGetAlg")

# Every element of the result is an element of the one operand whose values may change, whose bound bounds the result.
ELEMENT_KEEPING_OPS = names(
    "Cast ExpandDims Identity Reshape ReverseV2 Slice Split SplitV Squeeze StopGradient StridedSlice Tile Transpose Unpack"
    " BroadcastTo"
)

# Random, without an input for the state: the state is in the kernel, so they run immediately, in program order.
STATEFUL_RANDOM_OPS = names(
    "RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal RandomShuffle RandomGamma RandomPoissonV2"
    " ParameterizedTruncatedNormal Multinomial"
)
# Those whose only operand is a shape or constants: pending operations cannot change what they draw.
SHAPE_ONLY_RANDOM_OPS = names("RandomUniform RandomUniformInt RandomStandardNormal TruncatedNormal")


def is_total_op(name: str, floating: bool) -> bool:
    """Whether the operation can never fail on values; `floating`: its first operand is floating-point or complex."""
    if name in TOTAL_OPS or name in VARIABLE_READ_OPS or name in VARIABLE_WRITE_OPS:
        return True
    return floating and name in TOTAL_FLOAT_OPS


def has_random_floats(name: str) -> bool:
    """Whether XLA would draw other numbers than TensorFlow's kernels for this operation."""
    return name.startswith("Stateless") or name in STATEFUL_RANDOM_OPS
