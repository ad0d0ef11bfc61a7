package dev.polis.faults.it;

import dev.polis.files.AtomicFile;
import dev.polis.files.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.EtcdBinary;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.TcpProxy;
import dev.polis.fixtures.power.PowerLoss.Effort;
import dev.polis.fixtures.power.PowerScenario;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Writes keys into a real etcd one after the other; a start finds each that was acknowledged. */
final class EtcdScenario implements PowerScenario {

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int WRITES = 12;

  private final List<String> more;
  // Null unless one runs on the recorded disk.
  private Member live;

  /**
   * @param more arguments of etcd
   */
  EtcdScenario(String... more) {
    this.more = List.of(more);
  }

  @Override
  public List<Step> steps() {
    List<Step> steps = new ArrayList<>(List.of(this::begin));
    IntStream.range(0, WRITES)
        .forEach(number -> steps.add(_ -> live.ctl("put", "key-" + number, "value")));
    return steps;
  }

  /** Like the node, which begins a member anew that was never noted as complete. */
  private void begin(Path root) throws Exception {
    live = start(root);
    live.ctl("put", "first", "value");
    AtomicFile.replace(record(root), new byte[] {1}, Mode.SECRET, AtomicFile.Durability.POWER_LOSS);
  }

  private static Path record(Path root) {
    return root.resolve("member");
  }

  @Override
  public String observe(Path root) throws Exception {
    if (live != null && live.root().equals(root)) {
      return keys(live);
    }
    if (Files.notExists(record(root))) {
      return "";
    }
    Member member = start(root);
    try {
      return keys(member);
    } finally {
      member.process().destroyForcibly().waitFor();
    }
  }

  private static String keys(Member member) throws Exception {
    return member.ctl("get", "key-", "--prefix", "--keys-only").out().replaceAll("\\s+", " ");
  }

  private Member start(Path root) throws Exception {
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
                // Both are written again in the course of so few writes.
                "--snapshot-count=5",
                "--heartbeat-interval=10",
                "--election-timeout=100",
                "--log-level=error"));
    command.addAll(more);
    Member member =
        new Member(
            root,
            port,
            new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start());
    Await.until(PATIENCE, "etcd in " + root + " to listen", member::listens);
    return member;
  }

  /**
   * A running etcd.
   *
   * @param root the disk it is on
   * @param port of its clients
   */
  private record Member(Path root, int port, Process process) {

    boolean listens() throws IOException {
      if (!process.isAlive()) {
        throw new IOException("etcd ended with " + process.exitValue());
      }
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        return socket.isConnected();
      } catch (IOException notYet) {
        return false;
      }
    }

    Finished ctl(String... arguments) throws Exception {
      List<String> command =
          new ArrayList<>(
              List.of(
                  EtcdBinary.folder().resolve("etcdctl").toString(),
                  "--endpoints=127.0.0.1:" + port,
                  "--command-timeout=30s"));
      command.addAll(List.of(arguments));
      return Finished.of(command, Map.of("ETCDCTL_API", "3"), PATIENCE)
          .requireSuccess(String.join(" ", arguments));
    }
  }

  @Override
  public void powerOff() throws Exception {
    if (live != null) {
      live.process().destroyForcibly().waitFor();
      live = null;
    }
  }

  /** etcd reserves 64 MB for its log, and as much for the next one. */
  @Override
  public long bytes() {
    return 512L << 20;
  }

  /** Each is a start of etcd. */
  @Override
  public int most(Effort effort) {
    return effort == Effort.LONG ? Integer.MAX_VALUE : 12;
  }
}
