# SPDX-License-Identifier: Apache-2.0
"""The kernel's tables as C++ headers, linker scripts and a map. File name -> text."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator

from consort.analysis.result import in_words
from consort.generate.scratchpad import (
    PARTITIONS,
    PARTS,
    Box,
    PlannedCore,
    PlannedTask,
    Tables,
    aligned,
    identifier,
)

HEAD = "Made by `consort generate` from {name} for {platform}; change the description, not this file."
WIDTH = 106


def table_files(tables: Tables) -> dict[str, str]:
    """All files of a system."""
    files = {
        "consort-tables.hpp": _tables(tables),
        "consort-io.hpp": _io(tables),
        "consort-memory.ld": _memory(tables),
        "consort-map.csv": _map(tables),
    }
    for _, _, core, task in _places(tables):
        files[f"consort-{task.name}.ld"] = _image(tables, core, task)
    return files


def _places(tables: Tables) -> Iterator[tuple[int, int, PlannedCore, PlannedTask]]:
    """Every task with its numbers."""
    for c, core in enumerate(tables.cores):
        for t, task in enumerate(core.tasks):
            yield c, t, core, task


def _number(picoseconds: int) -> str:
    """With separators between the thousands, as C++ writes them."""
    return f"{picoseconds:,}".replace(",", "'")


def remarks(tables: Tables) -> list[str]:
    """What whoever reads the tables should know: where figures come from, and what does not hold."""
    lines = list(tables.notes)
    lines += [
        f"NOT SCHEDULABLE: {name} may miss its deadline; written because of --force" for name in tables.late
    ]
    return lines


def _head(tables: Tables, more: Iterable[str]) -> str:
    lines = []
    for line in (HEAD.format(name=tables.name, platform=tables.platform), *more):
        # A line that ends in a backslash would go on.
        lines += textwrap.wrap(line.replace("\\", "/"), WIDTH - 3) or [""]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def _script_head(tables: Tables, text: str) -> str:
    said = HEAD.format(name=tables.name, platform=tables.platform)
    said = " ".join(said.split()).replace("*/", "* /")
    return f"/* {said}\n   {text} */\n"


_TIMES = """
// Times in the kernel's ticks; below they stand in picoseconds.
namespace detail {

// Not constexpr: a time that is no whole number of ticks ends the compilation here. Choose another clock
// or, for a slot, another length.
Ticks a_time_is_no_whole_number_of_ticks() noexcept;

struct Quotient {
    Ticks whole;
    bool rest;
};

// Exact, in 64 bits: picoseconds * rate / 10^12.
constexpr Quotient ticks_of(std::uint64_t picoseconds, Ticks rate) noexcept {
    constexpr std::uint64_t second = 1'000'000'000'000;
    const std::uint64_t part = picoseconds % second;
    std::uint64_t whole = 0;
    std::uint64_t rest = 0;
    for (int bit = 63; bit >= 0; --bit) {
        rest = 2 * rest + ((rate >> static_cast<unsigned>(bit) & 1U) != 0 ? part : 0);
        whole = 2 * whole + rest / second;
        rest %= second;
    }
    return {picoseconds / second * rate + whole, rest != 0};
}
template <Ticks rate>
consteval Ticks exactly(std::uint64_t picoseconds) {
    const Quotient q = ticks_of(picoseconds, rate);
    return q.rest ? a_time_is_no_whole_number_of_ticks() : q.whole;
}
template <Ticks rate>
consteval Ticks at_least(std::uint64_t picoseconds) {
    const Quotient q = ticks_of(picoseconds, rate);
    return q.whole + (q.rest ? 1 : 0);
}
template <Ticks rate>
consteval Ticks at_most(std::uint64_t picoseconds) {
    return ticks_of(picoseconds, rate).whole;
}

}  // namespace detail
"""


def _row(tables: Tables, task: PlannedTask) -> str:
    symbol = f"consort_{identifier(task.name)}"
    release = "sporadic" if task.sporadic else "periodic"
    on_overrun = tables.on_overrun.replace("-", "_")
    code = f"{symbol}_code" if task.size["code"] else "nullptr"
    data = f"{symbol}_data" if task.size["data"] else "nullptr"
    size = ", ".join(f".{part} = {task.size[part]}" for part in PARTS)
    return (
        f"    // {task.name}\n"
        f"    {{.period = detail::exactly<rate>({_number(task.period)}),\n"
        f"     .deadline = detail::exactly<rate>({_number(task.deadline)}),\n"
        f"     .offset = detail::exactly<rate>({_number(task.offset)}),\n"
        f"     .budget = detail::at_least<rate>({_number(task.budget)}),\n"
        f"     .release = spm::Release::{release},\n"
        f"     .on_overrun = spm::OnOverrun::{on_overrun},\n"
        f"     .on_miss = spm::OnMiss::{task.on_miss},\n"
        f"     .size = {{{size}}},\n"
        f"     .code = {code},\n"
        f"     .data = {data}}},\n"
    )


def _tables(tables: Tables) -> str:
    cores = tables.cores
    text = _head(tables, ["", *remarks(tables)])
    text += "#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\n"
    text += '#include "consort/spm/handover.hpp"\n#include "consort/spm/schedule.hpp"\n'
    text += '#include "consort/spm/task.hpp"\n\n'
    text += '// Where they are: consort-memory.ld.\nextern "C" {\n'
    for core in cores:
        for p in range(PARTITIONS):
            text += f"extern std::byte consort_{identifier(core.name)}_partition_{p}[];\n"
    for _, _, _, task in _places(tables):
        name = identifier(task.name)
        text += f"extern const std::byte consort_{name}_code[];\n" if task.size["code"] else ""
        text += f"extern std::byte consort_{name}_data[];\n" if task.size["data"] else ""
    text += "}\n\nnamespace consort::tables {\n"
    text += _TIMES
    text += f"\ninline constexpr std::uint32_t cores = {len(cores)};\n"
    most = max(len(core.tasks) for core in cores)
    text += f"inline constexpr std::uint32_t most_tasks = {most};  // of a core\n"
    text += "\n// The numbers of a task's core, and of the task there.\nstruct Place {\n"
    text += "    std::uint32_t core;\n    std::uint32_t task;\n};\n"
    for c, t, _, task in _places(tables):
        text += f"inline constexpr Place place_{identifier(task.name)}{{{c}, {t}}};\n"
    text += "\ninline constexpr const char* core_name[cores] = {"
    text += ", ".join(f'"{core.name}"' for core in cores) + "};\n"
    text += "inline constexpr const char* task_name[cores][most_tasks] = {\n"
    for core in cores:
        text += _list([f'"{task.name}"' for task in core.tasks])
    text += "};\n\n// In priority order, the most urgent first; `rate` is the clock's ticks a second.\n"
    for core in cores:
        text += f"template <Ticks rate>\ninline constexpr spm::Task {identifier(core.name)}[] = {{\n"
        text += "".join(_row(tables, task) for task in core.tasks) + "};\n"
    text += "\ntemplate <Ticks rate>\ninline constexpr spm::TaskTable task_table[cores] = {\n"
    for core in cores:
        text += f"    {{{identifier(core.name)}<rate>, {len(core.tasks)}}},\n"
    text += "};\n\ninline constexpr std::uint32_t partition_bytes[cores] = {"
    text += ", ".join(str(core.partition_bytes) for core in cores)
    text += "};\ninline constexpr std::byte* partition[cores][spm::partitions] = {\n"
    for core in cores:
        name = identifier(core.name)
        text += _list([f"consort_{name}_partition_{p}" for p in range(PARTITIONS)])
    text += "};\n\ntemplate <Ticks rate>\ninline constexpr spm::Slot slots[cores] = {\n"
    for c, core in enumerate(cores):
        text += f"    {{{c}, detail::exactly<rate>({_number(core.slot)})}},\n"
    kind = tables.arbitration.replace("-", "_")
    text += f"""}};

