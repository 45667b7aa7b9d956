# SPDX-License-Identifier: Apache-2.0
"""A plan in the forms of Linux, Xen, Jailhouse, Bao and Zephyr. Each form: file name -> text."""

from __future__ import annotations

from collections.abc import Callable

from consort.errors import BadInput
from consort.generate.plan import Partition, Plan, ranges

HEAD = "Made by `consort generate` from {name} for {platform}; change the description, not this file."


def _comment(plan: Plan, begin: str = "/* ", end: str = " */") -> str:
    return begin + HEAD.format(name=plan.name, platform=plan.platform) + end + "\n"


def _cells(value: int) -> str:
    return f"0x{value >> 32:x} 0x{value & 0xFFFFFFFF:x}"


def _reserved(plan: Plan, indent: str) -> str:
    text = ""
    regions = [("consort_window", plan.window), *((f"consort_{p.core}", p.memory) for p in plan.partitions)]
    for label, region in regions:
        label = label.replace("-", "_")
        text += f"{indent}{label}: {label.replace('_', '-')}@{region.base:x} {{\n"
        text += f"{indent}\treg = <{_cells(region.base)} {_cells(region.bytes)}>;\n"
        text += f"{indent}\tno-map;\n{indent}}};\n"
    return text


def linux(plan: Plan) -> dict[str, str]:
    """A device tree overlay, a kernel command line, and what is left to set in user space."""
    overlay = (
        _comment(plan)
        + '/dts-v1/;\n/plugin/;\n\n/ {\n\tfragment@0 {\n\t\ttarget-path = "/";\n\t\t__overlay__ {\n'
        + "\t\t\t#address-cells = <2>;\n\t\t\t#size-cells = <2>;\n\t\t\treserved-memory {\n"
        + "\t\t\t\t#address-cells = <2>;\n\t\t\t\t#size-cells = <2>;\n\t\t\t\tranges;\n"
        + _reserved(plan, "\t\t\t\t")
        + "\t\t\t};\n\t\t};\n\t};\n};\n"
    )
    mine = ranges([p.cpu for p in plan.partitions])
    rest = ranges(plan.rest_cpus)
    line = f"isolcpus=managed_irq,domain,{mine} nohz_full={mine} rcu_nocbs={mine} irqaffinity={rest}\n"
    script = (
        "#!/bin/sh\n"
        + _comment(plan, "# ", "")
        + "# Interrupts that can be moved go to the operating system's cores; ordinary work stays there.\n"
        + "set -eu\nfor irq in /proc/irq/[0-9]*; do\n"
        + f'    echo {rest} > "$irq/smp_affinity_list" 2> /dev/null || true\ndone\n'
        + f"systemctl set-property --runtime user.slice AllowedCPUs={rest}\n"
        + f"systemctl set-property --runtime system.slice AllowedCPUs={rest}\n"
        + "mkdir -p /sys/fs/cgroup/consort\necho +cpuset > /sys/fs/cgroup/cgroup.subtree_control\n"
        + f"echo {mine} > /sys/fs/cgroup/consort/cpuset.cpus\n"
        + "echo isolated > /sys/fs/cgroup/consort/cpuset.cpus.partition\n"
    )
    return {"consort-linux.dtso": overlay, "consort-cmdline.txt": line, "consort-affinity.sh": script}


def _color_text(colors: tuple[int, int]) -> str:
    return str(colors[0]) if colors[0] == colors[1] else f"{colors[0]}-{colors[1]}"


