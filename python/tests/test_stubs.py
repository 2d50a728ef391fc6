"""The type stubs say what the modules have: names, parameters, which of them have defaults or must be named."""

import ast
import importlib
import inspect
import pathlib

import pytest

import gpusolve

FOLDER = pathlib.Path(gpusolve.__file__).parent
STUBS = sorted(path.relative_to(FOLDER) for path in FOLDER.rglob("*.pyi"))


def module_of(stub):
    return importlib.import_module(".".join(["gpusolve", *stub.with_suffix("").parts]))


def parameters_of_stub(function):
    """(name, kind, whether it has a default) of each parameter."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    result = [(p.arg, "positional", k >= len(positional) - len(a.defaults)) for k, p in enumerate(positional)]
    result += [(a.vararg.arg, "*", False)] if a.vararg else []
    result += [(p.arg, "named", d is not None) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    return result + ([(a.kwarg.arg, "**", False)] if a.kwarg else [])


def parameters_of(function):
    kinds = {"POSITIONAL_ONLY": "positional", "POSITIONAL_OR_KEYWORD": "positional", "VAR_POSITIONAL": "*", "KEYWORD_ONLY": "named",
             "VAR_KEYWORD": "**"}
    return [(p.name, kinds[p.kind.name], p.default is not p.empty) for p in inspect.signature(function).parameters.values()]


def check(function, thing, where):
    """A definition of a stub beside what the module has. An overload may leave a default out."""
    said, there = parameters_of_stub(function), parameters_of(thing)
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    if "overload" in decorators:
        said, there = [s[:2] for s in said], [t[:2] for t in there]
    assert said == there, where


@pytest.mark.parametrize("stub", STUBS, ids=str)
def test_stub(stub):
    module = module_of(stub)
    tree = ast.parse((FOLDER / stub).read_text(encoding="utf-8"))
    checked = 0
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            check(node, getattr(module, node.name), node.name)
            checked += 1
        elif isinstance(node, ast.ClassDef):
            kind = getattr(module, node.name)
            for member in node.body:
                if not isinstance(member, ast.FunctionDef):
                    continue
                where = f"{node.name}.{member.name}"
                thing = inspect.getattr_static(kind, member.name)
                is_property = any(ast.unparse(d) == "property" for d in member.decorator_list)
                assert isinstance(thing, property) == is_property, where
                if not is_property and member.name != "__exit__":
                    thing = thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing
                    check(member, thing, where)
            checked += 1
    assert checked > 0


@pytest.mark.parametrize("stub", STUBS, ids=str)
def test_nothing_public_is_left_out(stub):
    module = module_of(stub)
    tree = ast.parse((FOLDER / stub).read_text(encoding="utf-8"))
    classes = {node.name: {member.name for member in node.body if isinstance(member, ast.FunctionDef)} for node in tree.body
               if isinstance(node, ast.ClassDef)}
    names = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    names |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}
    public = getattr(module, "__all__", None) or [name for name, thing in vars(module).items() if not name.startswith("_")
                                                  and getattr(thing, "__module__", None) == module.__name__]
    assert set(public) <= names
    for name, members in classes.items():
        kind = getattr(module, name)
        own = {part for part, thing in vars(kind).items() if not part.startswith("_") and (callable(thing) or isinstance(
            thing, (property, classmethod, staticmethod)))}
        assert own <= members, name
