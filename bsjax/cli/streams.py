"""stdout and stderr that never stop the work: what they do not take is dropped, and said at the end."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


class Output(io.FileIO):
    """A stream of the process that takes everything, also when its reader has gone, the disk is full or it was closed.

    Attributes:
        lost: why what was written last could not be passed on; None while all could.
    """

    lost: OSError | None = None

    def write(self, content: Any, /) -> int | None:
        """Pass bytes on, as long as that works."""
        if self.lost is None:
            try:
                return super().write(content)
            except OSError as error:
                self.lost = error
        return memoryview(content).nbytes

    @property
    def reader_is_gone(self) -> bool:
        """Whether it was a pipe whose other end was closed, as ``head`` does when it has seen enough."""
        return self.lost is not None and self.lost.errno == errno.EPIPE


def keep_streams() -> Output:
    """Make stdout and stderr such streams, and return the one of stdout.

    Text that their encoding lacks is written with backslashes.
    """
    streams = []
    for name, number in (("stdout", 1), ("stderr", 2)):
        before = getattr(sys, name)
        if before is None:  # it was closed: a file that is opened later must not take its place
            os.dup2(os.open(os.devnull, os.O_RDONLY), number)
        stream = Output(number, "wb", closefd=False)
        encoding = "utf-8" if before is None else before.encoding
        text = io.TextIOWrapper(
            io.BufferedWriter(stream), encoding, "backslashreplace", line_buffering=name == "stderr" or stream.isatty()
        )
        setattr(sys, name, text)
        streams.append(stream)
    return streams[0]
