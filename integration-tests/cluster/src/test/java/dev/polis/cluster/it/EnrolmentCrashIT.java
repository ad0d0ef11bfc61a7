package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Tier;
import dev.polis.pki.NodeId;
import dev.polis.wire.storage.EnrolmentJournal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Kills a node while it creates its cluster and while it is a member of it, after every step and at
 * random moments, and expects the same node after a restart, with all that was acknowledged. {@code
 * -Dpolis.seed=N} repeats the moments of a run.
 */
@Tag("full")
@Tag("longer")
class EnrolmentCrashIT {

  private static final boolean LONG = Tier.isLong();

  private static final Set<String> JOURNAL_ALONE =
      Set.of(
          "enrolment journal",
          "journal entry STEP_VOLUME_CREATED",
          "journal entry STEP_COMMITTED",
          "journal entry STEP_CREDENTIALS_SAVED");

  /** The steps after which {@link #crashBesideAnEncryptedVolume} crashes. */
  private static final Set<String> BESIDE_AN_ENCRYPTED_VOLUME =
      Set.of("data volume", "cluster records");

  /**
   * The steps of a bootstrap, in order, under the names that a waiting operator reads. The short
   * form leaves out those that change the journal alone, or nothing: ClusterServiceTest interrupts
   * a bootstrap at each of these steps. Another test of this class interrupts the other missing
   * ones.
   */
  private static final List<String> STEPS =
      Stream.of(
              "journal entry STEP_KEYS_GENERATED",
              "enrolment journal",
              "data volume",
              "journal entry STEP_VOLUME_CREATED",
              "consensus",
              "cluster records",
              "journal entry STEP_COMMITTED",
              "node credentials",
              "journal entry STEP_CREDENTIALS_SAVED",
              "sealed configuration")
          .filter(
              step ->
                  LONG
                      || !JOURNAL_ALONE.contains(step)
                          && !BESIDE_AN_ENCRYPTED_VOLUME.contains(step))
          .toList();

  /** The steps of a member's start; in the short form, kills at random moments cover them. */
  private static final List<String> STEPS_OF_A_MEMBER =
      LONG ? List.of("listeners", "curator") : List.of();

  /** Runs each step of an enrolment under its name. */
  private static final String STEP = "dev.polis.cluster.EnrolmentSteps.step";

  static final int KILLED = CrashAgent.KILLED;

  /** The number of kills at random moments. */
  private static final int KILLS = Integer.getInteger("polis.kills", LONG ? 40 : 10);

  /** The number of kills of one member, of every kind. */
  private static final int KILLS_OF_A_MEMBER = 5;

  /** The acknowledged writes of each writer between its start and a kill. */
  private static final int WRITES = 40;

  private static final long SEED = Long.getLong("polis.seed", System.nanoTime());

  /** A whole bootstrap takes a few seconds; a kill may come at any moment of it. */
  private static final Duration BOOTSTRAP = Duration.ofSeconds(6);

  /** The size of a LUKS header with its key slots, which formatting writes anew. */
  private static final int LUKS_HEADER = 1 << 20;

  @TempDir Path directory;

