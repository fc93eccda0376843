"""Reading a zip file from someone you may not know, one member at a time.

Python's ``zipfile`` reads the whole list of members at once, and refuses all of them if one entry is wrong: then one
damaged hand-in would hide a class. Here each entry is read by itself, and what's wrong with one is said of that one.
Nothing that a file says about a size is believed: a member is unpacked in pieces, up to the bytes that a caller allows.
"""

import bisect
import io
import os
import struct
import zlib
from array import array
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

# How the parts of a zip file begin, and how many bytes each of them has at least.
MEMBER, ENTRY, END, END_64, FINDS_END_64 = b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7"
MEMBER_HEAD, ENTRY_HEAD, END_HEAD, END_64_HEAD, FINDS_END_64_HEAD = 30, 46, 22, 56, 20
LONGEST_COMMENT = 65_535
STORED, DEFLATED = 0, 8
LOCKED, UTF_8 = 1, 0x800  # bits of an entry's flags
IN_64_BITS = 0xFFFFFFFF  # a number that stands in the entry's extra part instead
MANY = 1 << 16  # some programs count members only up to here, and begin again
PIECE = 1 << 18  # bytes that are read at a time, and at most unpacked at a time
LOOK_AHEAD = 1 << 12  # bytes that are searched at a time for the next entry, which is seldom far


class Member(NamedTuple):
    """What a zip file says about one of its members. None of it has been checked."""

    name: str
    stored_name: bytes
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    at: int  # where it begins
    takes: int  # the bytes that it has in the zip file, with its name and its entry
    trouble: str = ""  # if it isn't where the list says


