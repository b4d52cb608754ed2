"""Toolsets: the built-in one, those declared in YAML, and how a suite's ``toolset`` names one."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.findings import Finding, suggestion
from pytest_supportbench.state import State
from pytest_supportbench.toolset import Toolset
from pytest_supportbench.toolset_code import YAML_FILES
from pytest_supportbench.toolsets.declaration_error import DeclarationError

__all__ = ["resolve"]

_FORMS: Final = "write saas, package.module:Class, the name of a YAML file, or a mapping"
_HOOK: Final = (
    "other names are those that the hook pytest_supportbench_toolsets registers, which only pytest calls"
)


def resolve(value: str | dict[str, Any], base: Path, registered: Collection[str] = ()) -> type[Toolset[Any]]:
    """Return the toolset that a suite in the folder ``base`` names.

    ``value`` is ``saas``; ``package.module:Class``, also looked for in ``base``; a YAML file relative to
    ``base`` that declares one; or such a declaration itself. ``registered`` are further names, to suggest one.
    Raises `ToolsetError` with the remedy (a `DeclarationError` with places for a declaration), and `FileError`
    where the YAML file cannot be read. What the module itself raises is the cause of the error.
    """
    if isinstance(value, dict):
        from pytest_supportbench.toolsets.declared import declared  # noqa: PLC0415 - only who declares pays for it

        return declared(value)
    if value == "saas":
        from pytest_supportbench.toolsets.saas import SaasToolset  # noqa: PLC0415 - other toolsets do without it

        return SaasToolset
    if value.endswith(YAML_FILES):
        return resolve(_mapping(base / value), base)
    module_name, colon, class_name = value.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), class_name)):
        close = difflib.get_close_matches(value, ("saas", *registered), n=1)
        msg = (
            f"{value!r} names no toolset; {f'did you mean {close[0]!r}?' if close else f'{_FORMS}; {_HOOK}'}"
        )
        raise ToolsetError(msg)
    return _checked(_imported(module_name, class_name, base), value)


def _mapping(path: Path) -> dict[str, Any]:
    from pytest_supportbench.loading import read_yaml  # noqa: PLC0415 - loading resolves toolsets through us

    if not path.is_file():
        msg = f"there is no toolset file {path}; create it, or {_FORMS}"
        raise ToolsetError(msg)
    data = read_yaml(path)
    if not isinstance(data, dict):
        remedy = "a declared toolset has name, version, state and tools"
        finding = Finding((), "the file holds no mapping", remedy)
        msg = f"{path} holds no mapping; {remedy}"
        raise DeclarationError(msg, (finding,))
    return data


def _imported(module_name: str, class_name: str, base: Path) -> object:
    """Return the class from a module, which may lie in ``base``."""
    sys.path.insert(0, str(base))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except ToolsetError:
        raise
    except (Exception, SystemExit) as error:
        raise ToolsetError(_not_imported(module_name, error, base)) from error
    finally:
        sys.path.remove(str(base))
    _refuse_namesake(module_name, getattr(module, "__file__", None), base)
    found = getattr(module, class_name, None)
    if found is None:
        classes = [
            name
            for name, item in vars(module).items()
            if isinstance(item, type) and issubclass(item, Toolset)
        ]
        close = suggestion(class_name, [name for name in classes if name != "Toolset"], "toolsets in it")
        msg = f"the module {module_name!r} has no {class_name!r}; {close}"
        raise ToolsetError(msg)
    return found


def _not_imported(module_name: str, error: BaseException, base: Path) -> str:
    """Say why a module cannot be imported: it is not there, what it imports is not, or it is broken."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        if f"{module_name}.".startswith(f"{error.name}."):
            return f"there is no module {error.name!r}; install it, or put it into {base}"
        return f"the module {module_name!r} imports {error.name!r}, which is not there; install it, or mend the import"
    text = " ".join(str(error).split())
    return f"the module {module_name!r} cannot be imported ({type(error).__name__}: {text[:300]}); mend it"


def _refuse_namesake(module_name: str, loaded_from: str | None, base: Path) -> None:
    """Refuse a module that another folder gave, where ``base`` has one of that name as well."""
    own = base.joinpath(*module_name.split("."))
    candidates = [own.with_suffix(".py"), own / "__init__.py"]
    expected = next((path for path in candidates if path.is_file()), None)
    if expected is None or (loaded_from is not None and Path(loaded_from).resolve() == expected.resolve()):
        return
    msg = (
        f"the module {module_name!r} was loaded from {loaded_from}, not from {expected}; rename one, since "
        "Python keeps one module of a name"
    )
    raise ToolsetError(msg)


def _checked(found: Any, value: str) -> type[Toolset[Any]]:
    """Return ``found`` as a complete toolset."""
    if not (isinstance(found, type) and issubclass(found, Toolset)):
        msg = f"{value!r} is no subclass of pytest_supportbench.toolset.Toolset; name one that is"
        raise ToolsetError(msg)
    missing = [name for name in ("name", "version", "state_type") if not hasattr(found, name)]
    if missing:
        msg = f"the toolset {value!r} lacks {', '.join(missing)}; set them in the class"
        raise ToolsetError(msg)
    texts: tuple[Any, ...] = (found.name, found.version)
    if not all(isinstance(text, str) and text for text in texts):
        msg = (
            f"name and version of the toolset {value!r} are {found.name!r} and {found.version!r}; write texts"
        )
        raise ToolsetError(msg)
    state: Any = found.state_type
    if not (isinstance(state, type) and issubclass(state, State)):
        msg = f"the state_type of {value!r} is no subclass of State; name one that is"
        raise ToolsetError(msg)
    if not found.specs:
        msg = f"the toolset {value!r} has no tools; mark methods with @tool"
        raise ToolsetError(msg)
    return found
