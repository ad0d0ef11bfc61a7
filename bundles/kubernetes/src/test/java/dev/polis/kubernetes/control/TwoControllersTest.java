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
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Starts two controllers at the same instant, in two processes on one empty etcd. */
@Tag("full")
@Timeout(300)
class TwoControllersTest {

  private static final int TIMES = 20;

  /** Long enough to read an order on a busy machine. */
  private static final Duration AHEAD = Duration.ofMillis(150);

  private static final long END_SECONDS = 60;

  @TempDir Path directory;

  /** Holds the process of one controller. */
  private final class Controller implements AutoCloseable {
    private final Path errors;
    private final Process process;
    private final BufferedReader answers;
    private final PrintStream orders;

    Controller(ControlHarness harness, int number) throws IOException {
      Path folder = Files.createDirectories(directory.resolve("controller-" + number));
      writeUsers(harness, folder);
      errors = directory.resolve("errors-" + number);
      process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "--enable-native-access=ALL-UNNAMED",
                  "--sun-misc-unsafe-memory-access=deny",
                  "-XX:+UseSerialGC",
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

  private static void writeUsers(ControlHarness harness, Path folder) throws IOException {
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

  /** Sends both the same order for the same instant, and returns their answers. */
  private static List<String> both(List<Controller> controllers, String what) throws IOException {
    Instant instant = Instant.now().plus(AHEAD);
    controllers.forEach(each -> each.order(what + " " + instant));
    List<String> made = new ArrayList<>();
    for (Controller each : controllers) {
      made.add(each.answer("made"));
    }
    return made;
  }

  private static void requireNoError(List<Controller> controllers) throws IOException {
    for (Controller each : controllers) {
      each.order("errors");
      assertEquals("", each.answer("errors"));
      assertEquals("", each.said());
    }
  }

  @Test
  @DisplayName("D-38 two processes that start at the same instant make one PKI, 20 times of 20")
  void d38_onePki() throws Exception {
    try (ControlHarness harness = ControlHarness.open();
        EtcdClient root = EtcdClient.connect(harness.access("root", EtcdNamespace.ROOT));
        Controller first = new Controller(harness, 1);
        Controller second = new Controller(harness, 2)) {
      List<Controller> controllers = List.of(first, second);
      first.answer("ready");
      second.answer("ready");
      Set<String> all = new HashSet<>();
      for (int time = 1; time <= TIMES; time++) {
        root.kv().delete(KeyRange.all());

        List<String> made = both(controllers, "files");

        assertEquals(made.getFirst(), made.getLast(), "time " + time);
        assertTrue(all.add(made.getFirst()), "each time another PKI");
      }
      requireNoError(controllers);
    }
  }

  @Test
  @DisplayName(
      "D-38 two whole control planes start at the same instant, and report no error to an operator")
  void d38_twoPlanes() throws Exception {
    try (ControlHarness harness = ControlHarness.open();
        EtcdClient root = EtcdClient.connect(harness.access("root", EtcdNamespace.ROOT));
        Controller first = new Controller(harness, 1);
        Controller second = new Controller(harness, 2)) {
      List<Controller> controllers = List.of(first, second);
      first.answer("ready");
      second.answer("ready");
      assertEquals(0, root.kv().range(KeyRange.prefix("/registry/")).count());

      List<String> made = both(controllers, "plane");

      assertEquals(made.getFirst(), made.getLast());
      assertNotEquals(0, root.kv().range(KeyRange.prefix("/registry/")).count());
      requireNoError(controllers);
    }
  }
}
