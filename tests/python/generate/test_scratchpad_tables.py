# SPDX-License-Identifier: Apache-2.0
"""Tables of the scratchpad-centric kernel: the kernel keeps the bounds on them; what cannot be is refused."""

from __future__ import annotations

import copy
import csv
import ctypes
import mmap
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import free
import numpy as np
import pytest
from consort import _engine
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput, EnvironmentLacks, SystemFails, Undecided
from consort.board import board_named
from consort.board.generate import TableOptions, Tables, make_tables, table_files, write_together
from consort.board.generate.sizes import measure
from consort.board.image import compile_options
from consort.cli import main
from consort.model import System, load_system, platform_from_data, system_from_data
from consort.model.quantities import DataRate, Duration

ROOT = Path(__file__).resolve().parents[3]
AUTOMOTIVE = ROOT / "examples" / "automotive" / "system.yaml"
COMPILERS = {
    "x86": ["g++"],
    "Cortex-R5F": ["arm-none-eabi-g++", "-mcpu=cortex-r5", "-mfloat-abi=soft"],
    "Cortex-M4F": ["arm-none-eabi-g++", "-mcpu=cortex-m4", "-mthumb"],
    "Cortex-A72": ["aarch64-linux-gnu-g++", "-mcpu=cortex-a72"],
}
FREESTANDING = ["-std=c++20", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-O2"]
FREESTANDING += ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

PLATFORM: dict[str, Any] = {
    "consort": 1,
    "name": "small",
    "processors": {"host": {"isa": "x86_64"}},
    "cores": {"core": {"processor": "host", "count": 2, **free.NO_SWITCH, "scratchpad": {"size": "16KiB"}}},
    "dmas": {"dma": {"setup": "1us", "rate": "100MB/s"}},
    "devices": {"eth": {"kind": "ethernet"}},
}
TASK: dict[str, Any] = {
    "period": "10ms",
    "wcet": "1ms",
    "on": "core-0",
    "execution": "three-phase",
    "footprint": {"code": "1000B", "data": "100B", "inputs": "64B", "outputs": "64B"},
}
SYSTEM: dict[str, Any] = {
    "consort": 1,
    "name": "Small",
    "platform": "small",
    "scheduling": {"core": {"policy": "three-phase", "slot": "100us"}},
    "tasks": {"filter": TASK},
}


def small(changes: dict[str, Any] | None = None, platform: dict[str, Any] | None = None) -> System:
    """The small system; `changes` by dotted path, None removes."""
    made = []
    for base, change in ((SYSTEM, changes), (PLATFORM, platform)):
        data = copy.deepcopy(base)
        for path, value in (change or {}).items():
            *way, last = path.split(".")
            at = data
            for key in way:
                at = at.setdefault(key, {})
            if value is None:
                del at[last]
            else:
                at[last] = value
        made.append(data)
    return system_from_data(made[0], platform=platform_from_data(made[1]))


def written(tmp_path: Path, tables: Tables) -> Path:
    write_together(tmp_path / "out", table_files(tables))
    return tmp_path / "out"


def compiled(core: str, folder: Path, source: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = COMPILERS[core]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}: tools/install-packages.sh")
    path = folder / "program.cpp"
    path.write_text(source)
    flags = [*FREESTANDING, f"-I{ROOT / 'include'}", f"-I{folder}", "-c", path, "-o", folder / "program.o"]
    return subprocess.run([*command, *flags, *more], capture_output=True, text=True)


@pytest.mark.parametrize("core", COMPILERS)
def test_tables_compile_and_say_what_the_description_says(tmp_path: Path, core: str) -> None:
    system = load_system(AUTOMOTIVE)
    folder = written(tmp_path, make_tables(system, TableOptions()))
    source = '#include "consort-io.hpp"\nnamespace t = consort::tables;\n'
    source += "using consort::spm::layout_of;\nconstexpr std::uint64_t ns = 1'000'000'000;\n"
    source += "static_assert(t::cores == 2 && t::subscription_count == 0 && t::mirror_count == 0);\n"
    source += "static_assert(t::partition_bytes[0] == 40 * 1024 && t::ticks_per_second == ns);\n"
    names = [(c, i, name) for c in (0, 1) for i, name in enumerate(system.tasks_on(f"app-{c}"))]
    for n, (c, i, name) in enumerate(names):
        row, size = f"t::image[{n}]", system.tasks[name].footprint
        assert size is not None and size.code is not None
        source += f"static_assert({row}.size.code == {size.code.value.bytes});\n"
        source += f"static_assert(layout_of({row}.size).bytes - {size.bytes} < 4 * 64);\n"
        source += f"static_assert(t::place_{name}.core == {c} && t::place_{name}.task == {i});\n"
        source += f"static_assert({row}.size.inputs == sizeof t::memory::{name}_inputs);\n"
    source += "consort::spm::Planned<t::cores, t::most_tasks> planned;\n"
    source += "const char* wrong = planned.read(t::plan(), [](std::uint32_t n) { return t::image[n]; });\n"
    source += "const void* used[] = {t::partition, t::plain_inputs, t::plain_outputs};\n"
    done = compiled(core, folder, source)
    assert done.returncode == 0, done.stderr


def rows_of(tables: Tables, table: str) -> list[dict[str, int]]:
    """The rows of a table of the plan image."""
    described = _engine.plan_layouts()
    head, row = (
        np.dtype(
            {
                "names": [member["name"] for member in layout["members"]],
                "formats": [f"<{member['type']}" for member in layout["members"]],
                "offsets": [member["offset"] for member in layout["members"]],
                "itemsize": layout["bytes"],
            }
        )
        for layout in (described["rows"]["head"], described["rows"][table])
    )
    found = np.frombuffer(tables.image, head, 1)[0]
    place = described["tables"].index(table)
    at, count = (int(found[f"places[{place}].{member}"]) for member in ("offset", "count"))
    return [
        dict(zip(row.names, one.tolist(), strict=True)) for one in np.frombuffer(tables.image, row, count, at)
    ]


def test_the_plan_image_says_what_the_description_says() -> None:
    system = load_system(AUTOMOTIVE)
    tables = make_tables(system, TableOptions())
    assert [row["slot"] for row in rows_of(tables, "cores")] == [160_000, 160_000]
    rows = rows_of(tables, "tasks")
    names = [(c, i, name) for c in (0, 1) for i, name in enumerate(system.tasks_on(f"app-{c}"))]
    assert len(rows) == len(names)
    for row, (core, rank, name) in zip(rows, names, strict=True):
        task = system.tasks[name]
        assert (row["core"], row["rank"], row["on_request"]) == (core, rank, 0)
        assert row["period"] == task.interval.nanoseconds and row["deadline"] == task.deadline.nanoseconds
        assert row["wcet"] == system.wcet(name).nanoseconds + 2 * 460  # type: ignore[union-attr]


def test_times_are_exact_or_refused() -> None:
    system = load_system(AUTOMOTIVE)
    tables = make_tables(system, TableOptions(ticks_per_second=62_500_000))
    # 160 us are 10000 ticks; 383.92 us are 23995, nothing to round; 1002.92 us are 62682.5.
    assert rows_of(tables, "cores")[0]["slot"] == 10_000
    assert [row["wcet"] for row in rows_of(tables, "tasks")[:2]] == [23_995, 62_683]
    with pytest.raises(BadInput, match=r"ttsprk.period: 10ms is not a whole number of ticks"):
        make_tables(system, TableOptions(ticks_per_second=32_768))
    with pytest.raises(BadInput, match="--clock: a clock of 0 Hz has no ticks"):
        make_tables(system, TableOptions(ticks_per_second=0))


def test_the_kernel_keeps_the_bounds_on_the_tables(tmp_path: Path) -> None:
    system = load_system(AUTOMOTIVE)
    folder = written(tmp_path, make_tables(system, TableOptions()))
    program = tmp_path / "program"
    here = Path(__file__).with_name("kernel_on_tables.cpp")
    includes = [f"-I{path}" for path in (ROOT / "include", ROOT / "tests/spm", folder)]
    command = ["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", *includes, str(here)]
    subprocess.run([*command, "-T", str(folder / "consort-memory.ld"), "-o", str(program)], check=True)
    done = subprocess.run([program, "1200"], capture_output=True, text=True, check=True)
    bounds = {bound.task: bound for bound in analyze_system(system)}
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[1] for row in rows] == [n for core in ("app-0", "app-1") for n in system.tasks_on(core)]
    for core, name, jobs, longest, deadline in rows:
        bound = bounds[name]
        assert bound.core == core and bound.response is not None and int(jobs) >= 12
        assert 0 < int(longest) * 1000 <= bound.response <= int(deadline) * 1000, name


