// SPDX-License-Identifier: MIT
// Threads, a server and its client, files, a child, memory.

import java.net.*;
import java.nio.file.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Main {
	public static void main(String[] arguments) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(8);
		Future<Integer> sum = pool.submit(() -> IntStream.range(0, 1000).parallel().sum());
		try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			pool.submit(() -> {
				new Socket(server.getInetAddress(), server.getLocalPort()).getOutputStream().write(42);
				return null;
			});
			System.out.println(sum.get() + " " + server.accept().getInputStream().read());
		}
		pool.shutdown();
		Path file = Files.createTempFile(Path.of("."), "made", "");
		Files.writeString(file, "text");
		System.out.println(Files.readString(file) + new String(new ProcessBuilder("echo", "child").start().getInputStream().readAllBytes()));
		byte[][] memory = new byte[64][];
		for (int i = 0; i < memory.length; i++) memory[i] = new byte[1 << 20];
		System.gc();
		System.out.println(memory.length);
	}
}
