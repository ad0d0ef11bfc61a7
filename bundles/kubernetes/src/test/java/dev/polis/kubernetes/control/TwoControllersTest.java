package dev.polis.kubernetes.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.cluster.ConsensusUser;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.etcd.EtcdTls;
import dev.polis.etcd.KeyRange;
import dev.polis.pki.Pem;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Starts two controllers at the same instant, in two processes on one etcd, which each start finds
 * empty.
 */
@Tag("full")
@Timeout(300)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class TwoControllersTest {

  private static final int TIMES = 20;

  /** Long enough to read an order on a busy machine. */
  private static final Duration AHEAD = Duration.ofMillis(150);

  private static final long END_SECONDS = 60;

  @TempDir static Path directory;
  private static ControlHarness harness;
  private static EtcdClient root;
  private static final List<Controller> CONTROLLERS = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    // Otherwise programs of a node that is root run as root, which is reported as an error.
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x--x"));
    harness = ControlHarness.open();
    root = EtcdClient.connect(harness.access("root", EtcdNamespace.ROOT));
    CONTROLLERS.add(new Controller(1));
    CONTROLLERS.add(new Controller(2));
    for (Controller each : CONTROLLERS) {
      each.answer("ready");
    }
  }

  @AfterAll
  static void stop() throws IOException {
    for (Controller each : CONTROLLERS) {
      each.close();
    }
    if (root != null) {
      root.close();
    }
    if (harness != null) {
      harness.close();
    }
  }

  /** Holds the process of one controller. */
  private static final class Controller implements AutoCloseable {
    private final Path errors;
    private final Process process;
    private final BufferedReader answers;
    private final PrintStream orders;

    Controller(int number) throws IOException {
      Path folder = Files.createDirectories(directory.resolve("controller-" + number));
      writeUsers(folder);
      errors = directory.resolve("errors-" + number);
      process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "--enable-native-access=ALL-UNNAMED",
                  "--sun-misc-unsafe-memory-access=deny",
                  "-XX:+UseSerialGC",
                  "-XX:TieredStopAtLevel=1",
                  // Without this, Netty warns about a machine without network cards.
                  "-Dio.netty.machineId=02:00:00:00:00:01",
                  "-cp",
                  System.getProperty("java.class.path"),
                  ControllerProcess.class.getName(),
                  folder.toString(),
                  Integer.toString(harness.etcd.member(0).clientPort()),
                  // Addresses next to the harness's own, which no other program uses.
                  "127.98.%d.%d".formatted(harness.address.getAddress()[2] & 0xff, 1 + number),
                  harness.programs)
              .redirectError(errors.toFile())
              .start();
      answers =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      orders = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    }

    void order(String line) {
      orders.println(line);
    }

    /** Returns the rest of the next answer. */
    String answer(String wanted) throws IOException {
      String line = answers.readLine();
      assertTrue(line != null && line.startsWith(wanted), () -> line + "\n" + said());
      return line.substring(wanted.length()).strip();
    }

    String said() {
      try {
        return Files.readString(errors);
      } catch (IOException e) {
        return e.toString();
      }
    }

    @Override
    public void close() throws IOException {
      orders.close();
      try {
        if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
      answers.close();
    }
  }

  private static void writeUsers(Path folder) throws IOException {
    for (ConsensusUser user : List.of(ConsensusUser.KUBERNETES, ConsensusUser.KUBE_APISERVER)) {
      EtcdTls tls = tls(harness.access(user.userName(), EtcdNamespace.ROOT));
      Files.writeString(
          folder.resolve(ControllerProcess.userFile(user)),
          Pem.encode(tls.chain().toArray(X509Certificate[]::new)) + Pem.encode(tls.key()));
      Files.writeString(
          folder.resolve(ControllerProcess.AUTHORITY_FILE),
          Pem.encode(tls.trusted().toArray(X509Certificate[]::new)));
    }
  }

  private static EtcdTls tls(EtcdAccess access) {
    return ((EtcdAccess.MutualTls) access.security()).tls();
  }

  /** Empties etcd, sends both the same order for the same instant, and returns their answers. */
  private static List<String> both(String what) throws IOException, InterruptedException {
    root.kv().delete(KeyRange.all());
    Instant instant = Instant.now().plus(AHEAD);
    CONTROLLERS.forEach(each -> each.order(what + " " + instant));
    List<String> made = new ArrayList<>();
    for (Controller each : CONTROLLERS) {
      made.add(each.answer("made"));
    }
    return made;
  }

  private static void requireNoError() throws IOException {
    for (Controller each : CONTROLLERS) {
      each.order("errors");
      assertEquals("", each.answer("errors"));
      assertEquals("", each.said());
    }
  }

  @Test
  @DisplayName("D-38 two processes that start at the same instant make one PKI, 20 times of 20")
  void d38_onePki() throws Exception {
    Set<String> all = new HashSet<>();
    for (int time = 1; time <= TIMES; time++) {
      List<String> made = both("files");

      assertEquals(made.getFirst(), made.getLast(), "time " + time);
      assertTrue(all.add(made.getFirst()), "each time another PKI");
    }
    requireNoError();
  }

  /** Comes last, since the control planes run until the processes end. */
  @Test
  @Order(Integer.MAX_VALUE)
  @DisplayName(
      "D-38 two whole control planes start at the same instant, and report no error to an operator")
  void d38_twoPlanes() throws Exception {
    assertEquals(0, root.kv().range(KeyRange.prefix("/registry/")).count());

    List<String> made = both("plane");

    assertEquals(made.getFirst(), made.getLast());
    assertNotEquals(0, root.kv().range(KeyRange.prefix("/registry/")).count());
    requireNoError();
  }
}
