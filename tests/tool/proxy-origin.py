# SPDX-License-Identifier: MIT
"""Servers for tests of the proxy, beside nginx: proxy-origin.py DIRECTORY; prints "ready", and ends with its stdin.

On every address of its network namespace:
  7    echoes; the end of the stream from the client is answered with "end", then its own end
  8080 HTTP with a thread for each connection: PUT, POST: the SHA-256 of the body (of any framing); /socket: a WebSocket
       that echoes a message; /slow: a body of 10 chunks
  8443 the same over TLS, with DIRECTORY/cert.pem and DIRECTORY/key.pem
"""
import base64
import hashlib
import http.server
import socket
import socketserver
import ssl
import sys
import threading

WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def chunks(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left:
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                return
            left -= len(piece)
            yield piece

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        digest = hashlib.sha256()
        for piece in self.chunks():
            digest.update(piece)
        self.answer(digest.hexdigest().encode() + b"\n")

    do_POST = do_PUT

    def do_GET(self):
        if self.path == "/socket":
            self.talk()
        elif self.path == "/slow":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number in range(10):
                self.wfile.write(b"2\r\n%d\n\r\n" % number)
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.answer(b"hello\n")

    def talk(self):
        key = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + WEBSOCKET).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
        self.end_headers()
        head = self.rfile.read(6)
        payload = bytes(byte ^ head[2 + i % 4] for i, byte in enumerate(self.rfile.read(head[1] & 127)))
        self.wfile.write(bytes([0x81, len(payload)]) + payload)
        self.close_connection = True


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while piece := self.request.recv(65536):
            self.request.sendall(piece)
        self.request.sendall(b"end")


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 2048
    daemon_threads = True


class EchoServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Secure(Server):
    context = None

    def finish_request(self, request, client_address):
        with self.context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request, client_address):
        pass


def main():
    Secure.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    Secure.context.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
    for server in (EchoServer(("", 7), Echo), Server(("", 8080), Handler), Secure(("", 8443), Handler)):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    socket.setdefaulttimeout(300)
    main()
