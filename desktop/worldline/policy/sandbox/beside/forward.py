"""Shows one port of a session's network on this machine's loopback, for the browser of the person.

    python3 -I -S forward.py LISTENER_FD PORT

Started inside that network; the listening socket was made outside and belongs there. Bytes are passed on, not looked at.
"""

import os
import socket
import sys
import threading

_MOST = 200
"""Connections at a time; more wait in the queue of the listener."""


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    port = int(sys.argv[2])
    room = threading.BoundedSemaphore(_MOST)

    def accept() -> None:
        while True:
            room.acquire()
            try:
                client, _ = listener.accept()
            except OSError:
                room.release()
                continue  # gone before it was taken
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    def serve(client: socket.socket) -> None:
        try:
            with client, _inside(port) as server:
                back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
                back.start()
                _pass_on(client, server)
                back.join()
        except OSError:
            return  # nobody listens there any more, or the browser went away: the connection is closed, as it should
        finally:
            room.release()

    threading.Thread(target=accept, daemon=True).start()
    while os.read(0, 4096):
        pass


def _inside(port: int) -> socket.socket:
    try:
        return socket.create_connection(("127.0.0.1", port))
    except OSError:
        return socket.create_connection(("::1", port))


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Until the end of `source`, which is told to `target`."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass  # broken off; the other side is told in the same way
    finally:
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # closed already


if __name__ == "__main__":
    main()