  @Test
  @DisplayName(
      "a crash after each step of an enrolment, and in the long form of a member's start: the same node, no key lost")
  void crashAfterEachStep() throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.25.1")) {
      Optional<EnrolmentJournal> first = Optional.empty();
      for (String step : STEPS) {
        crash(node, step, "--security", "insecure");
        EnrolmentJournal journal = Enrolment.journal(node);
        Enrolment.requireSameKeys(first.orElse(journal), journal, step);
        first = Optional.of(journal);
      }
      // Sealed with the journal not yet erased: the next starts finish the rest.
      crash(node, "enrolment journal erased");
      node.up();
      NodeId id = Enrolment.id(first.orElseThrow());
      Enrolment.isItself(node, id);
      if (!STEPS_OF_A_MEMBER.isEmpty()) {
        crashAsMember(node);
        Enrolment.isItself(node, id);
      }
    }
  }

  private static void crashAsMember(TestNode node) throws Exception {
    try (CrashWriters writers = CrashWriters.of(node)) {
      CrashKill.BOTH.end(node);
      // One check suffices: a crash after "listeners" comes before any write is answered.
      for (String step : STEPS_OF_A_MEMBER) {
        crash(node, step);
      }
      node.up();
      writers.check("after a kill, and crashes after " + STEPS_OF_A_MEMBER);
    }
  }

  @ParameterizedTest
  @Tag("long")
  @ValueSource(strings = {"enrolment journal erased", "listeners", "curator"})
  @DisplayName("a crash at the end of a bootstrap: the same node comes back as a member")
  void crashAtTheEnd(String step) throws Exception {
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.25.2")) {
      crash(node, step, "--security", "insecure");
      NodeId id = Enrolment.certified(node);
      node.up();
      Enrolment.isItself(node, id);
    }
  }

  @Test
  @DisplayName(
      "after a crash, at the end of a bootstrap too, an encrypted volume is opened again, never made again")
  void crashBesideAnEncryptedVolume() throws Exception {
    StorageModesIT.requireGround(StorageModesIT.Mode.ENCRYPTED);
    try (TestNode node = TestNode.prepared(directory.resolve("n"), "127.0.25.3")) {
      Path image = node.state().resolve(StorageModesIT.Mode.ENCRYPTED.backing);
      crash(node, "data volume", "--security", "encrypted", "--set", StorageModesIT.SMALL);
      EnrolmentJournal first = Enrolment.journal(node);
      NodeId id = Enrolment.id(first);
      byte[] made = header(image);
      for (String step : List.of("cluster records", "journal entry STEP_DONE")) {
        // Once with the volume unmounted, as after a power cut, and once with it mounted.
        node.stop();
        crash(node, step);
        Enrolment.requireSameKeys(first, Enrolment.journal(node), step);
        assertArrayEquals(made, header(image), "the volume was made again after " + step);
      }
      node.up();
      Enrolment.isItself(node, id);
      assertArrayEquals(made, header(image), "the volume was made again by the last start");
    }
  }

  @Test
  @DisplayName(
      "kills at moments of chance, of the node, of etcd and of both: the same node once it has"
          + " written down its keys, with each acknowledged write")
  void killedAtAnyMoment() throws Exception {
    System.out.printf("kills of enrolments with -Dpolis.seed=%d%n", SEED);
    Random random = new Random(SEED);
    int kills = 0;
    for (int number = 0; kills < KILLS; number++) {
      Path state = directory.resolve("n" + number);
      try (TestNode node = TestNode.prepared(state, "127.0.25.4")) {
        int left = KILLS - kills;
        kills += killUntilHome(node, random, Math.ceilDiv(left, 2));
        kills += killMember(node, random, Math.min(KILLS - kills, KILLS_OF_A_MEMBER));
      } catch (AssertionError e) {
        throw new AssertionError("with -Dpolis.seed=" + SEED + ": " + e.getMessage(), e);
      }
    }
  }

  private static CrashKill any(Random random) {
    return CrashKill.values()[random.nextInt(CrashKill.values().length)];
  }

  /** Kills starts of one node at random moments until one of them reaches HOME before its kill. */
  private static int killUntilHome(TestNode node, Random random, int atMost) throws Exception {
    Optional<NodeId> id = Optional.empty();
    boolean wasHome = false;
    int kills = 0;
    for (; kills < atMost && !wasHome; kills++) {
      node.start("--security", "insecure");
      wasHome = node.isHomeWithin(Duration.ofNanos(random.nextLong(BOOTSTRAP.toNanos())));
      CrashKill kill = any(random);
      kill.end(node);
      if (!kill.endsNode()) {
        // An etcd that is killed before it was ready ends the start, which says so.
        if (node.awaitHomeOrEnd()) {
          node.killJvm();
        } else {
          assertTrue(
              node.said().contains("etcd ended before it was ready (killed by signal 9)"),
              node::said);
        }
      }
      Optional<NodeId> written = Enrolment.journalIfAny(node).map(Enrolment::id);
      if (id.isPresent() && written.isPresent()) {
        assertEquals(id, written, "the keys of the journal were replaced");
      }
      id = id.or(() -> written);
    }
    node.up("--security", "insecure");
    NodeId is = Enrolment.certified(node);
    assertEquals(id.orElse(is), is);
    Enrolment.isItself(node, is);
    return kills;
  }

  /** Kills a member under its writers, and every second time its next start, too. */
  private static int killMember(TestNode node, Random random, int kills) throws Exception {
    NodeId id = Enrolment.certified(node);
    try (CrashWriters writers = CrashWriters.of(node)) {
      for (int number = 0; number < kills; number++) {
        writers.await(random.nextInt(WRITES));
        CrashKill kill = any(random);
        kill.end(node);
        if (kill.endsNode()) {
          if (number % 2 == 1) {
            node.start();
            node.isHomeWithin(Duration.ofNanos(random.nextLong(BOOTSTRAP.toNanos())));
            any(random).end(node);
            node.killJvm();
          }
          node.up();
        }
        writers.check("after a kill of " + kill);
      }
      System.out.println("across the kills of a member: " + writers.words());
    }
    Enrolment.isItself(node, id);
    return kills;
  }

  /** Returns options that end a node after a step as a kill would. */
  static String[] haltAfter(String step, String... more) throws IOException {
    String[] options = Arrays.copyOf(more, more.length + 1);
    options[more.length] = CrashAgent.whenReturned(STEP, step);
    return options;
  }

  /** Starts a node that ends after a step as if it was killed. */
  static void crash(TestNode node, String step, String... more) throws Exception {
    node.start(haltAfter(step, more));
    assertEquals(KILLED, node.awaitEnd(), "after " + step + ": " + node.said());
  }

  private static byte[] header(Path image) throws Exception {
    try (var in = Files.newInputStream(image)) {
      return in.readNBytes(LUKS_HEADER);
    }
  }
}
