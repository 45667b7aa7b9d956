# SPDX-License-Identifier: Apache-2.0
"""Simulators that share nothing with the engine but the written semantics: tick by tick, over plain dicts.

A task is a dict: core, master, rank, deadline, perhaps `threshold` (what preempts a job of it that has begun
is more urgent than that), and `jobs`, a list of (nominal, actual, execution). Local
ones may suspend themselves (`suspend`: a list of (executed before, length)); offloaded ones have send,
receive, request, response, fallback, give_up, on_miss. The result is when each job finished or was given up:
{(task, job): time}.
"""

from __future__ import annotations

from itertools import count
from typing import Any

Finishes = dict[tuple[int, int], int]


def processors(cores: list[dict[str, Any]], tasks: list[dict[str, Any]]) -> Finishes:
    done: Finishes = {}
    active: list[Any] = [None] * len(tasks)
    upcoming = [0] * len(tasks)
    parts: list[Any] = []  # ready or running
    on: list[Any] = [None] * len(cores)
    queue: list[list[Any]] = [[] for _ in cores]
    mail: list[tuple[int, str, int, int]] = []
    order = count()
    now, stop = 0, 1 << 60

    def keeps(t: int) -> bool:
        # While a job waits for an answer; one that suspends itself gives its core up.
        return bool(cores[tasks[t]["master"]].get("keeps")) and "send" in tasks[t]

    def begin(t: int, length: int, what: str) -> None:
        active[t]["what"] = what
        for part in parts if keeps(t) else []:
            if part["job"] is active[t]:
                part["left"] = length
                return
        if length == 0 and not keeps(t):
            end(t)
            return
        edf = cores[tasks[t]["master"]]["policy"] == "edf"
        key = active[t]["nominal"] + tasks[t]["deadline"] if edf else tasks[t]["rank"]
        parts.append({"t": t, "job": active[t], "left": length, "key": (key, next(order)), "switch": 0})

    def last(t: int) -> bool:
        return active[t]["what"] != "first" or not ("send" in tasks[t] or "suspend" in tasks[t])

    def end(t: int) -> None:
        task, k = tasks[t], active[t]["k"]
        if not last(t):
            active[t]["what"] = "away"
            for part in parts:
                if part["job"] is active[t]:
                    part["left"] = 1 << 60
            what, delay = (
                ("0request", task["request"]) if "send" in task else ("2wake", task["suspend"][k][1])
            )
            mail.append((now + delay, what, t, k))
        else:
            done[t, k], active[t] = now, None
            upcoming[t] += 1

    def deliver(what: str, t: int, k: int) -> None:
        task = tasks[t]
        if what == "0request":
            waiting, entry = queue[task["core"]], {"t": t, "k": k, "left": task["jobs"][k][2], "switch": 0}
            at = next((i for i, other in enumerate(waiting) if other["t"] == t), len(waiting))
            waiting[at : at + 1] = [entry]
        elif active[t] is not None and active[t]["k"] == k and active[t]["what"] == "away":
            begin(
                t, task["receive"] if "send" in task else task["jobs"][k][2] - task["suspend"][k][0], "second"
            )

    def give_up(t: int) -> None:
        nonlocal stop
        for part in [p for p in parts if p["job"] is active[t]]:
            if not (keeps(t) and part in on and tasks[t]["on_miss"] == "local-fallback"):
                parts.remove(part)
                on[:] = [None if p is part else p for p in on]
        if tasks[t]["on_miss"] == "local-fallback":
            begin(t, tasks[t]["fallback"], "fallback")
            return
        stop = min(stop, now) if tasks[t]["on_miss"] == "stop" else stop
        active[t]["what"] = "held"
        end(t)

    def late(t: int) -> bool:
        if "send" not in tasks[t] or active[t] is None or active[t]["what"] not in ("first", "away"):
            return False
        return now >= active[t]["nominal"] + tasks[t]["give_up"]

    def job(t: int) -> Any:
        jobs = tasks[t]["jobs"]
        return jobs[upcoming[t]] if upcoming[t] < len(jobs) and jobs[upcoming[t]][0] < stop else None

    def instant() -> None:
        for core, part in enumerate(on):
            if part is not None and part["left"] == part["switch"] == 0:
                if cores[core]["policy"] == "worker":
                    on[core] = None
                    mail.append((now + tasks[part["t"]]["response"], "1answer", part["t"], part["k"]))
                    continue
                if not keeps(part["t"]) or last(part["t"]):
                    on[core] = None
                    parts.remove(part)
                end(part["t"])
        again = True
        while again:
            again = False
            while due := sorted(m for m in mail if m[0] == now):
                mail.remove(due[0])
                deliver(*due[0][1:])
            for t in range(len(tasks)):
                if late(t):
                    give_up(t)
                    again = True
            for t in range(len(tasks)):
                # A job of no length is over at once; the task's next one may be due as well.
                while active[t] is None and job(t) and job(t)[1] <= now:
                    active[t] = {"k": upcoming[t], "nominal": job(t)[0]}
                    first = tasks[t]["suspend"][upcoming[t]][0] if "suspend" in tasks[t] else job(t)[2]
                    begin(t, tasks[t].get("send", first), "first")
                    again = True
        for core, c in enumerate(cores):
            if c["policy"] == "worker":
                if on[core] is None and queue[core]:
                    urgent = c.get("by_rank") and min(queue[core], key=lambda r: tasks[r["t"]]["worker_rank"])
                    on[core] = urgent or queue[core][0]
                    queue[core].remove(on[core])
                continue
            ready = [p for p in parts if tasks[p["t"]]["master"] == core]
            best, running = min(ready, key=lambda p: p["key"], default=None), on[core]
            kept = running is not None and (
                c["policy"] == "fixed-priority-non-preemptive"
                or running["switch"] > 0
                or running["key"][0] <= best["key"][0]
            )
            if best is not None and not kept:
                on[core], best["switch"] = best, c["switch"]
                limit = tasks[best["t"]].get("threshold")
                if limit is not None:
                    best["key"] = (min(best["key"][0], limit), best["key"][1])

    while any(active) or mail or any(on) or any(queue) or any(job(t) for t in range(len(tasks))):
        instant()
        while any(p is not None and p["left"] == p["switch"] == 0 for p in on):
            instant()
        for part in on:
            if part is not None:
                part["switch" if part["switch"] else "left"] -= 1
        now += 1
    return done


