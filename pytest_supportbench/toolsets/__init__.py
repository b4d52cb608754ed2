"""Toolsets: the built-in one, those declared in YAML, and how a suite's ``toolset`` names one."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Final

from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.state import State
from pytest_supportbench.toolset import Toolset

__all__ = ["resolve"]

_FORMS: Final = "write saas, package.module:Class, the name of a YAML file, or a mapping"


def resolve(value: str | dict[str, Any], base: Path) -> type[Toolset[Any]]:
    """Return the toolset that a suite in the folder ``base`` names.

    ``value`` is ``saas``; ``package.module:Class``, also looked for in ``base``; a YAML file relative to
    ``base`` that declares one; or such a declaration itself. Raises `ToolsetError` with the remedy, and
    `FileError` where the YAML file cannot be read.
    """
    if isinstance(value, dict):
        from pytest_supportbench.toolsets.declared import declared  # noqa: PLC0415 - only who declares pays for it

        return declared(value)
    if value == "saas":
        from pytest_supportbench.toolsets.saas import SaasToolset  # noqa: PLC0415 - other toolsets do without it

        return SaasToolset
    if value.endswith((".yaml", ".yml")):
        return resolve(_mapping(base / value), base)
    module_name, colon, class_name = value.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), class_name)):
        msg = f"{value!r} names no toolset; {_FORMS}"
        raise ToolsetError(msg)
    return _checked(_imported(module_name, class_name, base), value)


def _mapping(path: Path) -> dict[str, Any]:
    from pytest_supportbench.loading import read_yaml  # noqa: PLC0415 - loading resolves toolsets through us

    if not path.is_file():
        msg = f"there is no toolset file {path}; create it, or {_FORMS}"
        raise ToolsetError(msg)
    data = read_yaml(path)
    if not isinstance(data, dict):
        msg = f"{path} holds no mapping; a declared toolset has name, version, state and tools"
        raise ToolsetError(msg)
    return data


def _imported(module_name: str, class_name: str, base: Path) -> object:
    """Return the class from a module, which may lie in ``base``."""
    sys.path.insert(0, str(base))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        msg = (
            f"the module {module_name!r} cannot be imported ({type(error).__name__}: {error}); install it, "
            f"or put it into {base}"
        )
        raise ToolsetError(msg) from error
    finally:
        sys.path.remove(str(base))
    _refuse_namesake(module_name, getattr(module, "__file__", None), base)
    found = getattr(module, class_name, None)
    if found is None:
        msg = f"the module {module_name!r} has no {class_name!r}; name a class that it defines"
        raise ToolsetError(msg)
    return found


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


def _checked(found: object, value: str) -> type[Toolset[Any]]:
    """Return ``found`` as a complete toolset."""
    if not (isinstance(found, type) and issubclass(found, Toolset)):
        msg = f"{value!r} is no subclass of pytest_supportbench.toolset.Toolset; name one that is"
        raise ToolsetError(msg)
    missing = [name for name in ("name", "version", "state_type") if not hasattr(found, name)]
    if missing:
        msg = f"the toolset {value!r} lacks {', '.join(missing)}; set them in the class"
        raise ToolsetError(msg)
    if not issubclass(found.state_type, State):
        msg = f"the state_type of {value!r} is no subclass of State; name one that is"
        raise ToolsetError(msg)
    if not found.specs:
        msg = f"the toolset {value!r} has no tools; mark methods with @tool"
        raise ToolsetError(msg)
    return found
