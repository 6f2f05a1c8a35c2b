"""The calls that stand in the rooms of the package."""

import ast

from house import nodes_of, parsed, rooms


def calls(texts=None):
    """(room, name, "room:line", number of arguments) of every call of a plain name."""
    for room, text in (rooms() if texts is None else texts).items():
        for node in nodes_of(parsed(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield room, node.func.id, f"{room}:{node.lineno}", len(node.args)
