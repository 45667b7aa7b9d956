# SPDX-License-Identifier: Apache-2.0
"""The expected state: windows, possible answers to an access to one while it changes, and the bytes
behind."""

from __future__ import annotations

from dataclasses import dataclass, field

from axi import LANES, Answer, Burst

PAGE = 4096
PAGES = 8  # of a segment
BLOCK = 256  # no access runs beside a write to the same block
OKAY, SLVERR, DECERR = 0, 2, 3


@dataclass(frozen=True)
class Mapping:
    """The state of a window at a time. No segment and not stale: closed."""

    segment: int | None = None  # of the two that belong to the window
    readable: bool = False
    writable: bool = False
    stale: bool = False  # the mBlock knows its handle no more


CLOSED = Mapping()


@dataclass(eq=False)
class Segment:
    """Bytes of a segment as they must be, and where it is not known which of several values they have."""

    memory: int
    base: int  # address in the memory
    sure: bytearray = field(default_factory=lambda: bytearray(PAGES * PAGE))
    maybe: dict[int, set[int]] = field(default_factory=dict)

    def put(self, place: int, value: int, certain: bool) -> None:
        """A byte was written, or perhaps was."""
        if certain:
            self.sure[place] = value
            self.maybe.pop(place, None)
        elif self.sure[place] != value or place in self.maybe:
            self.maybe.setdefault(place, {self.sure[place]}).add(value)

    def holds(self, place: int, value: int) -> bool:
        """True if this may be the byte."""
        return value in self.maybe.get(place, (self.sure[place],))

    def was_read(self, place: int, value: int) -> None:
        """This was the byte, so it is from now on."""
        if self.maybe.pop(place, None):
            self.sure[place] = value


def bad_place(offset: int) -> bool:
    """Places of a segment where the memory fails: the end of its last page but one."""
    return (PAGES - 1) * PAGE - 1024 <= offset < (PAGES - 1) * PAGE


@dataclass(eq=False)
class Window:
    """A window of a port, its two segments, and everything under way there."""

    port: int
    number: int
    link: int
    memory: int
    first_index: int  # of its segments in the link's table
    pages: int  # those beyond the segment's are refused by the mBlock
    segments: list[Segment]
    may_be: set[Mapping] = field(default_factory=lambda: {CLOSED})
    generation: list[int] = field(default_factory=lambda: [0, 0])
    under_way: set[Access] = field(default_factory=set)
    writing: set[int] = field(default_factory=set)
    reading: dict[int, int] = field(default_factory=dict)

    @property
    def address(self) -> int:
        return 0x4_0000_0000 + self.port * 0x1_0000_0000 + self.number * 0x1000_0000

    def changes_to(self, mapping: Mapping) -> None:
        """From now on it may be this as well."""
        self.may_be.add(mapping)
        for access in self.under_way:
            access.may_be.add(mapping)

    def is_now(self, mapping: Mapping) -> None:
        """The change is over."""
        self.may_be = {mapping}

    @property
    def mapping(self) -> Mapping:
        (mapping,) = self.may_be
        return mapping


