# SPDX-License-Identifier: Apache-2.0
"""Cause-effect chains: how long until a stimulus shows, and how old the data behind an output becomes.

docs/explanation/analyses.md, theorems 11 to 13 and 27.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

from consort import _engine
from consort.analysis.result import Bound, Step, Steps, in_words

_DOC = "docs/explanation/analyses.md"
REACTION_SOURCE = f"{_DOC}, theorem 11 (after Davare et al. 2007; Dürr, von der Brüggen, Chen & Chen 2019)"
AGE_SOURCE = f"{_DOC}, theorem 12 (after Dürr, von der Brüggen, Chen & Chen 2019)"
LET_SOURCE = f"{_DOC}, theorem 13 (exact: all moments of reading and writing are known)"
LET_BOUND_SOURCE = f"{_DOC}, theorems 11 and 12 with R = interval"


@dataclass(frozen=True)
class Link:
    """A task of a chain; times in ps.

    `period` is None for sporadic releases: then nothing bounds how long its next job lets itself be waited
    for. `response` is a bound of its response time from when a job is due, or None if there is none that
    holds. `interval` is its logical execution time.
    """

    name: str
    period: int | None
    response: int | None
    jitter: int = 0
    offset: int = 0
    interval: int = 0
    core: str = ""
    # True if fixed priorities order the jobs of its core, and no job of this task gives the core up before
    # its end.
    by_priority: bool = False
    level: int = 0
    # From its end to when the next task of the chain can read its data, where they are joined by a link; and
    # why nothing bounds that.
    delivery: int = 0
    undelivered: str = ""
    # How much longer than the newest block the oldest one waits for the next task, in a channel that hands
    # that out; and why nothing bounds it.
    in_order: bool = False
    behind: int = 0
    unread: str = ""
    # True if the blocks of the task before it release it, none of them early, else why not; `period` is then
    # that of the blocks. And how soon a job may be done, where it releases the next task.
    follows: bool = False
    unfollowed: str = ""
    least: int = 0


def _goes_before(first: Link, second: Link) -> bool:
    """True if no job of `second` begins from the release of one of `first` until that one's data is there."""
    return (
        not first.delivery
        and first.by_priority
        and second.by_priority
        and first.core == second.core != ""
        and first.level < second.level
    )


def implicit(
    name: str, links: Sequence[Link], *, reaction: int | None = None, age: int | None = None
) -> list[Bound]:
    """Reaction time and data age of a chain whose tasks read when a job begins and write when it ends.

    `reaction` and `age` are what is allowed [ps].
    """
    assumptions = (
        "a job reads its inputs when it begins and writes its outputs when it ends",
        "every task of the chain is periodic from its offset on; a stimulus comes when the first has begun"
        + (
            ", or is released by the blocks of the one before it"
            if any(link.follows for link in links)
            else ""
        ),
        "response times as bounded by the analyses of their cores",
        "writing and reading take no time of their own beyond the execution times"
        + (" and the transfers over links" if any(link.delivery for link in links) else ""),
    )
    why = _unbounded(links)
    more = [27] if any(link.follows for link in links) else []
    more += [37] if any(link.in_order for link in links) else []
    results = []
    for kind, allowed, source in (
        ("reaction time", reaction, REACTION_SOURCE),
        ("data age", age, AGE_SOURCE),
    ):
        steps = () if why else _steps(links, kind)
        if not why and kind == "reaction time":
            steps = max([steps, *_late_starts(links)], key=_length)
        results.append(
            Bound(
                task=name,
                response=None if why else _length(steps),
                deadline=allowed,
                source=source + "".join(f"; theorem {number}" for number in more),
                assumptions=assumptions,
                explanation=steps,
                notes=(why,) if why else _age_note(links, kind, steps),
                kind=kind,
            )
        )
    return results