// `start`: of the first slot.
template <Ticks rate>
[[nodiscard]] constexpr spm::Schedule schedule(Ticks start) noexcept {{
    return {{.arbitration = spm::Arbitration::{kind},
            .slots = slots<rate>,
            .count = cores,
            .start = start,
            .tolerance = detail::at_most<rate>({_number(tables.tolerance)})}};
}}

"""
    text += "// The description's sizes in the kernel's own layout.\n"
    for c, _, _, task in _places(tables):
        size = ", ".join(str(task.size[part]) for part in PARTS)
        text += (
            f"static_assert(spm::layout_of({{{size}}}).bytes == {task.offsets['end']} &&"
            f" {task.offsets['end']} <= partition_bytes[{c}]);\n"
        )
    return text + "\n}  // namespace consort::tables\n"


def _list(items: list[str]) -> str:
    """A braced list that keeps to the line's width."""
    lines, line = [], "    {"
    for i, item in enumerate(items):
        piece = item + (", " if i + 1 < len(items) else "},")
        if len(line) + len(piece) > WIDTH and line.strip("{ "):
            lines.append(line.rstrip())
            line = "     "
        line += piece
    return "\n".join([*lines, line]) + "\n"


def _io(tables: Tables) -> str:
    text = _head(
        tables,
        [
            "",
            "The I/O core's: what tasks subscribe to, their mirror buffers, plain buffers of the others.",
        ],
    )
    text += '#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\n#include "consort-tables.hpp"\n'
    text += '#include "consort/spm/io.hpp"\n\nnamespace consort::tables {\n\nnamespace memory {\n'
    tasks = list(_places(tables))
    for _, _, _, task in tasks:
        for part, box in (("inputs", task.input), ("outputs", task.output)):
            size = 2 * box.bytes if box is not None else task.size[part]
            if size:
                what = f"  // {_said(box)}" if box is not None else ""
                name = f"{identifier(task.name)}_{part}"
                text += f"alignas(spm::part_alignment) inline std::byte {name}[{size}];{what}\n"
    text += "}  // namespace memory\n\n"
    mirrored = [(c, t, task) for c, t, _, task in tasks if task.input is not None or task.output is not None]
    text += f"inline constexpr std::uint32_t mirror_count = {len(mirrored)};\n"
    if mirrored:
        text += "inline constexpr spm::MirrorSetup mirror_list[mirror_count] = {\n"
        for c, t, task in mirrored:
            name = identifier(task.name)
            keep = task.input is not None and task.input.keep_all
            text += f"    {{.core = {c},\n     .task = {t},\n     .input = {_shape(task.input)},\n"
            text += f"     .output = {_shape(task.output)},\n"
            text += f"     .on_full = spm::OnFull::{'refuse' if keep else 'overwrite'},\n"
            text += f"     .input_memory = {f'memory::{name}_inputs' if task.input else 'nullptr'},\n"
            text += f"     .output_memory = {f'memory::{name}_outputs' if task.output else 'nullptr'}}},\n"
        text += "};\ninline constexpr const spm::MirrorSetup* mirrors = mirror_list;\n"
    else:
        text += "inline constexpr const spm::MirrorSetup* mirrors = nullptr;\n"
    numbers = {task.name: (c, t) for c, t, _, task in tasks}
    text += f"\ninline constexpr std::uint32_t subscription_count = {len(tables.subscriptions)};\n"
    if tables.subscriptions:
        text += "inline constexpr spm::Subscription subscription_list[subscription_count] = {\n"
        for s in tables.subscriptions:
            c, t = numbers[s.task]
            text += f"    {{{c}, {t}, {s.flow:#x}, {s.mask:#x}}},  // {s.task}: {s.channel}\n"
        text += "};\ninline constexpr const spm::Subscription* subscriptions = subscription_list;\n"
    else:
        text += "inline constexpr const spm::Subscription* subscriptions = nullptr;\n"
    text += "\n// Of tasks without mirrors: what a load brings, and where an unload goes.\n"
    for part, of in (("inputs", "input"), ("outputs", "output")):
        text += f"inline constexpr std::byte* plain_{part}[cores][most_tasks] = {{\n"
        for core in tables.cores:
            items = [
                f"memory::{identifier(task.name)}_{part}"
                if task.size[part] and getattr(task, of) is None
                else "nullptr"
                for task in core.tasks
            ]
            text += _list(items)
        text += "};\n"
    return text + "\n}  // namespace consort::tables\n"


