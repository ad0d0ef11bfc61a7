package dev.polis.cluster.it;

import static java.time.temporal.ChronoUnit.DAYS;
import static java.time.temporal.ChronoUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Pem;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks that a real node names its own faults before they cause others. */
@Tag("full")
class SelfCheckIT {

  private static final Duration YEARS = Duration.ofDays(1000);

  /** The days by which a clock is before a certificate. */
  private static final Duration BEFORE = Duration.ofDays(30);

  /** Some of the bits of a byte. */
  private static final int FLIPPED = 0x55;

  @TempDir private Path directory;

  private static void assertContains(String part, String text) {
    assertTrue(text.contains(part), () -> "\"" + part + "\" is not in:\n" + text);
  }

  /** Waits until health contains a text, and returns the organ's {@code explain}. */
  private static String explained(TestNode node, String organ, String words) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "health to report of " + organ + ": " + words,
        () -> node.ctl("health").out().contains(words));
    return node.ctl("explain", organ).out();
  }

  private static Finished run(String command) throws Exception {
    return TestNode.finish(List.of("sh", "-c", command), Map.of()).requireSuccess(command);
  }

  private static long descriptors(TestNode node) throws Exception {
    try (Stream<Path> open = Files.list(Path.of("/proc/" + node.jvmPid() + "/fd"))) {
      return open.count();
    }
  }

  @Test
  @DisplayName(
      "health and explain name descriptors that run out and a clock that was set back, with the command that helps")
  void ofARunningNode() throws Exception {
    try (TestNode node = TestNode.member(directory.resolve("n"), "127.0.47.1")) {
      node.up();
      // By this time the connections of the start are closed, which would else count.
      node.ctl("health", "--wait", "60").requireSuccess("health");
      long limit = descriptors(node) * 21 / 20;
      run("prlimit --pid %d --nofile=%d:".formatted(node.jvmPid(), limit));

      String debug = explained(node, "debug", "of the " + limit + " that it may have");
      String command = "prlimit --pid %d --nofile=".formatted(node.jvmPid());
      assertContains(command, debug);
      String remedy = debug.substring(debug.indexOf(command));
      run(remedy.substring(0, remedy.indexOf(" (as root)")));
      Await.until(
          TestNode.PATIENCE,
          "health to recover after the command that it named",
          () -> !node.ctl("health").out().contains("that it may have"));

      Path record = node.state().resolve("esp/sealed_configuration.pb");
      Instant ahead = Instant.now().plus(YEARS);
      Files.setLastModifiedTime(record, FileTime.from(ahead));
      String storage = explained(node, "storage", "clock went back");
      assertContains(record + " was written at " + ahead.toString().substring(0, 10), storage);
      assertContains("set the clock: timedatectl set-ntp true", storage);
    }
  }

  @Test
  @DisplayName(
      "a damaged record in the middle of etcd's log is named in the last line of a start, with the remedy")
  void damagedLog() throws Exception {
    try (TestNode node = TestNode.member(directory.resolve("n"), "127.0.47.2", Mode.INSECURE)) {
      Path etcd = node.state().resolve("data/etcd");
      Path log;
      try (Stream<Path> files = Files.list(etcd.resolve("data/member/wal"))) {
        log = files.filter(file -> file.toString().endsWith(".wal")).min(Path::compareTo).get();
      }
      try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "rw")) {
        // This is within the second record; the first one is a checksum.
        file.seek(40);
        int damaged = file.read() ^ FLIPPED;
        file.seek(40);
        file.write(damaged);
      }

      Finished refused = node.refused();

      assertNotEquals(0, refused.code());
      assertContains("crc mismatch", refused.lastLine());
      assertContains("restore " + etcd + " as a whole from a copy", refused.lastLine());
    }
  }

  @Test
  @DisplayName(
      "an expired CA of etcd is named in the last line of a start, with its file, its end and the clock")
  void endedAuthority() throws Exception {
    try (TestNode node = TestNode.member(directory.resolve("n"), "127.0.47.3", Mode.INSECURE)) {
      Path file = node.state().resolve("data/etcd/pki/ca.pem");
      X509Certificate present = Pem.certificate(Files.readString(file));
      CertificateAuthority before =
          new CertificateAuthority(
              Pem.privateKey(Files.readString(file.resolveSibling("ca-key.pem"))),
              present,
              () -> Instant.now().minus(YEARS));
      CertificateTemplate template =
          CertificateTemplate.authority("Polis etcd CA").withLifetime(Duration.ofDays(1));
      X509Certificate ended = before.issue(template, present.getPublicKey());
      Files.writeString(file, Pem.encode(ended));

      Finished refused = node.refused();

      assertNotEquals(0, refused.code());
      assertContains(
          "the CA of etcd (CN=Polis etcd CA, %s) ended at %s; this machine's clock shows %s"
              .formatted(
                  file,
                  ended.getNotAfter().toInstant(),
                  InstantSource.system().instant().toString().substring(0, 10)),
          refused.lastLine());
      assertContains("timedatectl set-ntp true", refused.lastLine());
      assertEquals(Pem.encode(ended), Files.readString(file));
    }
  }

  @Test
  @DisplayName(
      "a start with the clock before the certificates waits, and names the clock, their begin and the remedy; the node is HOME once the clock is right")
  void clockBeforeTheCertificates() throws Exception {
    Optional<Path> library = NodeClock.library();
    assumeTrue(
        library.isPresent(),
        "stepping the clock of one node needs libfaketime: install the package faketime");
    try (TestNode node = TestNode.member(directory.resolve("n"), "127.0.47.4", Mode.INSECURE)) {
      Path file = node.state().resolve("data/node/credentials/cert.pem");
      Instant begin =
          Pem.certificate(Files.readString(file)).getNotBefore().toInstant().truncatedTo(SECONDS);
      // At noon, so that the day is the same at the end of the start.
      Instant shown = begin.minus(BEFORE).truncatedTo(DAYS).plus(Duration.ofHours(12));
      NodeClock clock =
          NodeClock.of(
              node,
              library.get(),
              directory.resolve("clock"),
              "-" + Duration.between(shown, Instant.now()).toSeconds());

      node.start();

      String words =
          "this machine's clock shows %s.*, but the certificates of this node begin at %s; set the clock: timedatectl set-ntp true, "
              .formatted(shown.toString().substring(0, 10), begin);
      Pattern screen = Pattern.compile("waiting for clock .*: " + words);
      Await.until(
          TestNode.PATIENCE,
          "the node's screen to name the clock",
          () -> screen.matcher(node.said()).find(),
          node::said);
      assertFalse(node.said().contains("HOME after"), node::said);

      clock.set(NodeClock.TRUE);
      node.awaitHome();
    }
  }
}
