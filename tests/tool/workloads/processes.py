# SPDX-License-Identifier: MIT
# Processes with each start method, machine code in memory, a shared mapping.

import ctypes, mmap, multiprocessing, os, platform

CODE = {"x86_64": b"\xb8\x2a\0\0\0\xc3", "aarch64": bytes.fromhex("40058052c0035fd6")}  # return 42

def square(n):
    return n * n

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(4) as pool:
            print(method, sum(pool.map(square, range(1000))))
        queue, lock = context.Queue(), context.Lock()
        with lock:
            child = context.Process(target=queue.put, args=("queued",))
            child.start()
            print(queue.get())
        child.join()
        print(child.exitcode)
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(CODE[platform.machine()])
    print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))())
    print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(square)(9))
    with open("mapped", "w+b") as file:
        file.truncate(8192)
        with mmap.mmap(file.fileno(), 0) as shared:
            shared[4096:4100] = b"data"
    print(open("mapped", "rb").read()[4096:4100], os.path.getsize("mapped"))
