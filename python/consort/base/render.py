# SPDX-License-Identifier: Apache-2.0
"""Files made from the templates of a sub-package: C++, linker scripts, device trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


class Templates:
    """Templates in `package`/templates; `filters` are those that the templates use beside jinja2's.

    A name that a template lacks is an error, not empty text.
    """

    def __init__(self, package: str, filters: Mapping[str, Callable[..., str]] | None = None) -> None:
        self._package, self._filters = package, filters or {}

    @cached_property
    def _environment(self) -> jinja2.Environment:
        # Much that has templates is used without them.
        import jinja2

        made = jinja2.Environment(
            loader=jinja2.PackageLoader(self._package, "templates"),
            undefined=jinja2.StrictUndefined,
            # The output is code, and every name in it is checked by the model.
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        made.filters.update(self._filters)
        return made

    def render(self, template: str, **values: Any) -> str:
        """The text of the template with these values."""
        return self._environment.get_template(template).render(**values)
