"""Gates for the readability of the source: words, names, density and size. The table below has the limits.

A gate that fails lists the worst places. Lower a limit when the code gets better; raising one needs a reason.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "undistract"

LIMITS = {
    "modules": 136,  # target 135
    "lines": 30_900,  # target 27 000
    "modules with one importer": 15,
    "dialect words per 1000": 1.5,
    "vague names per 100": 1.0,
    "names of the former dialect": 13,  # target 0
    "conditional expressions per 1000": 15.0,
    "dialect words per 1000 in tests": 3.0,
    "dialect words per 1000 in pages": 2.0,
}
# Comment lines per 1000 lines of code: at least.
LEAST_COMMENTS = 26.0  # target 30

# Words of the project's former private dialect, with the plain word to use.
DIALECT = {
    "anew": "again",
    "at hand": "available",
    "so many": "a number, such as n rows",
    "so much": "a number",
    "told": "passed, shown, reported",
    "tells?": "shows, reports",
    "whoever": "the caller",
    "nobody": "no user, no caller",
    "somebody": "a user, a person",
    "stands?(?!-in)": "is",
    "says?": "shows, states",
    "speaks?": "shows",
    "beside": "next to",
    "besides": "also, in addition",
    "lies?": "is",
    "asked": "requested",
    "refuses?": "rejects, raises",
    "gives? back": "returns, restores",
    "at home": "on the host",
    "from where on": "the threshold",
    "whatever": "any",
    "no more than": "at most",
    "for the next time": "for later runs",
    "of its own": "separate",
    "in its place": "instead",
    "what distracts": "nuisance",
    "once more": "again",
    "in turn": "one after another",
    "where there": "if there",
    "goes by itself": "is removed automatically",
    "mends?": "fixes",
    "mended": "fixed",
    "in words": "as text",
    "rests?": "remainder, depends",
    "rivals?": "baseline, competitor",
    "roads?": "code path, solver",
    "rooms?": "package",
    "doors?": "entry point",
}
DIALECT_PATTERN = re.compile(rf"\b(?:{'|'.join(DIALECT)})\b")

# Pronouns, participles and adverbs that do not say what a variable holds.
VAGUE_TEXT = """
apart asked begun beside every found given gone held here kept known left made now one piece pieces place places
rest said seen shown some then there thing told wanted way what when which whole why words
"""
VAGUE = frozenset(VAGUE_TEXT.split())

# Parts of names of modules, classes and functions that no newcomer would search for.
NAME_PARTS_TEXT = "anew asked beside desk door lesson mended nobody road room somebody taught told whoever"
NAME_PARTS = frozenset(NAME_PARTS_TEXT.split())

# Allowed uses, removed from the text before the count: the phrase and the reason.
ALLOWED: dict[str, str] = {
    "REST": "the architecture of web services",
    "lies in [": "membership in an interval, as in mathematics",
}


@dataclass(frozen=True)
class Module:
    """One parsed file of the source."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        parts = ["undistract", *self.path.relative_to(SOURCE).with_suffix("").parts]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