# --- images

ENTRY = """
extern "C" { int table[4]; const int factor[2] = {3, 5}; }
__attribute__((noinline)) static int later(int i) { return factor[i & 1] + ++table[i]; }
extern "C" __attribute__((section(".consort.entry"), used)) int entry(int i) { return later(i); }
"""


def linked(tmp_path: Path, source: str, *more: str, **changes: Any) -> tuple[Path, str]:
    """An image by the task's own script, and what the linker said."""
    system = small({f"tasks.filter.{key}": value for key, value in changes.items()})
    folder = written(tmp_path, make_tables(system, TableOptions()))
    (tmp_path / "filter.cpp").write_text(source)
    flags = ["-std=c++20", "-O2", "-ffreestanding", "-fpie", "-fvisibility=hidden", "-nostdlib", "-static"]
    flags += ["-fno-asynchronous-unwind-tables", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments", *more]
    script = folder / "consort-filter.ld"
    image = tmp_path / "filter.elf"
    command = ["g++", *flags, str(tmp_path / "filter.cpp"), f"-Wl,-T,{script}", "-o", str(image)]
    return image, subprocess.run(command, capture_output=True, text=True).stderr


def test_an_image_runs_wherever_it_is_put(tmp_path: Path) -> None:
    if subprocess.run(["uname", "-m"], capture_output=True, text=True).stdout.strip() != "x86_64":
        pytest.skip("executes x86-64 code")
    image, said = linked(tmp_path, ENTRY)
    assert said == ""
    raw = tmp_path / "raw"
    contents = ["--set-section-flags", ".data=alloc,load,contents"]
    subprocess.run(["objcopy", "-O", "binary", *contents, image, raw], check=True)
    loaded = raw.read_bytes()
    # Code, up to a line, and the data.
    assert len(loaded) == 1024 + 100
    results = []
    for offset in (0, 5 * 64, 4096 + 64):
        memory = mmap.mmap(-1, 16384, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory[offset : offset + len(loaded)] = loaded
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + offset
        call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(address)
        results.append([call(0), call(0), call(1), call(0)])
    assert results == [[4, 5, 6, 6]] * 3


@pytest.mark.parametrize(
    ("source", "said"),
    [
        # A table of addresses is right at one place only.
        (
            ENTRY + "extern const int* const where[2]; const int* const where[2] = {factor, factor + 1};"
            'extern "C" const int* get(int i) { return where[i]; }',
            "filter: has absolute addresses",
        ),
        (ENTRY + "struct S { S() { table[0] = 1; } } s;", "filter: has absolute addresses, or constructors"),
        (ENTRY + "char large[200] = {1};", "filter: its data is larger than the 100 bytes"),
        (ENTRY + "extern const char text[1000]; const char text[1000] = {1};", "filter: its code is larger"),
    ],
    ids=["addresses", "constructor", "data", "code"],
)
def test_what_cannot_be_moved_or_is_too_large_is_no_image(tmp_path: Path, source: str, said: str) -> None:
    _, errors = linked(tmp_path, source)
    assert said in errors


def symbols(program: Path, nm: str = "nm") -> dict[str, int]:
    text = subprocess.run([nm, program], capture_output=True, text=True, check=True).stdout
    return {
        name: int(address, 16)
        for address, _, name in (line.split() for line in text.splitlines() if line[0] != " ")
    }


def test_places_that_were_given_are_the_linkers(tmp_path: Path) -> None:
    options = TableOptions(scratchpads={"core-0": 0xFFFC0000}, images=0x100000)
    folder = written(tmp_path, make_tables(small({"tasks.log": TASK}), options))
    main_source = '#include "consort-tables.hpp"\nnamespace t = consort::tables;\n'
    main_source += "extern const void* volatile used[];\n"
    main_source += "const void* volatile used[] = {t::plan_image, t::image, t::partition};\n"
    main_source += 'extern "C" void _start() { (void)used[0]; for (;;) {} }\n'
    assert compiled("Cortex-R5F", folder, main_source).returncode == 0
    program = tmp_path / "program.elf"
    subprocess.run(
        [
            "arm-none-eabi-g++",
            "-nostdlib",
            folder / "program.o",
            "-T",
            folder / "consort-memory.ld",
            "-o",
            program,
        ],
        check=True,
    )
    found = symbols(program, "arm-none-eabi-nm")
    assert found["consort_core_0_partition_0"] == 0xFFFC0000
    assert found["consort_core_0_partition_1"] == 0xFFFC0000 + 8192
    assert (found["consort_filter_code"], found["consort_filter_data"]) == (0x100000, 0x100400)
    assert (found["consort_log_code"], found["consort_log_data"]) == (0x100480, 0x100880)
    with (folder / "consort-map.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["begin"] for row in rows if row["place"] == "partition 1"} == {"0xfffc2000"}
    parts = [row for row in rows if row["task"] == "filter" and row["place"] == "partition 0"]
    assert [(r["part"], r["offset"], r["part_bytes"]) for r in parts] == [
        ("code", "0", "1000"),
        ("data", "1024", "100"),
        ("inputs", "1152", "64"),
        ("outputs", "1216", "64"),
        ("free", "1280", str(8192 - 1280)),
    ]


def test_a_board_program_takes_images_and_scratchpads_into_its_region(tmp_path: Path) -> None:
    folder = written(tmp_path, make_tables(small(), TableOptions(region="ddr")))
    source = '#include "consort-io.hpp"\nnamespace t = consort::tables;\n'
    source += "extern const void* volatile used[];\n"
    source += "const void* volatile used[] = {t::image, t::partition, t::plain_inputs};\n"
    source += (
        '__attribute__((section(".consort.filter.code"), used)) static const char code[4] = {1, 2, 3, 4};\n'
    )
    source += "static char zero[1000];\n"
    source += 'extern "C" void _start() { zero[5] = 1; for (;;) { (void)used[0]; } }\n'
    done = compiled("Cortex-R5F", folder, source)
    assert done.returncode == 0, done.stderr
    program = tmp_path / "program.elf"
    own = compile_options(board_named("versal").core("r5f")).scripts
    scripts = [word for script in (folder / "consort-memory.ld", *own) for word in ("-T", script)]
    command = ["arm-none-eabi-g++", "-nostdlib", folder / "program.o", *scripts, "-o", program]
    # The linker itself refuses sections that overlap.
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = symbols(program, "arm-none-eabi-nm")
    places = [found[f"consort_{n}"] for n in ("filter_code", "filter_data", "core_0_partition_0")]
    assert places == sorted(places) and all(0x110000 <= place < 0x200000 for place in places)
    assert found["consort_core_0_partition_1"] - found["consort_core_0_partition_0"] == 8192
    assert found["consort_filter_data"] - found["consort_filter_code"] >= 1000
    with pytest.raises(BadInput, match="--region: 'a b' is not a name"):
        make_tables(small(), TableOptions(region="a b"))


# --- what is refused


def object_file(tmp_path: Path, source: str, core: str = "x86") -> Path:
    (tmp_path / "task.cpp").write_text(source)
    command = [*COMPILERS[core], "-O1", "-c", str(tmp_path / "task.cpp"), "-o", str(tmp_path / "task.o")]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    subprocess.run(command, check=True)
    return tmp_path / "task.o"


LARGE = """
extern const short map[3000]; const short map[3000] = {1};
int history[500];
int step(int i) { return map[i] + history[i]++; }
"""


def test_a_task_too_large_names_the_bytes_and_the_symbols(tmp_path: Path) -> None:
    made = object_file(tmp_path, LARGE)
    found = measure([made], "x86_64")
    assert found.data == 2000 and 6000 < found.code < 6100
    assert [(s.name, s.part, s.bytes) for s in found.symbols[:2]] == [
        ("map", "code", 6000),
        ("history", "data", 2000),
    ]
    options = TableOptions(objects={"filter": (made,)})
    size = -(-found.code // 64) * 64 + 2048 + 64 + 64
    more = size - 8192
    assert more > 0
    said = rf"tasks.filter.footprint: {more} bytes too many for half of core-0's scratchpad \(8192 bytes"
    with pytest.raises(
        BadInput, match=said + r".*most take map 6000 \(code\), history 2000 \(data\), _Z4step"
    ):
        make_tables(small(), options)
    # Every byte fits, but not every part from a multiple of 64; no object says which symbols.
    with pytest.raises(BadInput, match="--object filter=FILE names the symbols"):
        make_tables(small({"tasks.filter.footprint": {"code": "8129B", "data": "63B"}}), TableOptions())


def test_measured_sizes_count_and_differences_are_told(tmp_path: Path) -> None:
    made = object_file(tmp_path, "int state[8] = {1}; int step() { return ++state[0]; }")
    tables = make_tables(small(), TableOptions(objects={"filter": (made,)}))
    found = measure([made], "x86_64")
    (task,) = tables.cores[0].tasks
    assert task.size == {"code": found.code, "data": 32, "inputs": 64, "outputs": 64}
    assert f"filter: measured code {found.code} instead of 1000 and data 32 instead of 100 bytes" in " ".join(
        tables.notes
    )
    # Two files: one after the other.
    both = measure([made, made], "x86_64")
    assert both.data == 64
    system = small({"tasks.filter.footprint": None})
    assert make_tables(system, TableOptions(objects={"filter": (made,)})).cores[0].tasks[0].size["data"] == 32


def test_objects_that_cannot_be_used(tmp_path: Path) -> None:
    arm = object_file(tmp_path, "int x;", "Cortex-R5F")
    with pytest.raises(BadInput, match=r"task.o: is for EM_ARM, and the task's core is x86_64"):
        make_tables(small(), TableOptions(objects={"filter": (arm,)}))
    (tmp_path / "text.o").write_text("no object")
    with pytest.raises(BadInput, match=r"text.o: is not an ELF object file"):
        make_tables(small(), TableOptions(objects={"filter": (tmp_path / "text.o",)}))
    with pytest.raises(BadInput, match=r"gone.o: cannot be read"):
        make_tables(small(), TableOptions(objects={"filter": (tmp_path / "gone.o",)}))
    with pytest.raises(BadInput, match="--object: 'other' is not a three-phase task; there are filter"):
        make_tables(small(), TableOptions(objects={"other": (arm,)}))
    cut = tmp_path / "cut.o"
    cut.write_bytes(arm.read_bytes()[:300])
    with pytest.raises(BadInput, match=r"cut.o"):
        make_tables(small(), TableOptions(objects={"filter": (cut,)}))


@pytest.mark.parametrize(
    ("changes", "platform", "options", "said"),
    [
        (
            {"tasks.filter.footprint": None},
            {},
            {},
            "tasks.filter.footprint: its need of memory is not known",
        ),
        (
            {"tasks.filter.wcet": None},
            {},
            {},
            "no figure for the execution time of filter, three-phase on host (tasks.filter.wcet)",
        ),
        ({"tasks.filter.jitter": "1us"}, {}, {}, "tasks.filter.jitter: the kernel releases"),
        ({}, {}, {"scratchpads": {"core-1": 0}}, "--scratchpad: 'core-1' executes no three-phase task"),
        ({}, {}, {"scratchpads": {"core-0": 32}}, "--scratchpad: core-0 at 0x20: a multiple of 64"),
        ({}, {}, {"images": 8}, "--images: 0x8: a multiple of 64"),
        (
            {"tasks.log": {**TASK, "on": "core-1"}},
            {},
            {"scratchpads": {"core-0": 0, "core-1": 8192}},
            "--scratchpad: core-0 from 0x0 (2 x 8192 bytes) reaches into core-1 at 0x2000",
        ),
        (
            {},
            {},
            {"scratchpads": {"core-0": 0x400}, "images": 0},
            "--images: images reach into the scratchpad",
        ),
        (
            {},
            {"memories.ram": {"kind": "sram", "size": "1KiB", "address": 0}},
            {"images": 0},
            "--images: images end at 0x480, 128 bytes behind the memory ram",
        ),
        ({"tasks.a-b": TASK, "tasks.a_b": TASK}, {}, {}, "tasks.a_b: 'a-b' and 'a_b' are one identifier"),
        (
            {},
            {},
            {"rate": DataRate(10_000_000)},
            "scheduling.core.slot: the load of 'filter' takes 117.4us, 17.4us longer than the slot 100us",
        ),
        ({}, {}, {"rate": DataRate(0)}, "--dma-rate: a rate of 0"),
        ({}, {}, {"setup": Duration(5)}, "--dma-setup: says how long programming takes; give --dma-rate too"),
        (
            {"scheduling.core.slot": "auto"},
            {"dmas": {}},
            {},
            "scheduling.core-0.slot: to find the slot, filter needs a footprint and the platform a DMA",
        ),
        (
            {
                "tasks.log": {**TASK, "on": "core-1"},
                "scheduling.core-1": {"policy": "three-phase", "arbitration": "round-robin"},
            },
            {},
            {},
            "scheduling: one DMA engine has one arbitration; here are tdma (core-0), round-robin (core-1)",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    changes: dict[str, Any], platform: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        make_tables(small(changes, platform), TableOptions(**options))


def test_a_slot_is_computed_from_the_rate() -> None:
    system = small({"scheduling.core.slot": "auto"})
    # 1164 bytes at 100 MB/s, and 1 us; at 10 MB/s; up to whole microseconds.
    assert make_tables(system, TableOptions()).cores[0].slot == 13_000
    slow = make_tables(system, TableOptions(rate=DataRate(10_000_000), setup=Duration.parse("20us")))
    assert (slow.cores[0].slot, slow.tolerance) == (137_000, 600)
    assert any("10MB/s, given; programming it takes 20us" in note for note in slow.notes)
    said = "not known to be schedulable: 1 figure that nobody gave: dmas: .*--dma-rate and --dma-setup"
    with pytest.raises(Undecided, match=said):
        make_tables(small(platform={"dmas": {}}), TableOptions())
    unknown = make_tables(small(platform={"dmas": {}}), TableOptions(force=True))
    assert unknown.tolerance == 0 and any("no slot was checked" in note for note in unknown.notes)
    text = table_files(unknown)["consort-tables.hpp"]
    assert "NOT KNOWN TO BE SCHEDULABLE, for want of dmas: filter may miss" in text
    # A task that is late all the same is.
    late = {"tasks.filter.wcet": "9ms", "tasks.log": {**TASK, "wcet": "5ms"}}
    with pytest.raises(Undecided):
        make_tables(small(late, {"dmas": {}}), TableOptions())


def test_an_unschedulable_set_is_written_only_by_force() -> None:
    system = small({"tasks.filter.wcet": "9ms", "tasks.log": {**TASK, "wcet": "5ms"}})
    said = r"not schedulable: .*(filter|log) on core-0 .*--force writes the tables all the same"
    with pytest.raises(SystemFails, match=said):
        make_tables(system, TableOptions())
    tables = make_tables(system, TableOptions(force=True))
    assert tables.late
    text = table_files(tables)["consort-tables.hpp"]
    for name in tables.late:
        assert f"NOT SCHEDULABLE: {name} may miss its deadline" in text


def test_a_job_that_is_stopped_late_is_in_the_bound() -> None:
    plain = make_tables(small(), TableOptions()).bounds[0].response
    stopped = make_tables(small(), TableOptions(on_overrun="stop-task"))
    # The watchdog looks once a slot.
    assert plain is not None and stopped.bounds[0].response == plain + 100 * 10**6
    plan = rows_of(stopped, "tasks")
    assert [row["on_overrun"] for row in plan] == [3] and plan[0]["on_late"] == 0


# --- messages

STREAM = {
    "channels.video": {
        "kind": "subscription",
        "from": "eth",
        "to": ["filter"],
        "size": "100B",
        "flow": "10.0.0.0/8",
        "capacity": 4,
    },
    "channels.orders": {
        "kind": "subscription",
        "from": "eth",
        "to": ["filter"],
        "size": "60B",
        "flow": 17,
        "implementation": "snapshot",
    },
    "channels.result": {"kind": "queue", "from": "filter", "to": ["eth"], "size": "8B", "capacity": 2},
    "tasks.filter.footprint": {"code": "1000B", "data": "100B"},
}


def test_subscriptions_and_mirrors(tmp_path: Path) -> None:
    tables = make_tables(small(STREAM), TableOptions())
    folder = written(tmp_path, tables)
    source = """
#include "consort-io.hpp"
namespace t = consort::tables;
using consort::spm::OnFull;
static_assert(t::subscription_count == 2 && t::mirror_count == 1);
static_assert(t::subscriptions[0].flow == 0x0a000000 && t::subscriptions[0].mask == 0xff000000);
static_assert(t::subscriptions[0].wants(0x0a123456) && !t::subscriptions[0].wants(0x0b000000));
static_assert(t::subscriptions[1].flow == 17 && t::subscriptions[1].mask == ~0U);
static_assert(t::mirrors[0].input.capacity == 5 && t::mirrors[0].input.payload == 100);
static_assert(t::mirrors[0].output.capacity == 2 && t::mirrors[0].output.payload == 8);
static_assert(t::mirrors[0].on_full == OnFull::overwrite);
static_assert(sizeof t::memory::filter_inputs == 2 * t::mirrors[0].input.bytes());
static_assert(sizeof t::memory::filter_outputs == 2 * t::mirrors[0].output.bytes());
static_assert(t::image[0].size.inputs == t::mirrors[0].input.bytes());
static_assert(t::image[0].size.outputs == t::mirrors[0].output.bytes());
static_assert(t::plain_inputs[0][0] == nullptr && t::plain_outputs[0][0] == nullptr);
"""
    done = compiled("x86", folder, source)
    assert done.returncode == 0, done.stderr
    queue = {**STREAM, "channels.orders": None}
    del queue["channels.orders"]
    assert "spm::OnFull::refuse" in table_files(make_tables(small(queue), TableOptions()))["consort-io.hpp"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"channels.video.flow": "front"},
            "channels.video.flow: 'front' is not a flow that the kernel can compare",
        ),
        ({"channels.video.flow": "1.2.3.400/8"}, "channels.video.flow: '1.2.3.400/8'"),
        ({"channels.video.flow": "1/33"}, "channels.video.flow: '1/33'"),
        ({"channels.video.flow": 2**32}, "channels.video.flow: '4294967296'"),
        ({"channels.video.size": None}, "channels.video: its longest message decides the buffers"),
        (
            {"channels.result.to": ["log"], "tasks.log": TASK},
            "channels.result: the kernel moves messages between",
        ),
        (
            {"tasks.filter.footprint.inputs": "500B"},
            "tasks.filter.footprint.inputs: 76 bytes too few: 5 messages of 100 bytes take 576",
        ),
    ],
)
def test_messages_that_the_kernel_cannot_carry(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        make_tables(small({**copy.deepcopy(STREAM), **changes}), TableOptions())


# --- the command


def run(*words: str | Path) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main(["generate", *map(str, words)])
    return end.value.code


def test_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(AUTOMOTIVE, "--for", "scratchpad", "--out", tmp_path, "--dma-rate", "200MB/s") == 0
    said = capsys.readouterr().out
    assert "DMA: 200MB/s, given" in said and "app-1 idct: response at most" in said
    files = {path.name for path in tmp_path.iterdir()}
    assert len(files) == 18 and {"consort-tables.hpp", "consort-io.hpp", "consort-rspeed.ld"} <= files


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--scratchpad", "app-0"], 2, "'app-0' is not of the form CORE=ADDRESS"),
        (["--scratchpad", "app-0=here"], 2, "'here' is not an address"),
        (["--scratchpad", "app-0=0", "--scratchpad", "app-0=0"], 2, "'app-0' is given twice"),
        (["--dma-rate", "5"], 2, "5 has no unit"),
        (["--dma-rate", "1MB/s"], 2, "longer than the slot"),
    ],
)
def test_command_refuses_and_leaves_what_there_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, said: str
) -> None:
    (tmp_path / "consort-tables.hpp").write_text("kept")
    assert run(AUTOMOTIVE, "--for", "scratchpad", "--out", tmp_path, *words) == status
    assert said in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["consort-tables.hpp"]
    assert (tmp_path / "consort-tables.hpp").read_text() == "kept"


def test_command_statuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = AUTOMOTIVE.read_text()
    described = tmp_path / "automotive"
    shutil.copytree(AUTOMOTIVE.parent, described)
    late = described / "late.yaml"
    late.write_text(text.replace("period: 10ms", "period: 2ms"))
    out = tmp_path / "out"
    assert run(late, "--for", "scratchpad", "--out", out) == 1 and not out.exists()
    assert "not schedulable" in capsys.readouterr().err
    assert run(late, "--for", "scratchpad", "--out", out, "--force") == 0
    assert "NOT SCHEDULABLE: ttsprk" in capsys.readouterr().out
    # The description itself says too much: its line, the bytes, and the object's symbols.
    big = described / "big.yaml"
    big.write_text(text.replace("code: 896B", "code: 30KiB"))
    made = object_file(tmp_path, LARGE)
    assert run(big, "--for", "scratchpad", "--out", out, "--object", f"ttsprk={made}") == 2
    said = capsys.readouterr().err
    assert "tasks.ttsprk.footprint" in said and "22528 bytes too many" in said and "map 6000 (code)" in said
    assert run(AUTOMOTIVE, "--for", "zephyr", "--out", out) == 2
    assert "--window: says where" in capsys.readouterr().err


def test_files_are_written_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(BadInput, match="is a folder"):
        write_together(tmp_path, {"a": "1", "b": "2"})
    assert [p.name for p in tmp_path.iterdir()] == ["b"]
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is not a folder"):
        write_together(tmp_path / "file", {"a": "1"})
    with pytest.raises(BadInput, match="is not a folder"):
        write_together(tmp_path / "file" / "below", {"a": "1"})

    def full(self: Path, text: str, encoding: str = "") -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(EnvironmentLacks, match="No space left"):
        write_together(tmp_path / "new", {"a": "1"})
    assert list((tmp_path / "new").iterdir()) == []
