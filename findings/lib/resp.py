"""Connections that write and read RESP without a client library."""

import socket
import time


class Error(str):
    """An error, as the server sent it."""


class Simple(str):
    """A simple string."""


class Push(list):
    """A push of RESP3."""


class Connection:
    """A connection to a port of the loopback address, for which it waits until somebody listens."""

    def __init__(self, port):
        deadline = time.monotonic() + 30
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), 10)
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self.file = self.socket.makefile("rb")

    def send(self, *commands):
        """Write commands at once. Each is a string, whose words are the arguments, or a tuple of them."""
        out = b""
        for command in commands:
            words = command.split() if isinstance(command, str) else command
            out += b"*%d\r\n" % len(words)
            for word in words:
                word = str(word).encode()
                out += b"$%d\r\n%s\r\n" % (len(word), word)
        self.socket.sendall(out)

    def read(self):
        """Read one reply."""
        line = self.file.readline()
        if not line:
            raise EOFError
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"+":
            return Simple(text)
        if kind == b"-":
            return Error(text)
        if kind == b":":
            return int(text)
        if kind == b"$":
            return None if text == "-1" else self.file.read(int(text) + 2)[:-2].decode()
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(text))}
        if kind in b"*>":
            items = None if text == "-1" else [self.read() for _ in range(int(text))]
            return Push(items) if kind == b">" else items
        if kind == b"_":
            return None
        raise ValueError(line)

    def __call__(self, *words):
        """Send one command and read its reply."""
        self.send(words[0] if len(words) == 1 else words)
        return self.read()

    def all(self, *commands):
        """Send commands at once and read their replies."""
        self.send(*commands)
        return [self.read() for _ in commands]


failed = False


def expect(what, want, got):
    """Print what was answered, and remember whether that is what the script says."""
    global failed
    print(f"{what}: {got!r}")
    if got != want:
        print(f"  but was {want!r}")
        failed = True


def finish():
    """End the script: it fails if an answer was another."""
    raise SystemExit(failed)