@cache
def modules() -> tuple[Module, ...]:
    paths = sorted(SOURCE.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return tuple(Module(path, text, ast.parse(text)) for path, text in zip(paths, texts, strict=True))


def prose(tree: ast.AST, text: str) -> Iterator[str]:
    """Yield what people read: docstrings without examples, comments, messages and help texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (ast.get_docstring(node) or "").splitlines()
            yield "\n".join(line for line in lines if not line.strip().startswith((">>>", "...")))
        elif isinstance(node, ast.Raise):
            yield from _strings(node)
        elif isinstance(node, ast.Call):
            yield from _call_texts(node)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def _strings(node: ast.AST) -> Iterator[str]:
    for leaf in ast.walk(node):
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
            yield leaf.value


def _call_texts(call: ast.Call) -> Iterator[str]:
    """Yield warnings, and help texts of options."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if function == "warn":
        for argument in call.args[:1]:
            yield from _strings(argument)
    for keyword in call.keywords:
        if keyword.arg == "help":
            yield from _strings(keyword.value)


def dialect_hits(text: str) -> list[str]:
    for phrase in ALLOWED:
        text = text.replace(phrase, " ")
    return DIALECT_PATTERN.findall(text.lower())


def n_words(text: str) -> int:
    return len(re.findall(r"[a-z']+", text.lower()))


def density(texts: dict[str, str]) -> tuple[float, str]:
    """Return dialect words per 1000 words, and the files with most of them."""
    hits = {name: dialect_hits(text) for name, text in texts.items()}
    total = sum(map(len, hits.values()))
    worst = sorted(hits.items(), key=lambda item: -len(item[1]))[:8]
    lines = [f"  {name}: {', '.join(sorted(set(words)))} ({len(words)})" for name, words in worst if words]
    return 1000 * total / max(1, sum(map(n_words, texts.values()))), "\n".join(lines)


def test_prose_of_the_source_is_plain():
    texts = {str(module.path.relative_to(ROOT)): "\n".join(prose(module.tree, module.text)) for module in modules()}
    value, worst = density(texts)
    assert value <= LIMITS["dialect words per 1000"], f"{value:.1f} dialect words per 1000:\n{worst}"


def test_prose_of_the_tests_is_plain():
    texts = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        names = [
            node.name.replace("_", " ") for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        if path != Path(__file__):  # this file quotes the words
            texts[str(path.relative_to(ROOT))] = "\n".join([*prose(tree, text), *names])
    value, worst = density(texts)
    assert value <= LIMITS["dialect words per 1000 in tests"], f"{value:.1f} dialect words per 1000:\n{worst}"


def test_prose_of_the_pages_is_plain():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    # Code is checked where it lives.
    texts = {
        str(page.relative_to(ROOT)): re.sub(
            r"```.*?```|`[^`]*`", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        for page in pages
    }
    value, worst = density(texts)
    assert value <= LIMITS["dialect words per 1000 in pages"], f"{value:.1f} dialect words per 1000:\n{worst}"


def bindings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name and line of each variable and argument."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def test_variables_say_what_they_hold():
    total = 0
    vague = []
    for module in modules():
        for name, line in bindings(module.tree):
            total += 1
            if name in VAGUE:
                vague.append(f"  {module.path.relative_to(ROOT)}:{line} {name}")
    value = 100 * len(vague) / total
    assert value <= LIMITS["vague names per 100"], f"{value:.1f} % vague names, such as\n" + "\n".join(vague[:30])


def test_names_of_modules_classes_and_functions_come_from_the_field():
    offending = []
    for module in modules():
        names = [module.path.stem]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.append(node.name)
        for name in names:
            parts = set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))
            if parts & NAME_PARTS:
                offending.append(f"{module.path.relative_to(ROOT)}: {name}")
    assert len(offending) <= LIMITS["names of the former dialect"], offending


@cache
def code_lines() -> tuple[int, int]:
    """Return the number of lines of code and of comments, without docstrings."""
    code = 0
    comments = 0
    for module in modules():
        inside = set()
        for node in ast.walk(module.tree):
            documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if documented and ast.get_docstring(node):
                first = node.body[0]
                inside.update(range(first.lineno, first.end_lineno + 1))
        for number, line in enumerate(module.text.splitlines(), 1):
            if line.strip() and number not in inside:
                if line.strip().startswith("#"):
                    comments += 1
                else:
                    code += 1
    return code, comments


def test_conditional_expressions_are_few():
    per_module = Counter()
    for module in modules():
        per_module[str(module.path.relative_to(ROOT))] = sum(
            isinstance(node, ast.IfExp) for node in ast.walk(module.tree)
        )
    value = 1000 * per_module.total() / code_lines()[0]
    assert value <= LIMITS["conditional expressions per 1000"], f"{value:.1f}: {per_module.most_common(10)}"


def test_comments_give_reasons_often_enough():
    code, comments = code_lines()
    assert 1000 * comments / code >= LEAST_COMMENTS


def test_modules_are_few():
    assert sum(not module.is_package for module in modules()) <= LIMITS["modules"]


def test_source_is_small():
    assert sum(module.text.count("\n") for module in modules()) <= LIMITS["lines"]


# Modules of these names register plug-ins, so being the only importer is their purpose.
REGISTRIES = ("registry", "_registry", "commands", "main")


def test_helpers_have_more_than_one_importer():
    """A module that only its neighbour imports is a part of it; plug-ins of a registry are the exception."""
    by_name = {module.name: module for module in modules()}
    importers: dict[str, set[str]] = {}
    for module in modules():
        if module.is_package:
            continue
        for target in _imports(module.tree, set(by_name)):
            if target != module.name:
                importers.setdefault(target, set()).add(module.name)
    single = []
    for name, users in sorted(importers.items()):
        if by_name[name].is_package or len(users) > 1:
            continue
        folder, _, user = next(iter(users)).rpartition(".")
        if name.rpartition(".")[0] == folder and user not in REGISTRIES:
            single.append(f"{name} (by {user})")
    assert len(single) <= LIMITS["modules with one importer"], single


def _imports(tree: ast.AST, names: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                target = submodule if submodule in names else node.module
                if target in names:
                    yield target


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("It says so.", ["says"]),
        ("A stand-in of the detector", []),
        ("The REST interface", []),
        ("The rest is told anew", ["rest", "told", "anew"]),
        ("It lies in [0, 1]", []),
    ],
)
def test_dialect_is_recognised(text, hits):
    assert dialect_hits(text) == hits
