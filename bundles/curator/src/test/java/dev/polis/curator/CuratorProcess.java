package dev.polis.curator;

import dev.polis.pki.Pem;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs a curator in a JVM of its own, which a test can stop and continue. The JVM ends when its
 * standard input ends, so that it never outlives the test.
 */
public final class CuratorProcess implements AutoCloseable {

  private static final int STOP_SECONDS = 20;

  private static final String SWAP = "swap";
  private static final String STEP = "step ";
  private static final String DONE = "done";

  private final Process process;
  private final InetSocketAddress address;

  private CuratorProcess(Process process, InetSocketAddress address) {
    this.process = process;
    this.address = address;
  }

  /**
   * Campaigns until standard input ends: {@code main ETCD CA-FILE}. It executes each line and
   * answers with {@code done}.
   */
  public static void main(String[] arguments) throws Exception {
    X509Certificate ca = Pem.certificate(Files.readString(Path.of(arguments[1])));
    try (CuratorFixture fixture = CuratorFixture.campaigning(arguments[0], ca);
        BufferedReader orders =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
      InetSocketAddress address = fixture.address();
      System.out.println(address.getAddress().getHostAddress() + " " + address.getPort());
      for (String order = orders.readLine(); order != null; order = orders.readLine()) {
        obey(order, fixture);
        System.out.println(DONE);
      }
    }
    System.exit(0); // ends threads that a library has left, too
  }

  private static void obey(String order, CuratorFixture fixture) {
    if (order.equals(SWAP)) {
      fixture.swap();
    } else if (order.startsWith(STEP)) {
      fixture.leases.step(Duration.ofMillis(Long.parseLong(order.substring(STEP.length()))));
    } else {
      throw new IllegalArgumentException("there is no order " + order);
    }
  }

  /**
   * Starts a curator that campaigns, and waits until it serves.
   *
   * @param folder for its log and the certificate
   * @param etcd {@code host:port}
   */
  public static CuratorProcess start(Path folder, String name, String etcd, X509Certificate ca)
      throws IOException {
    Path certificate = Files.writeString(folder.resolve(name + ".pem"), Pem.encode(ca));
    File log = folder.resolve(name + ".log").toFile();
    Process process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "--enable-native-access=ALL-UNNAMED",
                    "-cp",
                    System.getProperty("java.class.path"),
                    CuratorProcess.class.getName(),
                    etcd,
                    certificate.toString()))
            .redirectError(log)
            .start();
    String line = process.inputReader().readLine();
    if (line == null) {
      process.destroyForcibly();
      throw new AssertionError(
          "curator " + name + " did not come up:\n" + Files.readString(log.toPath()));
    }
    String[] at = line.split(" ");
    return new CuratorProcess(
        process, new InetSocketAddress(InetAddress.ofLiteral(at[0]), Integer.parseInt(at[1])));
  }

  /** The address at which it serves. */
  public InetSocketAddress address() {
    return address;
  }

  /** Stops the whole JVM with SIGSTOP: it stays connected and idle. */
  public void pause() throws IOException, InterruptedException {
    signal("STOP");
  }

  /** Replaces the curator in the running JVM by another one that continues its term. */
  public void swap() throws IOException {
    order(SWAP);
  }

  /** Moves the monotonic clock of its lease forward, or back if negative. */
  public void stepClock(Duration ahead) throws IOException {
    order(STEP + ahead.toMillis());
  }

  private void order(String order) throws IOException {
    process.outputWriter().write(order + "\n");
    process.outputWriter().flush();
    String answer = process.inputReader().readLine();
    if (!DONE.equals(answer)) {
      throw new AssertionError("the order \"%s\" was answered with %s".formatted(order, answer));
    }
  }

  /** Continues the JVM with SIGCONT. */
  public void resume() throws IOException, InterruptedException {
    signal("CONT");
  }

  private void signal(String name) throws IOException, InterruptedException {
    String pid = String.valueOf(process.pid());
    if (new ProcessBuilder("kill", "-" + name, pid).start().waitFor() != 0) {
      throw new AssertionError("kill -" + name + " " + pid + " failed");
    }
  }

  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    try {
      if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException hurried) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
