"""Small wrong changes of a module, one at a time, which a meaningful test should notice.

    mutants_of(path) ─► Mutant(line, was, becomes) ─► code() of the whole module with that one change

Each belongs to one statement inside a function. Some change an operator, a comparison, a condition or a constant; the
general one changes a value slightly (tests/campaigns/nudges.py), which a test that only runs the line does not notice.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any

# Code that is not changed, with the reason.
SPARED = {
    "raise": "only the message of an error; the raise itself is removed, except for NotImplementedError",
    "assert": "for the reader and the type checker",
    "import": "without it nothing runs",
    "with": "the object is used inside the block and changed there; locks would need concurrent threads",
    "f-string": "parts of a text; the complete text is changed",
    "np.empty": "it has no content yet; its size is changed",
}
# Arguments that affect only speed or memory.
FOR_SPEED = {"copy", "check_finite", "overwrite_a", "overwrite_b", "out", "cache"}
SWAPS: dict[type, type] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
    **{ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}
NAMES = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax", "left": "right"}
NAMES |= {other: name for name, other in NAMES.items()}

Edit = tuple[ast.AST, str, Any]  # node, field, new value


@dataclass(frozen=True)
class Mutant:
    """One change of one statement."""

    path: Path
    place: int  # index among all changes of the module
    first: int  # lines of the statement (only the head of a compound statement)
    last: int
    function: str
    statement: str
    change: str

    def code(self) -> CodeType:
        """Compile the whole module with the change."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        _, (node, name, value) = next(islice(_changes(tree), self.place, None))
        _put(node, name, value)
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec", dont_inherit=True)


def mutants_of(path: Path, seed: int = 0) -> list[list[Mutant]]:
    """Return all mutants of a module, one shuffled list per statement."""
    chance = random.Random(f"{path.name} {seed}")
    statements: dict[int, list[Mutant]] = {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for index, ((statement, function), (node, name, value)) in enumerate(_changes(tree)):
        body = getattr(statement, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) else statement.end_lineno
        display = node if isinstance(node, ast.expr | ast.keyword | ast.comprehension) else statement
        before, text = _text(display), _text(statement)
        was = _put(node, name, value)
        after = "(gone)" if was is statement else _text(display)
        _put(node, name, was)
        change = f"{before} → {after}"
        mutant = Mutant(path, index, statement.lineno, max(last, statement.lineno), function, text, change)
        statements.setdefault(id(statement), []).append(mutant)
    for mutants in statements.values():
        chance.shuffle(mutants)
    return list(statements.values())


def _put(node: ast.AST, name: Any, value: Any) -> Any:
    """Set a field, or one item of a list field; return the old value."""
    container, key = (node.__dict__, name) if isinstance(name, str) else (getattr(node, name[0]), name[1])
    was, container[key] = container[key], value
    return was


def _text(node: ast.AST) -> str:
    """Return a node as one line of text; only the head of a compound statement."""
    return " ".join(ast.unparse(node).partition(":\n")[0].split())


def _changes(tree: ast.Module) -> Iterator[tuple[tuple[ast.stmt, str], Edit]]:
    """Yield all changes, always in the same order."""
    for function, owner, name, index in _statements(tree):
        statement = getattr(owner, name)[index]
        for edit in _edits(owner, name, index, statement):
            yield (statement, function), edit


def _statements(node: ast.AST, function: str = "", inside: bool = False) -> Iterator[tuple[str, ast.AST, str, int]]:
    for name, value in ast.iter_fields(node):
        if not isinstance(value, list):
            continue
        for index, child in enumerate(value):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                qualified = f"{function}.{child.name}".lstrip(".")
                yield from _statements(child, qualified, inside or isinstance(child, ast.FunctionDef))
            elif isinstance(child, ast.stmt):
                if inside:
                    yield function, node, name, index
                yield from _statements(child, function, inside)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _statements(child, function, inside)


def _edits(owner: ast.AST, name: str, index: int, statement: ast.stmt) -> Iterator[Edit]:
    removed = ast.If(ast.Constant(False), [statement], [])  # keeps the scope of its names
    match statement:
        case ast.Expr(ast.Constant()) | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Global():
            return
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield owner, (name, index), removed
        case ast.Expr(ast.Yield(value=value) as node) if value is not None:
            yield from _nudges(node, value)
            yield from _inside(statement.value)
        case ast.Expr():
            yield owner, (name, index), removed
            yield from _inside(statement.value)
        case ast.If(test=test) | ast.While(test=test):
            if not isinstance(test, ast.UnaryOp) and not _is_typing(test):
                yield statement, "test", ast.UnaryOp(ast.Not(), test)
            if not _is_typing(test):
                yield from _inside(test, statement, "test")
        case ast.For(iter=iterable):
            yield statement, "iter", ast.Call(ast.Name("__without_first__", ast.Load()), [iterable], [])
            yield from _inside(iterable)
        case ast.AugAssign(op=op, value=value):
            if type(op) in SWAPS:
                yield statement, "op", SWAPS[type(op)]()
            yield from _nudges(statement, value)
            yield from _inside(value)
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value=value) if value is not None:
            if not isinstance(value, ast.Constant | ast.UnaryOp | ast.Lambda) and not _is_empty(value):
                yield from _nudges(statement, value)
            yield from _inside(value, statement, "value")
        case ast.With(items=items):
            for item in items:
                yield from _inside(item.context_expr)