def three_phase(cores: list[dict[str, Any]], tasks: list[dict[str, Any]], round_: int | None) -> Finishes:
    """`round_` is None for round robin; `slot` is then how long operations without own times take."""
    done: Finishes = {}
    waiting = [[(k, *job) for k, job in enumerate(task["jobs"])] for task in tasks]
    loaded: list[list[Any]] = [[] for _ in cores]
    operation: list[Any] = [None] * (1 if round_ is None else len(cores))
    now, turn = 0, 0

    def choose(core: int) -> Any:
        if len(loaded[core]) < cores[core]["partitions"]:
            could = [
                (task["rank"], waiting[t][0][2], t)
                for t, task in enumerate(tasks)
                if task["core"] == core and waiting[t] and waiting[t][0][2] <= now
            ]
            if could:
                return "load", min(could)[2]
        if loaded[core] and loaded[core][0]["in"] and loaded[core][0]["left"] == 0:
            return "unload", loaded[core][0]["t"]
        return None

    while any(waiting) or any(loaded):
        for at, running in enumerate(operation):
            if running is not None and running["until"] == now:
                operation[at] = None
                entry = running["entry"]
                entry["in"] = True
                if running["what"] == "unload":
                    done[entry["t"], entry["k"]] = now
                    loaded[running["core"]].pop(0)
        for place in range(len(cores)):
            core = place if round_ is not None else (turn + place) % len(cores)
            at = core if round_ is not None else 0
            begins = round_ is None or (
                (now - cores[core]["phase"]) % round_ == 0 and now >= cores[core]["phase"]
            )
            chosen = choose(core) if begins and operation[at] is None else None
            if chosen is None:
                continue
            what, t = chosen
            length = (tasks[t][what] if round_ is None else 0) or cores[core]["slot"]
            if what == "load":
                k, _nominal, _actual, execution = waiting[t].pop(0)
                entry = {"t": t, "k": k, "left": cores[core]["switch"] + execution, "in": False}
                loaded[core].append(entry)
            else:
                entry = loaded[core][0]
            operation[at] = {"what": what, "core": core, "until": now + length, "entry": entry}
            if round_ is None:
                turn = (core + 1) % len(cores)
                break
        for jobs in loaded:
            running = next((e for e in jobs if e["left"] > 0), None)
            if running is not None and running["in"]:
                running["left"] -= 1
        now += 1
    return done
