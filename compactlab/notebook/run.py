"""Run a notebook with parameters: every check beforehand, nothing of the machine left behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compactlab.errors import NotebookFailed
from compactlab.files import write_bytes
from compactlab.notebook.parameters import INJECTED, TAG, check, is_path, tagged_cells
from compactlab.notebook.scrub import hide_paths, places, scrub

KERNEL = "python3"
KERNEL_ARGUMENTS = ["--log-level=CRITICAL"]  # no notices about its transport or its end
Progress = Callable[[int, int], object]


def run_notebook(path: Path | str, out: Path | str, parameters: Mapping[str, Any] | None = None,
                 *, progress: Progress | None = None) -> Path:
    """Execute a notebook and write the executed copy to `out` (a file, or a folder for it).

    It runs in the folder of the copy. A `Path` among the parameters is seen by the notebook
    relative to that folder, as are its own defaults that begin with ./ or ../; the copy shows
    such a path only where it lies below the working directory, else the name alone.
    `progress(cells done, cells)` is called after each cell. Raises BadParameter before anything
    runs, NotebookFailed when a cell raises: the copy is then `<name>.failed.ipynb`.
    """
    path, out = Path(path), Path(out)
    given = dict(parameters or {})
    known = check(path, given)
    out = out if out.suffix == ".ipynb" else out / path.name
    folder = out.parent
    folder.mkdir(parents=True, exist_ok=True)
    failed = out.with_name(f"{out.stem}.failed.ipynb")
    for old in (out, failed):
        old.unlink(missing_ok=True)
    values = {name: _located(value, folder) for name, value in given.items()}
    for name, parameter in known.items():
        if name not in given and _holds_paths(parameter.default):
            values[name] = _moved(parameter.default, path.parent, folder)
    notebook, error = _execute(path, folder, values, progress)
    _inject(notebook, {name: _shown(value, folder) for name, value in values.items()})
    scrub(notebook, folder)
    _write(notebook, failed if error else out)
    if error:
        text = hide_paths(error, places(folder))
        raise NotebookFailed(f"{path.name}, {text}; the copy up to there is {failed.name}")
    return out


def _execute(path: Path, folder: Path, values: Mapping[str, Any], progress: Progress | None
             ) -> tuple[Any, str]:
    """The executed notebook, and what went wrong ('' when nothing did)."""
    import nbformat
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    _inject(notebook, values)
    total = sum(cell.cell_type == "code" for cell in notebook.cells)
    done = iter(range(1, total + 1))

    def step(**_: Any) -> None:
        if progress:
            progress(next(done, total), total)

    with tempfile.TemporaryDirectory() as scratch, _inline_figures():
        given, made = Path(scratch) / "given.ipynb", Path(scratch) / path.name
        _write(notebook, given)
        error = ""
        try:
            papermill.execute_notebook(
                given, made, kernel_name=KERNEL, progress_bar=False, cwd=folder.resolve(),
                extra_arguments=KERNEL_ARGUMENTS, on_cell_executed=step)
        except papermill.PapermillExecutionError as raised:
            said = f"{raised.ename}: {raised.evalue}" if raised.evalue else raised.ename
            error = f"cell {raised.cell_index + 1}: {' '.join(said.split())}"
        except NoSuchKernel:
            error = f"no kernel {KERNEL!r} here: install the package ipykernel"
        except DeadKernelError:
            error = "the kernel died: out of memory?"
        except CellTimeoutError as raised:
            error = str(raised).partition("\n")[0]
        # Nothing was written when the kernel never started.
        found = made if made.exists() else given
        return nbformat.read(found, as_version=4), error  # type: ignore[no-untyped-call]


@contextmanager
def _inline_figures() -> Iterator[None]:
    """A back end set from outside would leave the kernel without figures."""
    back_end = os.environ.pop("MPLBACKEND", None)
    try:
        yield
    finally:
        if back_end is not None:
            os.environ["MPLBACKEND"] = back_end


def _inject(notebook: Any, values: Mapping[str, Any]) -> None:
    """Put the values in a cell of their own behind the defaults, or into that cell anew."""
    from nbformat.v4 import new_code_cell

    lines = [f"{name} = {value!r}" for name, value in values.items()]
    if not lines:
        return
    text = "\n".join(["# given to this run", *lines])
    there = tagged_cells(notebook.cells, INJECTED)
    if there:
        notebook.cells[there[0]].source = text
        return
    cell = new_code_cell(text, metadata={"tags": [INJECTED]})  # type: ignore[no-untyped-call]
    notebook.cells.insert(tagged_cells(notebook.cells, TAG)[0] + 1, cell)


def _write(notebook: Any, path: Path) -> None:
    import nbformat

    text = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    write_bytes(path, (text.rstrip("\n") + "\n").encode("utf-8", "replace"))


class _Place(str):
    """A path as the kernel gets it: relative to the folder that it runs in."""


def _located(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_located(item, folder) for item in value]
    if isinstance(value, Path):
        return _Place(os.path.relpath(value.expanduser().resolve(), folder.resolve()))
    return value


def _holds_paths(value: Any) -> bool:
    return any(map(is_path, value)) if isinstance(value, list) else is_path(value)


def _moved(value: Any, notebook_folder: Path, folder: Path) -> Any:
    """A default path, which is relative to the notebook, as seen from the copy's folder."""
    if isinstance(value, list):
        return [_moved(item, notebook_folder, folder) for item in value]
    return _located(notebook_folder / value, folder) if is_path(value) else value


def _shown(value: Any, folder: Path) -> Any:
    """What the copy shows of a path: all of it only below the working directory."""
    if isinstance(value, list):
        return [_shown(item, folder) for item in value]
    if not isinstance(value, _Place):
        return value
    whole = (folder.resolve() / value).resolve()
    here = Path.cwd().resolve()
    below = whole.is_relative_to(here) and folder.resolve().is_relative_to(here)
    inside = whole.is_relative_to(folder.resolve())
    return Path(value).as_posix() if below or inside else whole.name
