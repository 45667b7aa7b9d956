# SPDX-License-Identifier: Apache-2.0
"""Jobs that move at safepoints: the same bits wherever they run, and nothing else is gone on with."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from consort.base.errors import BadInput, ConsortError, SystemFails
from consort.base.toolchain.compiler import PROCESSES
from consort.commands.migrate import command
from consort.migrate.c_code import NAMES, own_phase
from consort.migrate.module import Step, build_module
from consort.migrate.programs import Done, Refused, Server, compile_step, hop, target_of
from consort_bench.migrate import code_bytes
from effort import THOROUGH

ROOT = Path(__file__).parents[3]
REFUSED = Path(__file__).parent / "refused.hpp"
SAMPLES = {"spectrum": struct.pack("<II", 5, 2), "matrix": struct.pack("<I", 5)}
OTHERS = sorted(set(PROCESSES) - {"x86-64"})
MISSING = [name for name, names in NAMES.items() if not any(map(shutil.which, names))]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"apt-get install clang lld binaryen wabt: {MISSING}")


def sample(name: str) -> Step:
    return build_module(ROOT / "examples" / "migrate" / f"{name}.hpp", f"migrate::{name}::step")


@pytest.fixture(scope="module")
def spectrum() -> Step:
    return sample("spectrum")


@pytest.fixture(scope="module")
def here(spectrum: Step) -> Iterator[Server]:
    with Server(spectrum, "x86-64") as server:
        yield server


def stayed(server: Server, given: bytes) -> Done:
    done = server.start(given, server.step.fresh)
    assert isinstance(done, Done)
    return done


@pytest.mark.representative
@pytest.mark.parametrize("images", [True, False], ids=["images", "live bytes"])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_job_that_moves_at_every_kth_safepoint_ends_alike(name: str, images: bool) -> None:
    step = sample(name)
    with Server(step, "x86-64") as server:
        expected = stayed(server, SAMPLES[name])
        safepoints = server.hops(SAMPLES[name], step.fresh, 0).moves
        assert safepoints > 10
        for k in range(1, 201):
            done = server.hops(SAMPLES[name], step.fresh, k - 1, images=images)
            assert (done.state, done.out) == (expected.state, expected.out), k
            assert done.moves == safepoints // k


@pytest.mark.parametrize("name", SAMPLES)
def test_what_moves_costs_little_code(name: str) -> None:
    step = sample(name)
    spec = target_of("x86-64")
    sizes = [code_bytes(compile_step(step, spec, *more)) for more in ((), ("-DCONSORT_MIGRATE_PLAIN",))]
    assert sizes[0] <= 1.3 * sizes[1]


def test_a_loop_with_a_safepoint_is_not_unrolled(spectrum: Step) -> None:
    # Windows and stages count: each safepoint more is a call, a number and a way back.
    code = (spectrum.folder / "job.c").read_text(encoding="utf-8")
    assert code.count("(*Z_consortZ_safepoint)(") == 2


def test_the_buffer_is_read_and_written_once_for_each_frame(spectrum: Step) -> None:
    code = (spectrum.folder / "job.c").read_text(encoding="utf-8")
    (step,) = re.findall(r"^static [^;\n]* w2c_consort_step\([^;{]*\{\n.*?^\}", code, re.M | re.S)
    assert step.count("i32_load(&instance->w2c_memory, CONSORT_DESCRIPTION)") == 2
    assert step.count("i32_store(&instance->w2c_memory, CONSORT_DESCRIPTION, consort_end)") == 2
    assert "CONSORT_DESCRIPTION;" not in step


def test_another_asyncify_is_refused() -> None:
    with pytest.raises(ConsortError, match="wasm-opt is of another version"):
        own_phase("static u32 w2c_asyncify_get_state(Z_job_instance_t* instance) {\n  return 0;\n}\n")


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", SAMPLES)
def test_other_processors_give_the_same_bits(name: str, other: str) -> None:
    spec = PROCESSES[other]
    if shutil.which(spec.compiler) is None or shutil.which(spec.emulator) is None:
        pytest.skip(f"apt-get install {spec.package} qemu-user")
    step = sample(name)
    with Server(step, "x86-64") as server:
        expected = stayed(server, SAMPLES[name])
    for k in range(1, 201) if THOROUGH else (1, 3, 7):
        for order in (("x86-64", other), (other, "x86-64")):
            done = hop(step, order, k, SAMPLES[name], step.fresh)
            assert done.same and (done.state, done.out) == (expected.state, expected.out)
            assert done.largest_image <= step.image_bytes


def test_an_image_is_never_longer_than_its_bound(spectrum: Step, here: Server) -> None:
    given, longest, passed = SAMPLES["spectrum"], 0, 0
    while not isinstance(said := here.start(given, spectrum.fresh, passed), Done):
        longest, passed = max(longest, len(said)), passed + 1
    assert 48 + spectrum.ranges["data"].bytes < longest <= spectrum.image_bytes


def test_several_functions_above_a_safepoint_fit_into_their_bound() -> None:
    step = build_module(REFUSED, "refused::deep")
    assert len(step.above) == 3
    with Server(step, "x86-64") as server:
        given, longest, passed = struct.pack("<I", 9), 0, 0
        expected = stayed(server, given)
        while not isinstance(said := server.start(given, step.fresh, passed), Done):
            longest, passed = max(longest, len(said)), passed + 1
            done = server.resume(said)
            assert isinstance(done, Done) and (done.state, done.out) == (expected.state, expected.out)
        assert passed == 4 * 10
        assert longest <= step.image_bytes
        assert (expected.state, expected.out) == (said.state, said.out)


def test_an_image_that_is_not_exactly_what_was_left_is_refused(spectrum: Step, here: Server) -> None:
    image = here.start(SAMPLES["spectrum"], spectrum.fresh, 4)
    assert isinstance(image, bytes)
    wrong = [image[:-1], image + b"\0", image[:20], b""]
    for at in [*range(48), *range(48, len(image), 97), len(image) - 1]:
        changed = bytearray(image)
        changed[at] ^= 1 << (at % 8)
        wrong.append(bytes(changed))
    for each in wrong:
        with pytest.raises(Refused):
            here.resume(each)
    assert isinstance(here.resume(image), Done)


def test_an_image_of_another_step_is_refused_with_the_reason(spectrum: Step, here: Server) -> None:
    with Server(sample("matrix"), "x86-64") as other:
        image = other.start(SAMPLES["matrix"], other.step.fresh, 1)
    assert isinstance(image, bytes)
    with pytest.raises(Refused, match="other module"):
        here.resume(image)


@pytest.mark.parametrize(
    ("step", "words", "line"),
    [
        ("recursion", "twice: recursion", "twice(std::uint32_t"),
        ("indirect", "an indirect call above a safepoint.*stops", "void indirect("),
        ("growth", "grows its memory", "void growth("),
        ("variable", "amount of stack that is not constant", "last(std::uint32_t"),
        ("library", r"calls std::sin\(double\), which it does not contain", None),
        ("nowhere", "reaches no safepoint", None),
    ],
)
def test_what_has_no_bound_is_refused_with_its_place(step: str, words: str, line: str | None) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        build_module(REFUSED, f"refused::{step}")
    assert Path(str(caught.value.file)).name == "refused.hpp"
    if line is not None:
        assert line in REFUSED.read_text().splitlines()[(caught.value.line or 0) - 1]


def test_an_indirect_call_that_reaches_no_safepoint_is_none_of_the_checkers_business() -> None:
    step = build_module(REFUSED, "refused::indirect_below")
    with Server(step, "x86-64") as server:
        assert server.hops(struct.pack("<I", 4), step.fresh, 0).out == struct.pack("<I", 12 + 11)


@pytest.mark.parametrize("other", ["x86-64", "ppc64"])
def test_a_step_that_leaves_its_memory_ends_and_harms_nothing(other: str) -> None:
    spec = PROCESSES[other]
    if shutil.which(spec.compiler) is None or (spec.emulator and shutil.which(spec.emulator) is None):
        pytest.skip(f"apt-get install {spec.package} qemu-user")
    step = build_module(REFUSED, "refused::outside")
    for address in (step.memory_bytes, 1 << 20, 0xFFFFFFFC):
        with (
            Server(step, other) as server,
            pytest.raises(SystemFails, match=r"signal 11|outside"),
        ):
            server.start(struct.pack("<I", address), step.fresh)


def test_the_command_says_what_a_move_takes_and_compares() -> None:
    arguments = [str(ROOT / "examples/migrate/matrix.hpp"), "--step", "migrate::matrix::step", "--json"]
    result = CliRunner().invoke(command, [*arguments, "--hop", "x86-64,x86-64", "--every", "5"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.output)
    assert said["hop"]["same"] and said["hop"]["moves"] == 8
    assert said["stack_at_most"] + said["data"] + said["frames_at_most"] + 48 == said["image_at_most"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--hop", "x86-64"], "two or more of"),
        (["--hop", "x86-64,vax"], "'vax' is none"),
        (["--build"], "go together"),
        (["--build", "--for", "vax"], "'vax' is none of"),
        (["--in", "/dev/null"], "only with --hop"),
    ],
)
def test_options_that_do_not_fit_are_refused(more: list[str], words: str) -> None:
    arguments = [str(ROOT / "examples/migrate/matrix.hpp"), "--step", "migrate::matrix::step"]
    result = CliRunner().invoke(command, [*arguments, *more])
    assert isinstance(result.exception, BadInput) and words in str(result.exception)


def test_built_files_compile_by_themselves(tmp_path: Path) -> None:
    arguments = [str(ROOT / "examples/migrate/matrix.hpp"), "--step", "migrate::matrix::step"]
    result = CliRunner().invoke(command, [*arguments, "--build", "--for", "x86-64", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert {"module.c", "job.c", "job.h", "wasm-rt.h", "step.o"} <= {each.name for each in tmp_path.iterdir()}
