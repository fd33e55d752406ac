"""torch.nn's layers as data: constructor arguments, parameters, and the function each applies."""

from __future__ import annotations

from dataclasses import dataclass

from stridelint.linter.inference.objects import Arguments, Instance
from stridelint.linter.inference.path import Path
from stridelint.linter.inference.torch_api.constants import device_name, dtype_name
from stridelint.linter.inference.torch_api.layer_parameters import COUNTER, parameters_of, switches
from stridelint.linter.inference.values import FALSE, NONE, Constant, Sequence, Unknown, Value, as_dim, is_none
from stridelint.rules.contract.dtypes import kind_of
from stridelint.rules.contract.facts import TensorFacts
from stridelint.rules.contract.generic import strides_in_order


@dataclass(frozen=True)
class Layer:
    """signature: constructor arguments in order. function: what a call applies. passed: constructor arguments that are
    passed on to the function by keyword. parameters: names of the tensors passed after the input, in order; named: by keyword.
    inputs: how many tensors a call takes. fixed: further arguments of the function."""

    signature: tuple[str, ...]
    function: str = ""
    passed: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    inputs: int = 1
    fixed: tuple[tuple[str, object], ...] = ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_CONV = _words("in_channels out_channels kernel_size stride padding dilation groups bias padding_mode device dtype")
_CONV_TRANSPOSE = _words(
    "in_channels out_channels kernel_size stride padding output_padding groups bias dilation padding_mode device dtype"
)
_BATCH_NORM = _words("num_features eps momentum affine track_running_stats device dtype")
_MAX_POOL = _words("kernel_size stride padding dilation return_indices ceil_mode")
_AVG_POOL = _words("kernel_size stride padding ceil_mode count_include_pad divisor_override")
_F = "nn.functional."