def xen(plan: Plan) -> dict[str, str]:
    """Dom0less domains, one for each task core, and the hypervisor's command line."""
    text = _comment(plan) + '/dts-v1/;\n/plugin/;\n\n/ {\n\tfragment@0 {\n\t\ttarget-path = "/chosen";\n'
    text += "\t\t__overlay__ {\n"
    for p in plan.partitions:
        text += f'\t\t\t{p.core} {{\n\t\t\t\tcompatible = "xen,domain";\n'
        text += "\t\t\t\t#address-cells = <2>;\n\t\t\t\t#size-cells = <2>;\n\t\t\t\tcpus = <1>;\n"
        text += f"\t\t\t\tmemory = <{_cells(p.memory.bytes // 1024)}>;\n"
        if p.colors is None:
            # Static memory and colouring exclude one another in Xen.
            text += f"\t\t\t\txen,static-mem = <{_cells(p.memory.base)} {_cells(p.memory.bytes)}>;\n"
            text += "\t\t\t\tdirect-map;\n"
        else:
            text += f'\t\t\t\tllc-colors = "{_color_text(p.colors)}";\n'
        text += "\t\t\t\tshared-window {\n"
        text += '\t\t\t\t\tcompatible = "xen,domain-shared-memory-v1";\n\t\t\t\t\trole = "borrower";\n'
        text += f'\t\t\t\t\txen,shm-id = "consort";\n\t\t\t\t\txen,shared-mem = <{_cells(plan.window.base)} '
        text += f"{_cells(plan.window.base)} {_cells(plan.window.bytes)}>;\n\t\t\t\t}};\n\t\t\t}};\n"
    text += "\t\t};\n\t};\n};\n"
    words = [f"dom0_max_vcpus={len(plan.rest_cpus)}", "dom0_vcpus_pin", "sched=null"]
    if plan.rest_colors is not None:
        words += ["llc-coloring=on", f"dom0-llc-colors={_color_text(plan.rest_colors)}"]
    return {"consort-xen.dtso": text, "consort-xen-cmdline.txt": " ".join(words) + "\n"}


def jailhouse(plan: Plan) -> dict[str, str]:
    """One cell for each task core (configuration revision 14)."""
    if plan.gicd == 0:
        raise BadInput("--gicd: Jailhouse wants the address of the interrupt distributor")
    return {f"consort-{p.core}.c": _jailhouse_cell(plan, p) for p in plan.partitions}