@dataclass(eq=False)
class Access:
    """One burst to a window, with all that the window may have been meanwhile."""

    window: Window
    burst: Burst
    beats: list[tuple[int, int]] | None  # of a write: data and strobes
    may_be: set[Mapping] = field(default_factory=set)
    link_may_fail: bool = False

    def __post_init__(self) -> None:
        self.may_be |= self.window.may_be
        offset = self.burst.addr - self.window.address
        places = [at - self.window.address for at, _ in self.burst.places()]
        ends = [end - self.window.address for _, end in self.burst.places()]
        self.blocks = set(range(min(places) // BLOCK, (max(ends) - 1) // BLOCK + 1))
        self.beyond = offset >= PAGES * PAGE
        self.offsets = list(zip(places, ends, strict=True))

    def free(self) -> bool:
        """True if nothing else that is under way stands in its way."""
        window = self.window
        if window.writing & self.blocks:
            return False
        return self.beats is None or not any(window.reading.get(block) for block in self.blocks)

    def begin(self) -> None:
        self.window.under_way.add(self)
        if self.beats is not None:
            self.window.writing |= self.blocks
        else:
            for block in self.blocks:
                self.window.reading[block] = self.window.reading.get(block, 0) + 1

    def end(self) -> None:
        self.window.under_way.discard(self)
        if self.beats is not None:
            self.window.writing -= self.blocks
        else:
            for block in self.blocks:
                self.window.reading[block] -= 1

    # One mapping's response to beat i.
    def _says(self, mapping: Mapping, i: int) -> int:
        if mapping == CLOSED:
            return DECERR
        right = mapping.writable if self.beats is not None else mapping.readable
        if mapping.stale or self.beyond or not right:
            return SLVERR
        return SLVERR if bad_place(self.offsets[i][0]) else OKAY

    def check_read(self, answer: Answer) -> str:
        """The kind of an answer; AssertionError where none of the mappings allows it."""
        why = []
        for mapping in sorted(self.may_be, key=repr):
            wrong = self._wrong_read(mapping, answer)
            if not wrong:
                if len(self.may_be) == 1:
                    self._remember(mapping, answer)
                return self.kind(mapping, max(answer.resps))
            why.append(f"{mapping}: {wrong}")
        raise AssertionError(
            f"{self.burst} at window {self.window.number} answers {answer.resps}: {'; '.join(why)}"
        )

    def _remember(self, mapping: Mapping, answer: Answer) -> None:
        for i, resp in enumerate(answer.resps):
            if resp == OKAY:
                for place in range(*self.offsets[i]):
                    lane = (self.window.address + place) % LANES
                    self.window.segments[mapping.segment].was_read(place, answer.data[i][lane])

    def _wrong_read(self, mapping: Mapping, answer: Answer) -> str:
        failed = False
        for i, resp in enumerate(answer.resps):
            says = self._says(mapping, i)
            if self.link_may_fail and resp == SLVERR and says != DECERR:
                failed = True
                continue
            if failed and says == OKAY:
                return f"beat {i} is good after the link failed"
            if resp != says:
                return f"beat {i} should be {says}"
            if resp == OKAY:
                segment = self.window.segments[mapping.segment]
                at, end = self.offsets[i]
                for place in range(at, end):
                    lane = (self.window.address + place) % LANES
                    if not segment.holds(place, answer.data[i][lane]):
                        return f"byte {place:#x} is {answer.data[i][lane]:#x}, not {segment.sure[place]:#x}"
        return ""

    def check_write(self, answer: Answer) -> str:
        """The same, and the bytes become what they are, or may be."""
        (resp,) = answer.resps
        agree = []
        for mapping in self.may_be:
            says = {self._says(mapping, i) for i, (_, strobes) in enumerate(self.beats) if strobes} or {OKAY}
            worst = max(says | {self._says(mapping, i) for i in range(len(self.beats))} & {DECERR})
            if mapping != CLOSED and (self.beyond or mapping.stale or not mapping.writable):
                worst = SLVERR
            if resp == worst or (self.link_may_fail and resp == SLVERR and worst != DECERR):
                agree.append(mapping)
        assert agree, f"{self.burst} at window {self.window.number} answers {resp}: may be {self.may_be}"
        # With an error the one that was asked for may have been carried out or not.
        reached = [
            m for m in (agree if resp == OKAY else self.may_be) if m.segment is not None and m.writable
        ]
        certain = len(agree) == 1 and (resp == OKAY or (len(self.may_be) == 1 and not self.link_may_fail))
        if resp == DECERR or (certain and agree[0].stale):
            reached = []
        for mapping in reached:
            self._apply(self.window.segments[mapping.segment], certain)
        return self.kind(agree[0], resp)

    def _apply(self, segment: Segment, certain: bool) -> None:
        if self.beyond:
            return
        for (at, _), (data, strobes) in zip(self.offsets, self.beats, strict=True):
            word = at & -LANES
            for lane in range(LANES):
                if strobes >> lane & 1 and not bad_place(word):
                    segment.put(word + lane, data >> 8 * lane & 255, certain)

    def kind(self, mapping: Mapping, resp: int) -> str:
        """The bin of an answer."""
        if resp == OKAY:
            return "okay"
        if mapping == CLOSED:
            return "unmapped"
        if self.link_may_fail:
            return "link down"
        if mapping.stale or self.beyond:
            return "refused by the mblock"
        right = mapping.writable if self.beats is not None else mapping.readable
        return "memory error" if right else "forbidden"