LAYERS: dict[str, Layer] = {
    **{
        f"Conv{n}d": Layer(_CONV, f"{_F}conv{n}d", _words("stride padding dilation groups"), ("weight", "bias"))
        for n in (1, 2, 3)
    },
    **{
        f"ConvTranspose{n}d": Layer(
            _CONV_TRANSPOSE,
            f"{_F}conv_transpose{n}d",
            _words("stride padding output_padding groups dilation"),
            ("weight", "bias"),
        )
        for n in (1, 2, 3)
    },
    "Linear": Layer(_words("in_features out_features bias device dtype"), f"{_F}linear", (), ("weight", "bias")),
    "Embedding": Layer(
        _words("num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse device dtype"),
        f"{_F}embedding",
        (),
        ("weight",),
    ),
    **{
        f"BatchNorm{n}d": Layer(_BATCH_NORM, f"{_F}batch_norm", (), ("running_mean", "running_var", "weight", "bias"))
        for n in (1, 2, 3)
    },
    "SyncBatchNorm": Layer(_BATCH_NORM, f"{_F}batch_norm", (), ("running_mean", "running_var", "weight", "bias")),
    **{f"InstanceNorm{n}d": Layer(_BATCH_NORM, f"{_F}instance_norm") for n in (1, 2, 3)},
    "GroupNorm": Layer(
        _words("num_groups num_channels eps affine device dtype"),
        f"{_F}group_norm",
        ("num_groups",),
        (),
        ("weight", "bias"),
    ),
    "LayerNorm": Layer(
        _words("normalized_shape eps elementwise_affine bias device dtype"),
        f"{_F}layer_norm",
        ("normalized_shape",),
        (),
        ("weight", "bias"),
    ),
    **{
        f"MaxPool{n}d": Layer(
            _MAX_POOL, f"{_F}max_pool{n}d", _words("kernel_size stride padding dilation ceil_mode return_indices")
        )
        for n in (1, 2, 3)
    },
    **{
        f"AvgPool{n}d": Layer(_AVG_POOL, f"{_F}avg_pool{n}d", _words("kernel_size stride padding ceil_mode"))
        for n in (1, 2, 3)
    },
    **{
        f"Adaptive{k}Pool{n}d": Layer(("output_size",), f"{_F}adaptive_{k.lower()}_pool{n}d", ("output_size",))
        for k in ("Avg", "Max")
        for n in (1, 2, 3)
    },
    "Upsample": Layer(
        _words("size scale_factor mode align_corners"), f"{_F}interpolate", _words("size scale_factor mode")
    ),
    "UpsamplingNearest2d": Layer(_words("size scale_factor"), f"{_F}interpolate", _words("size scale_factor")),
    "UpsamplingBilinear2d": Layer(_words("size scale_factor"), f"{_F}interpolate", _words("size scale_factor")),
    "PixelShuffle": Layer(("upscale_factor",), f"{_F}pixel_shuffle", ("upscale_factor",)),
    "PixelUnshuffle": Layer(("downscale_factor",), f"{_F}pixel_unshuffle", ("downscale_factor",)),
    "Softmax": Layer(("dim",), f"{_F}softmax", ("dim",)),
    "LogSoftmax": Layer(("dim",), f"{_F}log_softmax", ("dim",)),
    "Dropout": Layer(_words("p inplace"), f"{_F}dropout"),
    "Dropout2d": Layer(_words("p inplace"), f"{_F}dropout2d"),
    "Dropout3d": Layer(_words("p inplace"), f"{_F}dropout3d"),
    "PReLU": Layer(_words("num_parameters init device dtype"), f"{_F}prelu", (), ("weight",)),
    "GLU": Layer(("dim",), f"{_F}glu", ("dim",)),
    "LeakyReLU": Layer(_words("negative_slope inplace"), f"{_F}leaky_relu"),
    "ELU": Layer(_words("alpha inplace"), f"{_F}elu"),
    "Hardtanh": Layer(_words("min_val max_val inplace"), f"{_F}hardtanh"),
    "GELU": Layer(("approximate",), f"{_F}gelu"),
    **{
        name: Layer(("inplace",), f"{_F}{function}")
        for name, function in {
            "ReLU": "relu",
            "ReLU6": "relu6",
            "SiLU": "silu",
            "Mish": "mish",
            "SELU": "selu",
            "CELU": "celu",
            "Hardswish": "hardswish",
            "Hardsigmoid": "hardsigmoid",
        }.items()
    },
    "Softmax2d": Layer((), f"{_F}softmax", fixed=(("dim", -3),)),
    "AlphaDropout": Layer(_words("p inplace"), f"{_F}alpha_dropout"),
    "ChannelShuffle": Layer(("groups",), f"{_F}channel_shuffle", ("groups",)),
    "Threshold": Layer(_words("threshold value inplace"), f"{_F}threshold", _words("threshold value")),
    "Hardshrink": Layer(("lambd",), f"{_F}hardshrink"),
    "Softshrink": Layer(("lambd",), f"{_F}softshrink"),
    "Tanhshrink": Layer((), f"{_F}tanhshrink"),
    "LocalResponseNorm": Layer(_words("size alpha beta k"), f"{_F}local_response_norm", ("size",)),
    "RMSNorm": Layer(
        _words("normalized_shape eps elementwise_affine device dtype"),
        f"{_F}rms_norm",
        ("normalized_shape",),
        (),
        ("weight",),
    ),
    "Bilinear": Layer(
        _words("in1_features in2_features out_features bias device dtype"),
        f"{_F}bilinear",
        (),
        ("weight", "bias"),
        inputs=2,
    ),
    "Fold": Layer(
        _words("output_size kernel_size dilation padding stride"),
        f"{_F}fold",
        _words("output_size kernel_size dilation padding stride"),
    ),
    "Unfold": Layer(
        _words("kernel_size dilation padding stride"), f"{_F}unfold", _words("kernel_size dilation padding stride")
    ),
    **{
        f"{kind}Pad{n}d": Layer(_words("padding value"), f"{_F}pad", fixed=(("mode", mode),))
        for n in (1, 2, 3)
        for kind, mode in (
            ("Zero", "constant"),
            ("Constant", "constant"),
            ("Reflection", "reflect"),
            ("Replication", "replicate"),
            ("Circular", "circular"),
        )
    },
    "CosineSimilarity": Layer(_words("dim eps"), f"{_F}cosine_similarity", _words("dim eps"), inputs=2),
    "PairwiseDistance": Layer(_words("p eps keepdim"), f"{_F}pairwise_distance", _words("p eps keepdim"), inputs=2),
    **{
        name: Layer(_words(before), f"{_F}{function}", ("reduction",), inputs=2)
        for name, before, function in (
            ("MSELoss", "size_average reduce reduction", "mse_loss"),
            ("L1Loss", "size_average reduce reduction", "l1_loss"),
            ("SmoothL1Loss", "size_average reduce reduction beta", "smooth_l1_loss"),
            ("HuberLoss", "reduction delta", "huber_loss"),
            ("BCELoss", "weight size_average reduce reduction", "binary_cross_entropy"),
            ("BCEWithLogitsLoss", "weight size_average reduce reduction", "binary_cross_entropy_with_logits"),
            ("KLDivLoss", "size_average reduce reduction log_target", "kl_div"),
            ("CrossEntropyLoss", "weight size_average ignore_index reduce reduction", "cross_entropy"),
            ("NLLLoss", "weight size_average ignore_index reduce reduction", "nll_loss"),
        )
    },
    **dict.fromkeys(
        ("LSTM", "GRU", "RNN"),
        Layer(
            _words("input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size device dtype")
        ),
    ),
    **dict.fromkeys(
        ("LSTMCell", "GRUCell", "RNNCell"), Layer(_words("input_size hidden_size bias nonlinearity device dtype"))
    ),
    "MultiheadAttention": Layer(
        _words("embed_dim num_heads dropout bias add_bias_kv add_zero_attn kdim vdim batch_first device dtype")
    ),
    **dict.fromkeys(
        ("TransformerEncoderLayer", "TransformerDecoderLayer"),
        Layer(
            _words(
                "d_model nhead dim_feedforward dropout activation layer_norm_eps batch_first norm_first bias device dtype"
            )
        ),
    ),
    "Sigmoid": Layer((), "sigmoid"),
    "Tanh": Layer((), "tanh"),
    "Softplus": Layer(_words("beta threshold"), f"{_F}softplus"),
    "Softsign": Layer((), f"{_F}softsign"),
    "LogSigmoid": Layer((), f"{_F}logsigmoid"),
    "Identity": Layer(()),
    "Flatten": Layer(_words("start_dim end_dim")),
    "Unflatten": Layer(_words("dim unflattened_size")),
    "Sequential": Layer(()),
    "ModuleList": Layer(("modules",)),
    "ModuleDict": Layer(("modules",)),
    "DataParallel": Layer(("module",)),
}