def _unbounded(links: Sequence[Link]) -> str:
    if not links:
        raise ValueError("a chain needs a task")
    for link in links:
        if link.unfollowed:
            return f"{link.name} is released by blocks, which may come early: {link.unfollowed}"
        if link.period is None:
            return f"{link.name} is sporadic: its next job may be any time away"
        if link.response is None:
            return f"{link.name} has no response time that is guaranteed"
        if link.undelivered:
            return link.undelivered
        if link.unread:
            return link.unread
    return ""


def _length(steps: Sequence[Step]) -> int:
    return sum(step.length for step in steps)


def _late_starts(links: Sequence[Link]) -> Iterator[tuple[Step, ...]]:
    """The reactions that wait for the first job of a task, which comes later than its period.

    The stimulus comes no earlier than the first task's first job is due. After the last task whose first job
    the data waits for it waits for each at most a period.
    """
    for i, link in enumerate(links):
        late = link.offset - links[0].offset
        if i == 0 or link.follows or late <= 0:
            continue
        assert link.response is not None
        steps = Steps()
        steps.put("communication", f"{link.name} begins that much later than {links[0].name}", late)
        steps.put("own", f"{link.name}: its response time", link.response)
        if link.delivery:
            steps.put("communication", f"{link.name}'s data travels over a link", link.delivery)
        steps.put("communication", f"older blocks of {link.name} are read first", link.behind)
        yield _steps(links, "reaction time", i + 1, steps)


def _steps(links: Sequence[Link], kind: str, first: int = 0, before: Steps | None = None) -> tuple[Step, ...]:
    """The steps from the task `first` on, after those before it."""
    steps = Steps() if before is None else before
    for i, link in enumerate(links[first:], first):
        assert link.period is not None and link.response is not None
        wait = "the stimulus waits for" if i == 0 else f"{links[i - 1].name}'s data waits for"
        if link.follows:
            pass  # its job is due when the data is there, or its jitter before
        elif kind == "data age":
            wait = f"what {link.name} wrote waits to be replaced:"
            steps.put("communication", f"{wait} a period of {link.name}", link.period)
        else:
            steps.put("communication", f"{wait} {link.name}: its period", link.period)
        if i + 1 < len(links) and links[i + 1].follows:
            steps.put(
                "own",
                f"{link.name}: its shortest execution",
                link.least,
                note=f"what its response may take beyond is jitter of {links[i + 1].name}, which it releases",
            )
        elif i + 1 < len(links) and not link.follows and _goes_before(link, links[i + 1]):
            steps.put(
                "own",
                f"{link.name} comes late",
                link.jitter,
                note=f"not its response time: {links[i + 1].name} begins only when it is done",
            )
        else:
            steps.put("own", f"{link.name}: its response time", link.response)
        if link.delivery:
            steps.put("communication", f"{link.name}'s data travels over a link", link.delivery)
        steps.put("communication", f"older blocks of {link.name} are read first", link.behind)
    return steps.done()


def _age_note(links: Sequence[Link], kind: str, steps: Sequence[Step]) -> tuple[str, ...]:
    last = links[-1].period
    if kind != "data age" or last is None:
        return ()
    total = sum(step.length for step in steps)
    return (
        f"until the output is replaced; when it is written its data is at most {in_words(total - last)} old",
    )


