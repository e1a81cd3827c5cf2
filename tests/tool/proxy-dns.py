# SPDX-License-Identifier: MIT
"""A DNS server for tests, over UDP and TCP: proxy-dns.py [--address A] [--port N] [--log FILE] ZONE

ZONE is JSON, or the name of a file with it: names, each with one answer or a list of them. The nth query for a name and
a type gets the nth answer of the list, later ones the last: so a name can be bound to another address between two
queries. "*.NAME" is every name below NAME. Other names do not exist.

    {"one.test": {"A": ["192.0.2.1"], "AAAA": ["2001:db8::1"]},
     "rebinds.test": [{"A": ["192.0.2.1"]}, {"A": ["127.0.0.1"]}],
     "many.test": {"A": 40},                   40 addresses
     "alias.test": {"CNAME": "one.test"},      with the records of that name
     "broken.test": {"rcode": "SERVFAIL"},     or NXDOMAIN, REFUSED
     "silent.test": {"drop": true},
     "cut.test": {"A": ["192.0.2.1"], "truncate": true},       no answer over UDP but "ask over TCP"
     "forged.test": {"A": ["192.0.2.1"], "forge": ["id"]}}     before it one for 203.0.113.66 with a wrong
                                                               "id", "question" or "port"; or "garbage"

It prints its port, then serves until it is killed. Each query adds a line to FILE: "udp A one.test". --end-with-stdin
ends it with the test that holds the other end of its stdin.
"""
import argparse
import ipaddress
import json
import os
import selectors
import socket
import struct

TYPES = {1: "A", 5: "CNAME", 28: "AAAA"}
RCODES = {"NOERROR": 0, "SERVFAIL": 2, "NXDOMAIN": 3, "REFUSED": 5}
UDP_MAX = 512
RESPONSE, TRUNCATED, RECURSION = 0x8000, 0x0200, 0x0180
FORGED = {"A": ["203.0.113.66"], "AAAA": ["2001:db8::66"]}


def pack_name(name):
    labels = name.encode().split(b".") if name else []
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def read_question(packet):
    """Returns (id, name, type) of a query."""
    number, at, labels = struct.unpack_from(">H", packet)[0], 12, []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return number, ".".join(labels), struct.unpack_from(">H", packet, at + 1)[0]


def addresses_of(answer, kind):
    wanted = answer.get(kind, [])
    first = ipaddress.ip_address("198.18.0.1" if kind == "A" else "2001:db8:18::1")
    return [first + i for i in range(wanted)] if isinstance(wanted, int) else map(ipaddress.ip_address, wanted)


def pack_record(name, kind, content):
    return pack_name(name) + struct.pack(">HHIH", kind, 1, 0, len(content)) + content


def pack_packet(number, flags, question, kind, records):
    return (struct.pack(">HHHHHH", number, RESPONSE | RECURSION | flags, 1, len(records), 0, 0)
            + pack_name(question) + struct.pack(">HH", kind, 1) + b"".join(records))


class Zone:
    def __init__(self, names):
        self.names = names
        self.n_asked = {}

    def find(self, name):
        if name in self.names:
            return self.names[name]
        labels = name.split(".")
        parents = ("*." + ".".join(labels[i:]) for i in range(1, len(labels)))
        return next((self.names[parent] for parent in parents if parent in self.names), {"rcode": "NXDOMAIN"})

    def answer(self, name, kind):
        found = self.find(name)
        if not isinstance(found, list):
            return found
        n = self.n_asked.get((name, kind), 0)
        self.n_asked[name, kind] = n + 1
        return found[min(n, len(found) - 1)]

    def records(self, name, answer, kind):
        records = []
        for _ in range(16):  # a chain may be a circle
            if "CNAME" not in answer:
                break
            records.append(pack_record(name, 5, pack_name(answer["CNAME"])))
            name = answer["CNAME"]
            answer = self.answer(name, kind)
        if TYPES.get(kind) in ("A", "AAAA"):
            records += [pack_record(name, kind, a.packed) for a in addresses_of(answer, TYPES[kind])]
        return records

    def forgeries(self, how, number, name, kind):
        records = [pack_record(name, kind, a.packed) for a in addresses_of(FORGED, TYPES.get(kind))]
        if how == "id":
            return pack_packet(number ^ 1, 0, name, kind, records)
        if how == "question":
            return pack_packet(number, 0, "other.test", kind, records)
        if how == "garbage":
            return os.urandom(64)
        return pack_packet(number, 0, name, kind, records)

    def packet(self, number, name, kind, answer, is_udp):
        flags = RCODES[answer.get("rcode", "NOERROR")]
        packet = pack_packet(number, flags, name, kind, self.records(name, answer, kind))
        if is_udp and (answer.get("truncate") or len(packet) > UDP_MAX):
            return pack_packet(number, flags | TRUNCATED, name, kind, [])
        return packet


