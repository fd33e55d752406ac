"""Cheap questions about a module's stdlib tree: can a rule fire in it at all?

`Nodes` sorts the nodes of a module in one walk, shared by all rules. `Flow` follows, by name and regardless of order,
from where the variables, attributes, parameters and results in an expression may come, in search of some property. It
never misses one that the interpreter would find: a rule's screen may be asked instead of reading the file.
"""

from stridelint.rules.screening.definitions import ANY_NAME, PROTOCOL, Key
from stridelint.rules.screening.expressions import FUNCTIONS, is_text, name_of, of_torch
from stridelint.rules.screening.flow import Flow, Steps, TensorFlow
from stridelint.rules.screening.nodes import IN_PLACE, Nodes, nodes_of

__all__ = [
    "ANY_NAME",
    "FUNCTIONS",
    "IN_PLACE",
    "PROTOCOL",
    "Flow",
    "Key",
    "Nodes",
    "Steps",
    "TensorFlow",
    "is_text",
    "name_of",
    "nodes_of",
    "of_torch",
]