def _irqchips(plan: Plan, irqs: tuple[int, ...]) -> str:
    """Bitmaps of 128 interrupts each, from 32 on: as many as the interrupts need."""
    bitmaps: dict[int, list[int]] = {}
    for irq in irqs:
        words = bitmaps.setdefault(32 + (irq - 32) // 128 * 128, [0, 0, 0, 0])
        words[(irq - 32) % 128 // 32] |= 1 << (irq % 32)
    return "".join(
        f"        {{\n            .address = 0x{plan.gicd:x},\n            .pin_base = {base},\n"
        f"            .pin_bitmap = {{{', '.join(f'0x{word:08x}' for word in words)}}},\n        }},\n"
        for base, words in bitmaps.items()
    )


def _jailhouse_cell(plan: Plan, p: Partition) -> str:
    memory = "JAILHOUSE_MEM_READ | JAILHOUSE_MEM_WRITE | JAILHOUSE_MEM_EXECUTE | JAILHOUSE_MEM_LOADABLE"
    shared = "JAILHOUSE_MEM_READ | JAILHOUSE_MEM_WRITE | JAILHOUSE_MEM_ROOTSHARED"
    chips = _irqchips(plan, (p.irq_to, p.irq_from))
    name = f"consort-{p.core}"
    return f"""{_comment(plan)}#include <jailhouse/types.h>
#include <jailhouse/cell-config.h>

struct {{
    struct jailhouse_cell_desc cell;
    __u64 cpus[1];
    struct jailhouse_memory mem_regions[2];
    struct jailhouse_irqchip irqchips[{chips.count(".address")}];
}} __attribute__((packed)) config = {{
    .cell = {{
        .signature = JAILHOUSE_CELL_DESC_SIGNATURE,
        .revision = JAILHOUSE_CONFIG_REVISION,
        .name = "{name}",
        .flags = JAILHOUSE_CELL_PASSIVE_COMMREG,
        .cpu_set_size = sizeof(config.cpus),
        .num_memory_regions = ARRAY_SIZE(config.mem_regions),
        .num_irqchips = ARRAY_SIZE(config.irqchips),
    }},
    .cpus = {{0x{1 << p.cpu:x}}},
    .mem_regions = {{
        {{
            .phys_start = 0x{p.memory.base:x},
            .virt_start = 0,
            .size = 0x{p.memory.bytes:x},
            .flags = {memory},
        }},
        {{
            .phys_start = 0x{plan.window.base:x},
            .virt_start = 0x{plan.window.base:x},
            .size = 0x{plan.window.bytes:x},
            .flags = {shared},
        }},
    }},
    .irqchips = {{
{chips}    }},
}};
"""


def bao(plan: Plan) -> dict[str, str]:
    """One configuration with a virtual machine for each task core."""
    images = "".join(f"VM_IMAGE({_symbol(p)}_image, XSTR({p.core}.bin))\n" for p in plan.partitions)
    machines = "".join(_bao_machine(plan, i, p) for i, p in enumerate(plan.partitions))
    return {
        "config.c": f"""{_comment(plan)}#include <config.h>

{images}
struct config config = {{
    CONFIG_HEADER
    .shmemlist_size = 1,
    .shmemlist = (struct shmem[]){{
        [0] = {{
            .base = 0x{plan.window.base:x},
            .size = 0x{plan.window.bytes:x},
            .place_phys = true,
            .phys = 0x{plan.window.base:x},
        }},
    }},
    .vmlist_size = {len(plan.partitions)},
    .vmlist = {{
{machines}    }},
}};
"""
    }


def _symbol(p: Partition) -> str:
    return p.core.replace("-", "_")


def _bao_machine(plan: Plan, index: int, p: Partition) -> str:
    colors = ""
    if p.colors is not None:
        mask = sum(1 << c for c in range(p.colors[0], p.colors[1] + 1))
        colors = f"            .colors = 0x{mask:x},\n"
    return f"""        [{index}] = {{
            .image = {{
                .base_addr = 0x{p.memory.base:x},
                .load_addr = VM_IMAGE_OFFSET({_symbol(p)}_image),
                .size = VM_IMAGE_SIZE({_symbol(p)}_image),
            }},
            .entry = 0x{p.memory.base:x},
            .cpu_affinity = 0x{1 << p.cpu:x},
{colors}            .platform = {{
                .cpu_num = 1,
                .region_num = 1,
                .regions = (struct vm_mem_region[]){{
                    {{.base = 0x{p.memory.base:x}, .size = 0x{p.memory.bytes:x}}},
                }},
                .ipc_num = 1,
                .ipcs = (struct ipc[]){{
                    {{
                        .base = 0x{plan.window.base:x},
                        .size = 0x{plan.window.bytes:x},
                        .shmem_id = 0,
                        .interrupt_num = 1,
                        .interrupts = (irqid_t[]){{{p.irq_to}}},
                    }},
                }},
            }},
        }},
"""


def zephyr(plan: Plan) -> dict[str, str]:
    """The window, and an ICMsg instance for each task core in 64 KiB each at the window's end."""
    each = 64 * 1024
    nodes = memory = ""
    for i, p in enumerate(plan.partitions):
        base = plan.window.end - (i + 1) * each
        for k, way in enumerate(("tx", "rx")):
            at = base + k * each // 2
            memory += f"\t\t{_symbol(p)}_{way}: memory@{at:x} {{\n"
            memory += f"\t\t\treg = <0x{at:x} 0x{each // 2:x}>;\n\t\t}};\n"
        nodes += (
            f'\tipc_{_symbol(p)}: ipc-{p.core} {{\n\t\tcompatible = "zephyr,ipc-icmsg";\n'
            f"\t\ttx-region = <&{_symbol(p)}_tx>;\n\t\trx-region = <&{_symbol(p)}_rx>;\n"
            f'\t\tmboxes = <&mbox {2 * i}>, <&mbox {2 * i + 1}>;\n\t\tmbox-names = "tx", "rx";\n'
            '\t\tdcache-alignment = <64>;\n\t\tstatus = "okay";\n\t};\n'
        )
    window = f"\t\tconsort_window: memory@{plan.window.base:x} {{\n\t\t\treg = <0x{plan.window.base:x} "
    window += f"0x{plan.window.bytes - each * len(plan.partitions):x}>;\n\t\t}};\n"
    text = _comment(plan) + "/ {\n\treserved-memory {\n\t\t#address-cells = <1>;\n\t\t#size-cells = <1>;\n"
    text += "\t\tranges;\n" + window + memory + "\t};\n" + nodes + "};\n"
    return {"consort.overlay": text}


FORMATS: dict[str, Callable[[Plan], dict[str, str]]] = {
    "bao": bao,
    "jailhouse": jailhouse,
    "linux": linux,
    "xen": xen,
    "zephyr": zephyr,
}


def files(plan: Plan, form: str) -> dict[str, str]:
    """The files of one form."""
    return FORMATS[form](plan)
