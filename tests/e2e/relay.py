"""A TCP relay whose cable can be pulled, between an agent and its coordinator."""

import contextlib
import socket
import threading


class Relay:
    """Forwards connections on a port of its own to `target`. Use as a context manager."""

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._sockets = set()
        self._listener = None
        self._port = 0
        self.restore()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.cut()

    @property
    def address(self):
        return f"127.0.0.1:{self._port}"

    def restore(self):
        """Listens, on the same port as before."""
        listener = socket.create_server(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        with self._lock:
            self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self):
        """Ends all connections and refuses new ones."""
        with self._lock:
            ended, self._sockets = self._sockets | {self._listener}, set()
            self._listener = None
        for one in ended - {None}:
            # Ends the calls that wait on it in other threads, which closing alone does not.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                try:
                    server = socket.create_connection(self._target, 5)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                with self._lock:
                    if self._listener is not listener:
                        client.close()
                        server.close()
                        return
                    self._sockets |= {client, server}
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with self._lock:
            self._sockets -= {source, sink}
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
