"""Shapes of the parameters and buffers that torch.nn's layers hold."""

from __future__ import annotations

from stridelint.linter.inference.path import Path
from stridelint.linter.inference.values import Sequence, Unknown, Value, as_dim, as_dims, as_size
from stridelint.rules.contract import sizes
from stridelint.rules.contract.facts import Dim, Dims

# Counts batches, in int64 whatever the layer's dtype.
COUNTER = "num_batches_tracked"
_AFFINE = {"LayerNorm": "elementwise_affine", "RMSNorm": "elementwise_affine"}
_WITH_BIAS = ("Conv", "Linear", "Bilinear")


def switches(name: str, key: str) -> dict[str, bool]:
    """The arguments of a layer's constructor, with their defaults, that have to be true for it to have this tensor."""
    if "Norm" not in name:
        return {"bias": True} if key == "bias" and name.startswith(_WITH_BIAS) else {}
    default = not name.startswith("InstanceNorm")
    if key not in ("weight", "bias"):
        return {"track_running_stats": default}
    affine = {_AFFINE.get(name, "affine"): default}
    return {**affine, "bias": True} if key == "bias" else affine


def parameters_of(path: Path, name: str, config: dict[str, Value]) -> dict[str, tuple[Dims | None, bool]]:
    """Shapes of a layer's tensors; the flag tells parameters from buffers."""

    def dim(key: str, default: Dim | None = None) -> Dim:
        if isinstance(config.get(key), Unknown):
            return as_size(config[key])
        value = as_dim(config[key]) if key in config else default
        return value if value is not None else sizes.Size.fresh(key)

    found: dict[str, tuple[Dims | None, bool]] = {}
    if name.startswith("Conv"):
        axes = int(name[-2])
        given = config.get("kernel_size")
        kernel = as_dims(given) if isinstance(given, Sequence) else (dim("kernel_size"),) * axes
        kernel = (
            kernel
            if kernel is not None and len(kernel) == axes
            else tuple(sizes.Size.fresh("kernel") for _ in range(axes))
        )
        first, second = ("in_channels", "out_channels") if "Transpose" in name else ("out_channels", "in_channels")
        per_group = sizes.floor_divide(dim(second), dim("groups", 1))
        found["weight"] = (
            (dim(first), per_group if per_group is not None else sizes.Size.fresh("channels"), *kernel),
            True,
        )
        found["bias"] = ((dim("out_channels"),), True)
    elif name == "Linear":
        found["weight"] = ((dim("out_features"), dim("in_features")), True)
        found["bias"] = ((dim("out_features"),), True)
    elif name == "Embedding":
        found["weight"] = ((dim("num_embeddings"), dim("embedding_dim")), True)
    elif "BatchNorm" in name or name.startswith("InstanceNorm"):
        size = (dim("num_features"),)
        found.update(weight=(size, True), bias=(size, True), running_mean=(size, False), running_var=(size, False))
        found[COUNTER] = ((), False)
    elif name == "GroupNorm":
        found.update(weight=((dim("num_channels"),), True), bias=((dim("num_channels"),), True))
    elif name in ("LayerNorm", "RMSNorm"):
        given = config.get("normalized_shape")
        shape = as_dims(given) if isinstance(given, Sequence) else (dim("normalized_shape"),)
        found.update(weight=(shape, True), bias=(shape, True))
        if name == "RMSNorm":
            del found["bias"]
    elif name == "Bilinear":
        found["weight"] = ((dim("out_features"), dim("in1_features"), dim("in2_features")), True)
        found["bias"] = ((dim("out_features"),), True)
    elif name in ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"):
        gates = {"L": 4, "G": 3}.get(name[0], 1)
        suffix = "" if name.endswith("Cell") else "_l0"
        rows = sizes.multiply(dim("hidden_size"), gates)
        found[f"weight_ih{suffix}"] = ((rows, dim("input_size")), True)
        found[f"weight_hh{suffix}"] = ((rows, dim("hidden_size")), True)
        found[f"bias_ih{suffix}"] = found[f"bias_hh{suffix}"] = ((rows,), True)
    elif name == "MultiheadAttention":
        width = dim("embed_dim")
        found["in_proj_weight"] = ((sizes.multiply(width, 3), width), True)
        found["in_proj_bias"] = ((sizes.multiply(width, 3),), True)
    elif name.startswith("Transformer"):
        found["linear1.weight"] = ((dim("dim_feedforward", 2048), dim("d_model")), True)
    elif name == "PReLU":
        found["weight"] = ((dim("num_parameters", 1),), True)
    return found
