# SPDX-License-Identifier: MIT
# Shared memory, sockets of each family, passed fds, and the objects that an event loop waits for.

import multiprocessing.shared_memory, os, select, signal, socket, tempfile

memory = multiprocessing.shared_memory.SharedMemory(create=True, size=1 << 20)
other = multiprocessing.shared_memory.SharedMemory(memory.name)
other.buf[-1] = 42
print("shm", memory.buf[-1], os.path.exists("/dev/shm/" + memory.name))
other.close()
memory.close()
memory.unlink()
name = tempfile.mkdtemp(dir=".")
for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)), (socket.AF_UNIX, "\0" + name),
                        (socket.AF_UNIX, name + "/socket")):
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen()
        if os.fork() == 0:
            with socket.socket(family) as client:
                client.connect(listener.getsockname())
                client.sendall(b"from a child")
            os._exit(0)
        with listener.accept()[0] as connection:
            print(family.name, connection.recv(100, socket.MSG_WAITALL))
        print(os.wait()[1])
one, two = socket.socketpair()
read, write = os.pipe()
socket.send_fds(one, [b"x"], [write])
data, fds, flags, address = socket.recv_fds(two, 1, 1)
os.write(fds[0], b"through a passed fd")
print(os.read(read, 100))
poll = select.epoll()
poll.register(read, select.EPOLLIN)
print(poll.poll(0), signal.sigtimedwait([signal.SIGUSR1], 0))
os.memfd_create("made")
os.eventfd(1)
os.pidfd_open(os.getpid())
