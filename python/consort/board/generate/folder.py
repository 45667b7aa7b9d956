# SPDX-License-Identifier: Apache-2.0
"""Files that are there together or not at all."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from consort.base.errors import BadInput, EnvironmentLacks


def write_together(out: Path, files: dict[str, str]) -> list[Path]:
    """Writes all into a folder of their own first; `out` changes only when every one is written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".consort-", dir=out))
    except (FileExistsError, NotADirectoryError) as error:
        raise BadInput("is no folder", file=out) from error
    except OSError as error:
        raise _cannot(out, error) from error
    try:
        for name, text in files.items():
            if (out / name).is_dir():
                raise BadInput("is a folder, and a file has to be written there", file=out / name)
            (fresh / name).write_text(text, encoding="utf-8")
        for name in files:
            (fresh / name).replace(out / name)
    except OSError as error:
        raise _cannot(out, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return [out / name for name in files]


def _cannot(out: Path, error: OSError) -> EnvironmentLacks:
    return EnvironmentLacks(f"{out} cannot be written ({error.strerror})", "choose another --out")
