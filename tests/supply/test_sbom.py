# SPDX-License-Identifier: Apache-2.0
"""The list of components is whole and valid, and each of its licences is one that is allowed."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import sbom
from consort.base.errors import EnvironmentLacks
from consort_remote import build
from license_expression import get_spdx_licensing
from referencing import Registry, Resource

ALLOWED = set(sbom.LICENCES["allowed"])
PROGRAMS = {*sbom.LICENCES["programs"]["pypi"], *sbom.LICENCES["programs"]["debian"]}


@pytest.fixture(scope="module")
def components(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document that `make sbom` writes."""
    try:
        build.tools()
    except EnvironmentLacks as error:
        pytest.skip(f"the hardware tools' licences are in their packages: {error}")
    file = tmp_path_factory.mktemp("sbom") / "consort.cdx.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["sbom.py", str(file)])
        sbom.main()
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def satisfied(expression: str, allowed: set[str]) -> bool:
    """True if a licence expression can be met with allowed licences alone."""
    licensing = get_spdx_licensing()
    parsed = licensing.parse(expression, validate=True)
    values = {}
    # "A WITH B" is one symbol of two parts; both must be allowed.
    for symbol in parsed.symbols:
        parts = {str(part.key) for part in symbol.decompose()}
        values[symbol] = licensing.TRUE if parts <= allowed else licensing.FALSE
    return bool(parsed.subs(values, simplify=True) == licensing.TRUE)


@pytest.mark.parametrize(
    ("expression", "right"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-2.0-or-later OR MIT", True),
        ("GPL-2.0-or-later AND MIT", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-only WITH GCC-exception-3.1", False),
        ("(MIT OR GPL-3.0-only) AND (BSD-3-Clause AND Zlib)", True),
    ],
)
def test_expressions_are_judged_as_a_whole(expression: str, right: bool) -> None:
    assert satisfied(expression, ALLOWED) is right


def test_each_licence_is_allowed(components: dict[str, Any]) -> None:
    wrong = {}
    for entry in components["components"]:
        words = " AND ".join(f"({text['expression']})" for text in entry.get("licenses", []))
        if entry["name"] not in PROGRAMS and not (words and satisfied(words, ALLOWED)):
            wrong[entry["name"]] = (
                words or "no licence is known: read its licence file, add it to licences.toml"
            )
    assert wrong == {}


def test_a_program_is_no_library_of_the_package() -> None:
    """A licence outside the list is allowed to programs only; what is imported may not hide among them."""
    wanted = {name for lock in ("requirements-build.lock", "requirements.lock") for name, _, _ in
              sbom.locked(sbom.ROOT / lock)}  # fmt: skip
    assert PROGRAMS & wanted == set()


def test_all_components_are_there(components: dict[str, Any]) -> None:
    purls = {entry["purl"] for entry in components["components"]}
    for lock in sbom.LOCKS:
        for name, version, hashes in sbom.locked(sbom.ROOT / lock):
            assert f"pkg:pypi/{name}@{version}" in purls
            (entry,) = [e for e in components["components"] if e["purl"] == f"pkg:pypi/{name}@{version}"]
            files = {p["value"] for p in entry["properties"] if p["name"] == "consort:file-sha256"}
            assert files == set(hashes)
    script = (sbom.ROOT / "tools" / "install-packages.sh").read_text(encoding="utf-8")
    known = {entry["name"] for entry in components["components"] if entry["purl"].startswith("pkg:deb/")}
    for package in ("g++", "libjsoncpp-dev", "chromium", "libboost-dev", "clang-tidy", "gdb-multiarch"):
        assert package in script and package in known
    assert known == {*sbom.LICENCES["debian"], *sbom.LICENCES["programs"]["debian"]}, (
        "each Debian package is in tools/licences.toml, as a library with its licence or as a program"
    )
    assert components["metadata"]["component"]["name"] == "consort-rt"
    required = {e["name"] for e in components["components"] if e["scope"] == "required"}
    assert {"numpy", "pydantic", "libjsoncpp-dev"} <= required and "pytest" not in required


def test_the_document_is_valid(components: dict[str, Any]) -> None:
    folder = files("cyclonedx.schema") / "_res"

    def resource(name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
        return found

    names = [Path(str(entry)).name for entry in folder.iterdir() if str(entry).endswith(".schema.json")]
    registry: Any = Registry().with_resources(
        (resource(name)["$id"], Resource.from_contents(resource(name)))
        for name in names
        if "$id" in resource(name)
    )
    schema = resource("bom-1.6.SNAPSHOT.schema.json")
    jsonschema.Draft7Validator(schema, registry=registry).validate(components)
    broken = {**components, "components": [{"name": "x"}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema, registry=registry).validate(broken)
