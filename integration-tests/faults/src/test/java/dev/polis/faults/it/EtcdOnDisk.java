package dev.polis.faults.it;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.TcpProxy;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Runs an etcd of one member with its data on a given disk.
 *
 * @param root the mount point of the disk @param port the port for clients
 */
record EtcdOnDisk(Path root, int port, Process process) implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Starts it and waits until it listens. */
  static EtcdOnDisk start(Path root, List<String> more) throws Exception {
    int port = TcpProxy.freePort();
    String client = "http://127.0.0.1:" + port;
    List<String> command =
        new ArrayList<>(
            List.of(
                EtcdBinary.folder().resolve("etcd").toString(),
                "--data-dir=" + root.resolve("etcd"),
                "--listen-client-urls=" + client,
                "--advertise-client-urls=" + client,
                "--listen-peer-urls=http://127.0.0.1:" + TcpProxy.freePort(),
                "--heartbeat-interval=10",
                "--election-timeout=100",
                "--log-level=error"));
    command.addAll(more);
    EtcdOnDisk etcd =
        new EtcdOnDisk(
            root,
            port,
            new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start());
    try {
      Await.until(PATIENCE, "etcd in " + root + " to listen", etcd::listens);
      return etcd;
    } catch (Exception | Error failed) {
      etcd.close();
      throw failed;
    }
  }

  private boolean listens() throws IOException {
    if (!process.isAlive()) {
      throw new IOException("etcd ended with " + process.exitValue());
    }
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException notYet) {
      return false;
    }
  }

  /** Runs etcdctl, and requires success. */
  Finished ctl(String... arguments) throws Exception {
    return tried("30s", arguments).requireSuccess(String.join(" ", arguments));
  }

  /** Runs etcdctl, which may fail. */
  Finished tried(String within, String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                EtcdBinary.folder().resolve("etcdctl").toString(),
                "--endpoints=127.0.0.1:" + port,
                "--command-timeout=" + within));
    command.addAll(List.of(arguments));
    return Finished.of(command, Map.of("ETCDCTL_API", "3"), PATIENCE);
  }

  /** Kills it and waits for its end. */
  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