class Server:
    def __init__(self, zone, log):
        self.zone = zone
        self.log = log
        self.selector = selectors.DefaultSelector()

    def listen(self, address, port):
        """Returns the port, which is free for both protocols."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        while True:
            tcp, udp = socket.socket(family, socket.SOCK_STREAM), socket.socket(family, socket.SOCK_DGRAM)
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tcp.bind((address, port))
            try:
                udp.bind(tcp.getsockname())
                break
            except OSError:
                if port:
                    raise
        tcp.listen(64)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)  # for many queries at once
        self.selector.register(udp, selectors.EVENT_READ, self.serve_udp)
        self.selector.register(tcp, selectors.EVENT_READ, self.accept)
        return tcp.getsockname()[1]

    def ask(self, packet, protocol):
        number, name, kind = read_question(packet)
        if self.log:
            print(protocol, TYPES.get(kind, kind), name, file=self.log, flush=True)
        return number, name.lower(), kind, self.zone.answer(name.lower(), kind)

    def serve_udp(self, udp):
        packet, peer = udp.recvfrom(4096)
        number, name, kind, answer = self.ask(packet, "udp")
        for how in answer.get("forge", []):
            forged = self.zone.forgeries(how, number, name, kind)
            if how == "port":
                with socket.socket(udp.family, socket.SOCK_DGRAM) as other:
                    other.sendto(forged, peer)
            else:
                udp.sendto(forged, peer)
        if not answer.get("drop"):
            udp.sendto(self.zone.packet(number, name, kind, answer, True), peer)

    def accept(self, tcp):
        connection, _ = tcp.accept()
        received = bytearray()
        self.selector.register(connection, selectors.EVENT_READ, lambda c: self.serve_tcp(c, received))

    def serve_tcp(self, connection, received):
        more = connection.recv(4096)
        received += more
        while len(received) >= 2 and len(received) >= 2 + (size := struct.unpack_from(">H", received)[0]):
            packet = bytes(received[2:2 + size])
            del received[:2 + size]
            number, name, kind, answer = self.ask(packet, "tcp")
            if not answer.get("drop"):
                reply = self.zone.packet(number, name, kind, answer, False)
                connection.sendall(struct.pack(">H", len(reply)) + reply)
        if not more:
            self.selector.unregister(connection)
            connection.close()

    def end_with(self, stdin):
        self.selector.register(stdin, selectors.EVENT_READ, lambda _: os._exit(0) if not os.read(stdin, 1) else None)

    def run(self):
        while True:
            for key, _ in self.selector.select():
                try:
                    key.data(key.fileobj)
                except OSError:  # the other end is gone
                    pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log")
    parser.add_argument("--end-with-stdin", action="store_true")
    parser.add_argument("zone")
    words = parser.parse_args()
    text = words.zone
    if not text.lstrip().startswith("{"):
        with open(text, encoding="utf-8") as file:
            text = file.read()
    log = open(words.log, "a", encoding="utf-8") if words.log else None
    server = Server(Zone(json.loads(text)), log)
    if words.end_with_stdin:
        server.end_with(0)
    os.write(1, b"%d\n" % server.listen(words.address, words.port))
    server.run()


if __name__ == "__main__":
    main()
