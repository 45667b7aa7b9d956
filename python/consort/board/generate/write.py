# SPDX-License-Identifier: Apache-2.0
"""A plan in the forms of Linux, Xen, Jailhouse, Bao and Zephyr; files, all together or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.owned import temporary_folder
from consort.base.toolchain.builds import Templates
from consort.board.generate.plan import MOST_EVENTS, Plan, one_period, ranges, refuse_regulation

HEAD = "Made by `consort generate` from {name} for {platform}; change the description, not this file."
# The part at the window's end for each task core's ICMsg instance.
ICMSG_BYTES = 64 * 1024


def _cells(value: int) -> str:
    """A number of 64 bits as two cells of a device tree."""
    return f"0x{value >> 32:x} 0x{value & 0xFFFFFFFF:x}"


def _symbol(name: str) -> str:
    return name.replace("-", "_")


def _span(colors: tuple[int, int]) -> str:
    return str(colors[0]) if colors[0] == colors[1] else f"{colors[0]}-{colors[1]}"


TEMPLATES = Templates("consort.board.generate", {"cells": _cells, "symbol": _symbol, "span": _span})


def _text(template: str, plan: Plan, **more: Any) -> str:
    head = HEAD.format(name=plan.name, platform=plan.platform)
    return TEMPLATES.render(f"{template}.j2", plan=plan, head=head, **more)


def linux(plan: Plan) -> dict[str, str]:
    """A device tree overlay, a kernel command line, and what is left to set in user space."""
    regions = [("consort_window", plan.window), *((f"consort_{p.core}", p.memory) for p in plan.partitions)]
    mine = ranges([p.cpu for p in plan.partitions])
    rest = ranges(plan.rest_cpus)
    made = {
        "consort-linux.dtso": _text("linux.dtso", plan, regions=regions),
        "consort-cmdline.txt": f"isolcpus=managed_irq,domain,{mine} nohz_full={mine} rcu_nocbs={mine}"
        f" irqaffinity={rest}\n",
        "consort-affinity.sh": _text("linux-affinity.sh", plan, mine=mine, rest=rest),
    }
    period = one_period(plan.regulations)
    if period is not None:
        limits = [MOST_EVENTS if one is None else one.events for one in plan.regulations]
        made["consort-memguard.sh"] = _text("memguard.sh", plan, period=period, limits=limits)
    return made


def xen(plan: Plan) -> dict[str, str]:
    """Dom0less domains, one for each task core, and the hypervisor's command line."""
    refuse_regulation(plan.regulations, "Xen has no budget of memory accesses")
    words = [f"dom0_max_vcpus={len(plan.rest_cpus)}", "dom0_vcpus_pin", "sched=null"]
    if plan.rest_colors is not None:
        words += ["llc-coloring=on", f"dom0-llc-colors={_span(plan.rest_colors)}"]
    return {"consort-xen.dtso": _text("xen.dtso", plan), "consort-xen-cmdline.txt": " ".join(words) + "\n"}


def jailhouse(plan: Plan) -> dict[str, str]:
    """One cell for each task core (configuration revision 14)."""
    if plan.gicd == 0:
        raise BadInput("--gicd: Jailhouse wants the address of the interrupt distributor")
    made = {
        f"consort-{p.core}.c": _text(
            "jailhouse-cell.c", plan, p=p, cpus=1 << p.cpu, bitmaps=_bitmaps((p.irq_to, p.irq_from))
        )
        for p in plan.partitions
    }
    if any(plan.regulations):
        made["consort-memguard.h"] = _text("memguard.h", plan)
    return made


def _bitmaps(irqs: tuple[int, ...]) -> dict[int, list[int]]:
    """Bitmaps of 128 interrupts each, from 32 on, by the first one: as many as the interrupts need."""
    bitmaps: dict[int, list[int]] = {}
    for irq in irqs:
        words = bitmaps.setdefault(32 + (irq - 32) // 128 * 128, [0, 0, 0, 0])
        words[(irq - 32) % 128 // 32] |= 1 << (irq % 32)
    return bitmaps


def bao(plan: Plan) -> dict[str, str]:
    """One configuration with a virtual machine for each task core."""
    refuse_regulation(
        plan.regulations, "Bao has no budget of memory accesses yet (its pull request 373 is one)"
    )
    machines = []
    for p in plan.partitions:
        colors = 0 if p.colors is None else sum(1 << c for c in range(p.colors[0], p.colors[1] + 1))
        machines.append((p, 1 << p.cpu, colors))
    return {"config.c": _text("bao-config.c", plan, machines=machines)}


def zephyr(plan: Plan) -> dict[str, str]:
    """The window, and an ICMsg instance for each task core in 64 KiB each at the window's end."""
    refuse_regulation(plan.regulations, "Zephyr has no budget of memory accesses")
    return {"consort.overlay": _text("zephyr.overlay", plan, each=ICMSG_BYTES)}


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


def write_together(out: Path, files: dict[str, str]) -> list[Path]:
    """Writes all into a folder of their own first; `out` changes only when every one is written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise BadInput("is not a folder", file=out) from error
    except OSError as error:
        raise _cannot(out, error) from error
    try:
        with temporary_folder("files", out) as fresh:
            for name, text in files.items():
                if (out / name).is_dir():
                    raise BadInput("is a folder, and a file has to be written there", file=out / name)
                (fresh / name).write_text(text, encoding="utf-8")
            for name in files:
                (fresh / name).replace(out / name)
    except OSError as error:
        raise _cannot(out, error) from error
    return [out / name for name in files]


def _cannot(out: Path, error: OSError) -> EnvironmentLacks:
    return EnvironmentLacks(f"{out} cannot be written ({error.strerror})", "choose another --out")