def _nudges(owner: ast.AST, value: ast.expr) -> Iterator[Edit]:
    """Yield changes of a value at its end and at its beginning."""
    for more in ([], [ast.Constant(0)]):
        yield owner, "value", ast.Call(ast.Name("__nudged__", ast.Load()), [value, *more], [])


def _is_empty(value: ast.expr) -> bool:
    text = ast.unparse(value)
    return "np.empty" in text or text in ("()", "[]", "{}", "set()", "([], [])")


def _is_typing(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _inside(node: ast.AST, owner: ast.AST | None = None, name: Any = None) -> Iterator[Edit]:
    """Yield changes of an expression that is a field of its owner."""
    match node:
        case ast.JoinedStr() | ast.Lambda(body=ast.JoinedStr()):
            return
        case ast.keyword(arg=arg) if arg in FOR_SPEED:
            return
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS and not _is_text(node):
            yield node, "op", SWAPS[type(op)]()
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                yield node, ("ops", index), SWAPS[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand) if owner is not None:
            yield owner, name, operand
        case ast.IfExp(test=test):
            yield node, "test", ast.UnaryOp(ast.Not(), test)
        case ast.comprehension(ifs=ifs):
            for index, test in enumerate(ifs):
                yield node, ("ifs", index), ast.UnaryOp(ast.Not(), test)
        case ast.Call(func=ast.Name(id=word) as function) if word in NAMES:
            yield function, "id", NAMES[word]
        case ast.Call(func=ast.Attribute(attr=word) as function) if word in NAMES:
            yield function, "attr", NAMES[word]
        case ast.Constant(value=bool(value)):
            yield node, "value", not value
        case ast.Constant(value=int(value)):
            yield node, "value", value + 1
        case ast.Constant(value=float(value)):
            yield node, "value", value * 1.1 if value else 0.01
        case ast.Constant(value=str(value)) if value in NAMES:
            yield node, "value", NAMES[value]
    for field, content in ast.iter_fields(node):
        if field in ("annotation", "returns", "slice") and isinstance(node, ast.AnnAssign):
            continue
        for index, child in enumerate(content) if isinstance(content, list) else [(None, content)]:
            if isinstance(child, ast.expr | ast.keyword | ast.comprehension):
                yield from _inside(child, node, field if index is None else (field, index))


def _is_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.JoinedStr | ast.Constant) and not _is_number(part) for part in ast.walk(node))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
