# SPDX-License-Identifier: Apache-2.0
"""Common operations of the steps: elements are made, moved and found again by their references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote_plus

from consort.exchange.xmltree import Element

_KIND = re.compile(r"\?type=(\w+)(?=\s|$)")


def parts(root: Element, part: str, *names: str) -> list[Element]:
    """The children of one of the model's parts, by name."""
    found = root.child(part)
    return list(found.all(*names)) if found is not None else []


def inside(root: Element, part: str) -> Iterator[Element]:
    """All elements of one of the model's parts."""
    found = root.child(part)
    return found.walk() if found is not None else iter(())


def made(like: Element, tag: str, /, **attributes: str) -> Element:
    """A new element, at the place in the file of one that was there; `kind` is its xsi:type."""
    kind = attributes.pop("kind", "")
    own = {"xsi:type": f"am:{kind}"} if kind else {}
    return Element(like.namespace, tag, own | attributes, like.line, like.path)


def rename(element: Element, old: str, new: str) -> None:
    """An attribute, or children, of another name."""
    if old in element.attributes:
        element.attributes[new] = element.attributes.pop(old)
    for child in element.all(old):
        child.name = new


def retype(element: Element, kind: str) -> None:
    element.attributes["xsi:type"] = f"am:{kind}"


def retype_references(root: Element, kinds: Mapping[str, str]) -> None:
    """Every `name?type=Old`, whoever refers by it, names the new kind."""

    def new(found: re.Match[str]) -> str:
        return f"?type={kinds.get(found[1], found[1])}"

    for element in root.walk():
        for name, text in element.attributes.items():
            if "?type=" in text:
                element.attributes[name] = _KIND.sub(new, text)


def keys(element: Element, name: str) -> list[str]:
    """The ids that an attribute refers to, or children with an href."""
    text = element.get(name)
    if text:
        return text.split()
    hrefs = (child.get("href") for child in element.all(name))
    return [href.rpartition("#")[2] for href in hrefs if href]


def key_of(element: Element, kind: str) -> str:
    """The id of an element: as it states it, else from its name, which references then spell out."""
    return element.get("xmi:id") or f"{quote_plus(element.get('name'))}?type={kind}"
