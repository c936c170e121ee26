# SPDX-License-Identifier: Apache-2.0
"""Answers every request over TLS with {"tls":true}: tls-backend.py CERTIFICATE KEY.

Prints "port N"; ends when standard input does.
"""
import os
import socket
import ssl
import sys
import threading


def serve(context, plain):
    try:
        with context.wrap_socket(plain, server_side=True) as conn:
            data = b""
            while b"\r\n\r\n" not in data:
                more = conn.recv(65536)
                if not more:
                    return
                data += more
            body = b'{"tls":true}'
            conn.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
    except OSError:
        pass


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print("port", listener.getsockname()[1], flush=True)

    def accept():
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(context, plain), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    while os.read(0, 4096):
        pass
    os._exit(0)


main()