def _said(box: Box) -> str:
    full = "nothing is overwritten" if box.keep_all else "the newest stay"
    return f"twice {box.capacity} of {box.payload} bytes; {full}"


def _shape(box: Box | None) -> str:
    return "{}" if box is None else f"{{.capacity = {box.capacity}, .payload = {box.payload}}}"


def _memory(tables: Tables) -> str:
    text = _script_head(tables, "Before the program's own script: -T consort-memory.ld -T program.ld.")
    for core in tables.cores:
        if core.address is not None:
            text += f"\n/* {core.name}: {PARTITIONS} x {core.partition_bytes} bytes */\n"
            for p in range(PARTITIONS):
                place = core.address + p * core.partition_bytes
                text += f"consort_{identifier(core.name)}_partition_{p} = {place:#x};\n"
    if tables.images:
        text += "\n/* The loader puts each task's image there. */\n"
        for _, _, _, task in _places(tables):
            for part, address in zip(PARTS[:2], tables.images[task.name], strict=True):
                if task.size[part]:
                    text += f"consort_{identifier(task.name)}_{part} = {address:#x};\n"
    sections = ""
    checks = ""
    for _, _, _, task in () if tables.images else _places(tables):
        for part in PARTS[:2]:
            if task.size[part]:
                sections += _image_section(task, part, tables.region)
                checks += _check(f".consort.{task.name}.{part}", task.size[part], f"{task.name}: its {part}")
    if sections:
        text += f"\nSECTIONS\n{{\n{sections}}}\nINSERT AFTER .data;\n{checks}"
    unplaced = [core for core in tables.cores if core.address is None]
    sections = "".join(_scratchpad_section(core, tables.region) for core in unplaced)
    if sections:
        text += f"\nSECTIONS\n{{\n{sections}}}\nINSERT AFTER .bss;\n"
    return text