def build(path: Path, instance: Instance, name: str, args: Arguments) -> None:
    """Give an object the configuration and tensors of a layer."""
    layer = LAYERS[name]
    config = dict(zip(layer.signature, args.positional))
    config.update(args.keywords)
    instance.config = config
    if args.unknown_star:
        instance.complete = False
    dtype = path.default_dtype
    given = config.get("dtype")
    if given is not None and not is_none(given):
        dtype = dtype_name(given)
    place = config.get("device")
    device = path.default_device if place is None or is_none(place) else device_name(place)
    for key, (shape, is_parameter) in parameters_of(path, name, config).items():
        has = _has(path, name, key, config)
        if has is False:
            instance.attributes[key] = NONE
            continue
        if has is None and not is_parameter:
            instance.attributes[key], instance.complete = Unknown(key), False
            continue
        strides = None if shape is None else strides_in_order(shape, range(len(shape)))
        held = "int64" if key == COUNTER else dtype
        facts = TensorFacts(shape, strides, 0, held, kind_of(held) if held else "float", device, is_parameter, True)
        tensor = path.tensor(facts)
        tensor.is_parameter, tensor.is_buffer = is_parameter, not is_parameter
        tensor.name = f"{name}.{key}"
        instance.attributes[key] = tensor
    _public_configuration(instance, name, config)


def _has(path: Path, name: str, key: str, config: dict[str, Value]) -> bool | None:
    """Whether a layer has this tensor, or None in its place; None where that is not known."""
    told = [
        path.known_truth(config[switch]) if switch in config else default
        for switch, default in switches(name, key).items()
    ]
    return False if False in told else None if None in told else True


def _public_configuration(instance: Instance, name: str, config: dict[str, Value]) -> None:
    """`conv.out_channels`, `conv.stride`, ...: readable attributes; numbers per axis are tuples."""
    axes = int(name[-2]) if name[-1] == "d" and name[-2].isdigit() else 0
    defaults: dict[str, Value] = {}
    if name.startswith("Conv"):
        defaults = {"stride": Constant(1), "padding": Constant(0), "dilation": Constant(1), "groups": Constant(1)}
    elif "Pool" in name:
        defaults = {"padding": Constant(0)}
    for key, value in {**defaults, **config}.items():
        if key in ("bias", "device", "dtype", "inplace") or key in instance.attributes:
            continue
        spread = name.startswith("Conv") and key in ("kernel_size", "stride", "padding", "dilation")
        instance.attributes[key] = Sequence([value] * axes) if spread and as_dim(value) is not None else value


def padding_of(name: str, given: Value | None) -> Value:
    """The padding of a layer such as ZeroPad2d(1) as `F.pad` takes it: two numbers per axis."""
    axes = int(name[-2])
    return (
        Sequence([given] * (2 * axes))
        if given is not None and as_dim(given) is not None
        else given or Unknown("padding")
    )


def is_inplace(path: Path, instance: Instance) -> bool:
    """Built with inplace=True."""
    value = instance.config.get("inplace", FALSE)
    return path.known_truth(value) is True
