"""Addresses of a program and the places in the sources that they are of."""

import re
import subprocess

from rig.process import ROOT


class Symbols:
    """Addresses of a program -> "file:line function" of ours."""

    OURS = re.compile(r"^(base|config|talechain|profiler|hedging|proxy)/")

    def __init__(self, program):
        self.program = str(program)
        self._known = {}

    def look_up(self, addresses):
        new = sorted({a for a in addresses if a not in self._known})
        if not new:
            return
        # A return address is behind its call: one byte less is in it.
        done = subprocess.run(
            ["addr2line", "-i", "-a", "-f", "-e", self.program],
            input="\n".join(f"{a - 1:#x}" for a in new), text=True,
            capture_output=True, check=True)
        for block in re.split(r"^(?=0x)", done.stdout, flags=re.M)[1:]:
            lines = block.splitlines()
            frames = []
            for function, place in zip(lines[1::2], lines[2::2]):
                place = place.partition(" ")[0]
                place = place.removeprefix(f"{ROOT}/").removeprefix("./")
                frames.append(f"{place} {function}")
            self._known[int(lines[0], 16) + 1] = frames

    def frames(self, addresses):
        """Every frame, inlined ones too, innermost first."""
        self.look_up(addresses)
        return [f for a in addresses for f in self._known.get(a, ())]

    def ours(self, addresses):
        """The innermost frame that is in our sources."""
        return next((f for f in self.frames(addresses)
                     if self.OURS.match(f)), "?")

    def sites(self):
        """Every call in tailor's sources that the layer can make fail:
        {"file:line function"}.  (The microscope is another program.)"""
        text = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", self.program],
            text=True, capture_output=True, check=True).stdout
        found, next_is_one = [], None
        for line in text.splitlines():
            address, _, rest = line.partition(":")
            if next_is_one and rest:
                found.append(int(address, 16))
            next_is_one = re.search(r"call\s.*<__wrap_", rest)
        self.look_up(found)
        return {self._known[a][0] for a in found
                if self._known.get(a) and self.OURS.match(self._known[a][0])
                and "/shim/" not in self._known[a][0]}
