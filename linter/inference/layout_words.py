"""Functions and attributes by what they make of a tensor's memory layout, for values that are followed by the way code is written."""

from __future__ import annotations

# Names of modules whose functions these are.
MODULES = frozenset(
    """torch F functional nn.functional torch.nn.functional torch.linalg torch.testing testing np.testing numpy.testing
    torch.special""".split()
)
# The result has the layout of the operands, and their numbers one by one.
ELEMENTWISE = frozenset(
    """abs absolute add addcdiv addcmul bitwise_and bitwise_or bitwise_xor bool clamp clamp_max clamp_min clip clone cpu cuda detach div
    divide double eq exp expm1 flatten float fmax fmin ge gt half int isclose isfinite isinf isnan le lerp log log1p log2 logical_and
    logical_not logical_or logical_xor long lt masked_fill maximum minimum mul multiply nan_to_num ne neg pow ravel reciprocal relu
    remainder round rsqrt sigmoid sign softmax log_softmax sqrt square sub subtract tanh threshold to true_divide type where""".split()
)
# Few numbers are made of all, the same in any order.
EXACT = frozenset("all amax amin any argmax argmin count_nonzero max min item tolist median".split())
# Few numbers, rounded in the order in which they lie in memory.
ROUNDED = frozenset("mean nanmean nansum norm prod std sum var vector_norm logsumexp".split())
# Only the numbers of two tensors are compared.
VALUES = frozenset("equal allclose assert_close assert_allclose assert_array_equal assert_almost_equal".split())
LOSSES = frozenset(
    """binary_cross_entropy binary_cross_entropy_with_logits cross_entropy gaussian_nll_loss huber_loss kl_div l1_loss mse_loss nll_loss
    poisson_nll_loss smooth_l1_loss soft_margin_loss""".split()
)
# They tell nothing of the strides.
SIZES = frozenset(
    "shape dtype device ndim requires_grad size dim numel nelement ndimension is_floating_point backward".split()
)
INDICES = frozenset({"indices"})
# Functions whose second result are the places of the first in the axis.
PAIRS = frozenset("topk sort max min kthvalue median mode cummax cummin".split())
# Python's own.
PLAIN = frozenset("abs float int bool len isinstance type".split())
# What a reduction may be told other than axes.
SETTINGS = frozenset({"dtype", "p", "ord", "correction", "unbiased"})