def let(
    name: str, links: Sequence[Link], *, reaction: int | None = None, age: int | None = None
) -> list[Bound]:
    """Reaction time and data age under logical execution time: exact if the common period is not too long."""
    assumptions = (
        "a job's inputs are read when it is due, its outputs written when its interval ends; what is written"
        " at a moment can be read at that moment",
        "every job is done within its interval",
        "offsets as given, clocks of all cores the same",
    )
    if not links:
        raise ValueError("a chain needs a task")
    why = ""
    for link in links:
        if link.period is None:
            why = f"{link.name} is sporadic: its next job may be any time away"
            break
        if link.response is None:
            why = f"{link.name} has no response time that is guaranteed, so its interval may not hold"
            break
        if link.unread or link.behind:
            why = link.unread or "a channel of it hands out the oldest block, not the newest"
            break
        if link.response > link.interval:
            why = (
                f"{link.name} may take {in_words(link.response)}, longer than its interval of"
                f" {in_words(link.interval)}"
            )
            break
    if why:
        return [
            Bound(name, None, allowed, LET_SOURCE, assumptions, notes=(why,), kind=kind)
            for kind, allowed in (("reaction time", reaction), ("data age", age))
        ]
    periods = [link.period or 0 for link in links]
    tick = gcd(*periods, *(v for link in links for v in (link.offset, link.interval)))
    chain = [
        (p // tick, link.offset // tick, link.interval // tick)
        for p, link in zip(periods, links, strict=True)
    ]
    try:
        found = _engine.let_chain(chain)
    except OverflowError:
        found = None
    if found is None:
        # As if each job took its whole interval: sound, and never asks for a common period.
        total = sum(periods) + sum(link.interval for link in links)
        total_reaction = max(total, _length(_first_reaction(links)))
        note = "the common period is too long to follow every job: an upper bound"
        return [
            Bound(name, most, allowed, LET_BOUND_SOURCE, assumptions, notes=(note,), kind=kind)
            for kind, allowed, most in (
                ("reaction time", reaction, total_reaction),
                ("data age", age, total),
            )
        ]
    reaction_steps = _first_reaction(links)
    if _length(reaction_steps) > found["reaction"] * tick:
        note = "exact; the first reaction, before all tasks have begun: it is longer than any later one"
        first = Bound(
            name,
            _length(reaction_steps),
            reaction,
            LET_SOURCE,
            assumptions,
            reaction_steps,
            notes=(note,),
            kind="reaction time",
        )
        return [first, _let_age(name, found, tick, age, assumptions)]
    steps: list[Step] = []
    reads = [read * tick for read in found["reads"]]
    begin = reads[0] - periods[0]
    at = begin
    for i, (link, read) in enumerate(zip(links, reads, strict=True)):
        if read > at:
            who = "the stimulus" if i == 0 else f"{links[i - 1].name}'s data"
            steps.append(Step("communication", f"{who} waits for {link.name}", at - begin, read - at))
        steps.append(Step("own", f"{link.name}: its interval", read - begin, link.interval))
        at = read + link.interval
    least = in_words(found["least_reaction"] * tick)
    return [
        Bound(
            name,
            found["reaction"] * tick,
            reaction,
            LET_SOURCE,
            assumptions,
            tuple(steps),
            notes=(f"exact; the shortest reaction is {least}",),
            kind="reaction time",
        ),
        _let_age(name, found, tick, age, assumptions),
    ]


def _let_age(
    name: str, found: dict[str, int], tick: int, allowed: int | None, assumptions: tuple[str, ...]
) -> Bound:
    written = in_words(found["age_when_written"] * tick)
    return Bound(
        name,
        found["age"] * tick,
        allowed,
        LET_SOURCE,
        assumptions,
        notes=(f"exact, until the output is replaced; when it is written its data is at most {written} old",),
        kind="data age",
    )


def _first_reaction(links: Sequence[Link]) -> tuple[Step, ...]:
    """The reaction to a stimulus just after the first job of the first task reads.

    Of the stimuli that wait for a task's first job it waits longest; those that do not are followed as if all
    tasks had been running for ever.
    """
    steps = Steps()
    at = links[0].offset
    for i, link in enumerate(links):
        assert link.period is not None
        # The first stimulus is too late for the first job.
        later = -(-(at - link.offset) // link.period) if i else 1
        read = link.offset + max(later, 0) * link.period
        who = "the stimulus" if i == 0 else f"{links[i - 1].name}'s data"
        steps.put("communication", f"{who} waits for {link.name}", read - at)
        steps.put("own", f"{link.name}: its interval", link.interval)
        at = read + link.interval
    return steps.done()