class Zip:
    """A zip file that's open: first read all `entries`, then unpack what you want of them.

    Raises `ValueError` if its end is missing, which says where the list of members is.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = file.seek(0, os.SEEK_END)
        self.doubt = ""  # what to say of the file as a whole
        self.begins = array("Q")  # where members begin, in order
        self._find_list()

    def _find_list(self) -> None:
        begin = max(0, self.size - END_HEAD - LONGEST_COMMENT)
        tail = self._read(begin, self.size - begin)
        place = tail.rfind(END, 0, max(0, len(tail) - END_HEAD + len(END)))
        if place < 0:
            raise ValueError("it isn't a zip file, or its end is missing")
        self.listed, size, at, comment = struct.unpack_from("<H2LH", tail, place + 10)
        more = self.size - (begin + place + END_HEAD + comment)
        if more:  # what we found may be the end of a member that is a zip file itself
            words = "after its end" if more > 0 else "less than its end says"
            self.doubt = f"it has {abs(more):,} bytes {words}, so others may be missing; ask for this file again"
        end = begin + place
        if tail[max(0, place - FINDS_END_64_HEAD) :].startswith(FINDS_END_64):
            end -= FINDS_END_64_HEAD + END_64_HEAD
            large = self._read(end, END_64_HEAD) if end >= 0 else b""
            if not large.startswith(END_64) or len(large) < END_64_HEAD:
                raise ValueError("its end is damaged")
            self.listed, size, at = struct.unpack_from("<3Q", large, 32)
        self.list_end = end
        self.list_at = end - size
        # A zip file may have something in front of it. If so, all places count from there.
        self.shift = self.list_at - at
        if size and (self.list_at < 0 or self._read(self.list_at, len(ENTRY)) != ENTRY):
            self.list_at, self.shift = at, 0  # one of the two numbers is damaged
        if not 0 <= self.list_at <= end:
            raise ValueError("its end is damaged: it doesn't say where its list of members is")
        first = next(self.entries(), None)
        if not self.begins and isinstance(first, Member) and first.trouble:
            self.shift = 0
        self.begins = array("Q")

    def _read(self, at: int, count: int) -> bytes:
        self.file.seek(at)
        return self.file.read(count)

    def entries(self) -> Iterator[Member | str]:
        """Each member's entry in the list. For a damaged one, what to say about it: the list goes on after it."""
        at, listed = self.list_at, 0
        while at < self.list_end:
            head = self._read(at, ENTRY_HEAD)
            if not head.startswith(ENTRY) or len(head) < ENTRY_HEAD:
                yield _damaged(at)
                at = self._next_entry(at + 1, self.list_end)
                continue
            name, extra, comment = struct.unpack_from("<3H", head, 28)
            after = at + ENTRY_HEAD + name + extra + comment
            following = self._next_entry(at + ENTRY_HEAD, after)
            if following < after:  # another entry begins before this one's end, or the list ends: so the end is wrong
                yield _damaged(at)
                at = following
                continue
            rest = self._read(at + ENTRY_HEAD, name + extra)
            yield self._checked(self._member(head, rest[:name], rest[name:], after - at))
            listed += 1
            at = after
        self.begins = array("Q", sorted(self.begins))
        if listed % MANY != self.listed % MANY:
            yield f"its list has {listed:,} members, and its end says {self.listed:,}; ask for this file again"

    def _checked(self, member: Member) -> Member:
        """Whether a member is where its entry says. If it isn't, it can't cut off another one."""
        try:
            self._content_at(member)
        except ValueError as error:
            return member._replace(trouble=str(error))
        self.begins.append(member.at)
        return member

    def _next_entry(self, at: int, end: int) -> int:
        """Where in the list an entry begins, at or after `at`. If there's none before `end`, that or the list's end."""
        end = min(end, self.list_end)
        while at < end:
            part = self._read(at, min(LOOK_AHEAD, end - at))
            place = part.find(ENTRY)
            if place >= 0:
                return at + place
            if len(part) < LOOK_AHEAD:
                break
            at += len(part) - len(ENTRY) + 1
        return end

    def _member(self, head: bytes, name: bytes, extra: bytes, entry_takes: int) -> Member:
        flags, method = struct.unpack_from("<2H", head, 8)
        checksum, packed, size = struct.unpack_from("<3L", head, 16)
        (at,) = struct.unpack_from("<L", head, 42)
        size, packed, at = _in_64_bits(extra, [size, packed, at])
        text = name.decode("utf-8" if flags & UTF_8 else "cp437", errors="replace")
        takes = entry_takes + MEMBER_HEAD + len(name) + packed
        return Member(text, name, flags, method, checksum, packed, size, at + self.shift, takes)

    def _content_at(self, member: Member) -> int:
        """Where a member's content begins. Raises `ValueError` if there's no member, or another one."""
        head = self._read(member.at, MEMBER_HEAD) if 0 <= member.at < self.list_at else b""
        if not head.startswith(MEMBER) or len(head) < MEMBER_HEAD:
            raise ValueError("it isn't where the list of members says")
        name, extra = struct.unpack_from("<2H", head, 26)
        if self.file.read(name) != member.stored_name:
            raise ValueError("it has one name in the list of members, and another at its own place")
        return member.at + MEMBER_HEAD + name + extra

    def unpack(self, member: Member, most: int) -> bytes:
        """A member's content. Raises `ValueError` if it has more than `most` bytes, or isn't what the list says."""
        if member.flags & LOCKED:
            raise ValueError("it's locked with a password")
        if member.method not in (STORED, DEFLATED):
            raise ValueError(f"it's packed with method {member.method}; handin uses {DEFLATED}, deflate")
        at = self._content_at(member)
        place = bisect.bisect_right(self.begins, member.at)
        end = self.begins[place] if place < len(self.begins) else self.list_at
        if at + member.packed > end or self.begins[max(0, place - 2)] == member.at and place > 1:
            raise ValueError(
                f"it lies over another member: its zip file says that it has {member.packed:,} packed bytes"
            )
        self.file.seek(at)
        content = self._stored(member, most) if member.method == STORED else self._inflated(member, most)
        if len(content) != member.size:
            raise ValueError(f"it has {len(content):,} bytes, and its zip file says {member.size:,}")
        if zlib.crc32(content) != member.checksum:
            raise ValueError("it's damaged: its checksum isn't the one that was saved")
        return content

    def _pieces(self, member: Member) -> Iterator[bytes]:
        left = member.packed
        while left:
            piece = self.file.read(min(PIECE, left))
            if not piece:
                raise ValueError("it's cut off")
            left -= len(piece)
            yield piece

    def _stored(self, member: Member, most: int) -> bytes:
        if member.packed > most:
            raise _too_large(most)
        content = io.BytesIO()
        for piece in self._pieces(member):
            content.write(piece)
        return content.getvalue()

    def _inflated(self, member: Member, most: int) -> bytes:
        content, unpacker = io.BytesIO(), zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            for piece in self._pieces(member):
                while piece and not unpacker.eof:
                    content.write(unpacker.decompress(piece, min(PIECE, most + 1 - content.tell())))
                    if content.tell() > most:
                        raise _too_large(most)
                    piece = unpacker.unconsumed_tail
            content.write(unpacker.flush())
        except zlib.error:
            raise ValueError("it's damaged: it can't be unpacked") from None
        if content.tell() > most:
            raise _too_large(most)
        if not unpacker.eof:
            raise ValueError("it's cut off")
        return content.getvalue()


def _damaged(at: int) -> str:
    return f"its list of members is damaged at byte {at:,}, so one of them may be missing; ask for this file again"


def _too_large(most: int) -> ValueError:
    return ValueError(f"it's too large: no more than {most:,} bytes are unpacked")


def _in_64_bits(extra: bytes, numbers: list[int]) -> list[int]:
    """A size, a packed size and a place: those that are too large for an entry stand in its extra part, in this order.

    Where one is missing, it stays what it was, which is far behind the end of the file.
    """
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            values = extra[at + 4 : at + 4 + length]
            for i, number in enumerate(numbers):
                if number == IN_64_BITS and len(values) >= 8:
                    numbers[i] = int.from_bytes(values[:8], "little")
                    values = values[8:]
            break
        at += 4 + length
    return numbers