def _image_section(task: PlannedTask, part: str, region: str) -> str:
    section = f".consort.{task.name}.{part}"
    return (
        f"  {section} : ALIGN(64)\n  {{\n    consort_{identifier(task.name)}_{part} = .;\n"
        f"    KEEP(*({section}))\n    . = MAX(., {task.size[part]});\n  }}{_in(region)}\n"
    )


def _check(section: str, size: int, what: str) -> str:
    return (
        f'ASSERT(SIZEOF({section}) <= {size}, "{what} is larger than the {size} bytes that were planned")\n'
    )


def _in(region: str) -> str:
    return f" > {region}" if region else ""


def _scratchpad_section(core: PlannedCore, region: str) -> str:
    name = identifier(core.name)
    places = "".join(
        f"    consort_{name}_partition_{p} = .;\n    . += {core.partition_bytes};\n"
        for p in range(PARTITIONS)
    )
    return f"  .consort.{core.name}.scratchpad (NOLOAD) : ALIGN(64)\n  {{\n{places}  }}{_in(region)}\n"


def _image(tables: Tables, core: PlannedCore, task: PlannedTask) -> str:
    at = task.offsets
    said = (
        f"Links {task.name} into the image that {core.name} executes from either partition. Its parts keep\n"
        "   these distances, so code that finds them relative to itself (-fpie -fvisibility=hidden) runs\n"
        "   anywhere; what would need an absolute address is refused. Section .consort.entry comes first."
    )
    return f"""{_script_head(tables, said)}
SECTIONS
{{
  . = 0;
  .code : ALIGN(64)
  {{
    KEEP(*(.consort.entry))
    *(.text .text.*)
    *(.rodata .rodata.* .srodata .srodata.*)
    . = MAX(., {task.size["code"]});
  }}
  .absolute :
  {{
    *(.got .got.* .igot .igot.* .data.rel .data.rel.* .init_array .init_array.* .ctors .ctors.*)
  }}
  . = {at["data"]:#x};
  .data : ALIGN(64)
  {{
    *(.data .data.* .sdata .sdata.*)
    *(.bss .bss.* .sbss .sbss.* COMMON)
    . = MAX(., {task.size["data"]});
  }}
  consort_inputs = {at["inputs"]:#x};
  consort_outputs = {at["outputs"]:#x};
  /DISCARD/ : {{ *(.note .note.* .comment .eh_frame .eh_frame_hdr .ARM.exidx* .ARM.extab* .ARM.attributes) }}
}}
{_check(".code", task.size["code"], f"{task.name}: its code")}\
{_check(".data", task.size["data"], f"{task.name}: its data")}\
ASSERT(SIZEOF(.absolute) == 0, "{task.name}: has absolute addresses, or constructors, and cannot be moved")
"""


def _map(tables: Tables) -> str:
    """What lies where: each partition with each task that may be in it, and the images."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["memory", "place", "begin", "bytes", "task", "part", "offset", "part_bytes"])
    for core in tables.cores:
        for p in range(PARTITIONS):
            begin = "" if core.address is None else f"{core.address + p * core.partition_bytes:#x}"
            for task in core.tasks:
                at = task.offsets
                head = [core.name, f"partition {p}", begin, core.partition_bytes, task.name]
                for part in PARTS:
                    rows.writerow([*head, part, at[part], task.size[part]])
                rows.writerow([*head, "free", at["end"], core.partition_bytes - at["end"]])
    for _, _, _, task in _places(tables):
        addresses = tables.images.get(task.name)
        for i, part in enumerate(PARTS[:2]):
            begin = "" if addresses is None else f"{addresses[i]:#x}"
            rows.writerow(
                ["main", "image", begin, aligned(task.size[part]), task.name, part, 0, task.size[part]]
            )
    return out.getvalue()


def summary(tables: Tables) -> list[str]:
    """What `consort generate` says of the tables."""
    lines = remarks(tables)
    for bound in tables.bounds:
        response = "no bound" if bound.response is None else in_words(bound.response)
        deadline = "" if bound.deadline is None else f" of {in_words(bound.deadline)}"
        lines.append(f"{bound.core} {bound.task}: response at most {response}{deadline}")
    return lines
