"""stdout and stderr that never raise: output that cannot be written is dropped and reported at the end."""

import errno
import io
import os
import sys
from typing import Any


class Output(io.FileIO):
    """An output stream that never raises, even if its reader has gone, the disk is full or it was closed.

    Attributes:
        lost: the first error of writing; None if there was none.
    """

    lost: OSError | None = None

    def write(self, content: Any, /) -> int | None:
        """Write bytes, or drop them after an error."""
        if self.lost is None:
            try:
                return super().write(content)
            except OSError as error:
                self.lost = error
        return memoryview(content).nbytes

    @property
    def reader_is_gone(self) -> bool:
        """Whether the stream is a pipe whose reader has closed it, as ``head`` does."""
        return self.lost is not None and self.lost.errno == errno.EPIPE


def keep_streams() -> Output:
    """Replace stdout and stderr by such streams, and return that of stdout.

    Characters that their encoding cannot represent are written as backslash escapes.
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
