package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.FileDigest;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import dev.polis.fixtures.Tier;
import dev.polis.pki.NodeId;
import io.grpc.StatusException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Creates a cluster on disks that are full, or read-only, at each write in turn. Each time the node
 * must name the place and the remedy, and after the remedy become the intended node.
 */
@Tag("longer")
@Tag("full")
class EnrolmentDiskIT {

  private static final boolean LONG = Tier.isLong();

  /** Space for one file more than the previous start had; for many in the short form. */
  private static final long STEP = (LONG ? 1 : 512) * SmallDisk.PAGE;

  private static final String[] INSECURE = {"--security", "insecure"};

  /** More than the some 20 files of our own, and the hundred megabytes of etcd, need. */
  private static final int MOST_STARTS = 60;

  /**
   * The growth of space when a start fails at the same file again: in the long form it must be too
   * small to skip the next write.
   */
  private static final int GROWTH = LONG ? 2 : 512;

  /** etcd sets 128 MiB aside for its log. */
  private static final long PLENTY = 1L << 30;

  /** Enough to fill a page: a record has some hundred bytes, a page of etcd's database 4,096. */
  private static final int WRITES_OF_A_PAGE = 100;

  /** Many pages, for what a starting etcd frees meanwhile. */
  private static final int MOST_WRITES = 10_000;

  /** A trace through gRPC or the JDK has some ten frames before the first of our own. */
  private static final int TRACE_LINES = 20;

  private static final String JOURNAL = "esp/enrolment_journal.pb";
  private static final String COMMITTED = "journal entry STEP_COMMITTED";
  private static final String SAVED = "journal entry STEP_CREDENTIALS_SAVED";

  /**
   * Files that are never made a second time once the file exists that depends on them, by that
   * file.
   */
  private static final Map<String, String> LASTING =
      Map.of(
          "volume", "volume",
          "etcd/pki/ca.pem", "etcd/data/member/wal",
          "etcd/pki/ca-key.pem", "etcd/data/member/wal",
          "node/credentials/cert-key.pem", "node/credentials/cert-key.pem");

  /**
   * Holds a write that fails.
   *
   * @param after the step after which the node is killed first; empty if it stays where the
   *     previous fault left it @param file the path in the state directory that cannot be
   *     written @param always whether the short form has it, too
   */
  private record Fault(String after, String file, boolean always) {}

  private static final List<Fault> FAULTS =
      List.of(
          new Fault("", JOURNAL, true),
          new Fault("journal entry STEP_KEYS_GENERATED", "esp/volume_format", false),
          new Fault("", "data/volume", true),
          new Fault("data volume", "esp/recovery_share.pb", false),
          new Fault("journal entry STEP_VOLUME_CREATED", "data/etcd/", false),
          new Fault("cluster records", JOURNAL, false),
          new Fault(COMMITTED, "esp/cluster_directory.pb", true),
          new Fault("", "data/etcd/data", true),
          // The credentials are not in the journal yet, so this start saves the directory and them
          // again.
          new Fault("node credentials", "esp/cluster_directory.pb", false),
          new Fault(SAVED, "esp/sealed_configuration.pb", true),
          new Fault("sealed configuration", JOURNAL, false));

  @TempDir Path directory;

  @BeforeAll
  static void requireGround() {
    Needs.root("mounting a small disk");
  }

  @Test
  @DisplayName(
      "a disk full at any write is named with the remedy, and the node becomes the same one in the end; one that fills while the node runs is named to the operator, and the node continues once there is space")
  void fullAtEachWrite() throws Exception {
    Path state = directory.resolve("n");
    try (SmallDisk esp = SmallDisk.mounted(state.resolve("esp"));
        SmallDisk data = SmallDisk.mounted(state.resolve("data"));
        TestNode node = TestNode.prepared(state, "127.0.27.1")) {
      Keys keys = new Keys(node);
      if (LONG) {
        fillToThePage(node, keys, esp, data);
      } else {
        fill(node, keys, esp, data, INSECURE)
            .requireSeen(
                JOURNAL, "data/etcd/pki/member.json", "data/node/credentials/cert-key.pem");
      }
      // etcd has just enough space to serve, and may fail to get its next page at any moment.
      data.leave(PLENTY);
      goesOn(node);
      Enrolment.isItself(node, keys.id());
      fillWhileItLives(node, keys.id(), data);
    }
  }

  /** Fills the disk of a running node, and requires that the operator learns of it. */
  private static void fillWhileItLives(TestNode node, NodeId id, SmallDisk data) throws Exception {
    try (OwnerApi owner = OwnerApi.of(node)) {
      NumberedWriter writer = new NumberedWriter(owner, id.text(), 0, 0);
      Finished told = toldOfFullDisk(node, writer, data);
      assertEquals(5, told.code(), told.all());
      assertFalse(told.err().contains("is the node up?"), told.all());
      assertEquals("", stackTrace(node.said()), "a full disk is no defect of the code");
      data.leave(PLENTY);
      goesOn(node);
      Enrolment.isItself(node, id);
      long kept = writer.in(owner.node(id.text()).getLabels());
      assertTrue(
          writer.acknowledged() <= kept && kept <= writer.begun(),
          () ->
              "%d was acknowledged, %d begun, and %d is kept"
                  .formatted(writer.acknowledged(), writer.begun(), kept));
    }
  }

  /** Returns the first stack trace with the line before it; empty if there is none. */
  private static String stackTrace(String said) {
    List<String> lines = said.lines().toList();
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).contains(" at dev.polis.")) {
        return String.join(
            "\n", lines.subList(Math.max(0, i - TRACE_LINES), Math.min(lines.size(), i + 2)));
      }
    }
    return "";
  }

  private static void fillToThePage(TestNode node, Keys keys, SmallDisk esp, SmallDisk data)
      throws Exception {
    // etcd needs so much space at once that all later writes have enough; so they get runs of
    // their own, after etcd has preallocated its log.
    fill(node, keys, esp, data, EnrolmentCrashIT.haltAfter(COMMITTED, INSECURE))
        .requireSeen(
            JOURNAL,
            "esp/volume_format",
            "data/etcd/pki/member.json",
            "data/etcd/pki/ca-key.pem",
            "data/etcd/peer_pki/cert.pem",
            "data/etcd/data");
    fill(node, keys, esp, data, EnrolmentCrashIT.haltAfter(SAVED, INSECURE))
        .requireSeen("data/node/credentials/cert-key.pem", "esp/cluster_directory.pb");
    // Each erased journal entry frees more than this file takes, so it, too, needs a run of its
    // own.
    fill(node, keys, esp, data, INSECURE).requireSeen("esp/sealed_configuration.pb");
  }

  private static void writeUntilRefused(NumberedWriter writer, SmallDisk data) throws Exception {
    try {
      for (int i = 0; i < MOST_WRITES; i++) {
        // An etcd that starts removes files, also later than it answers, and has space again.
        if (i % WRITES_OF_A_PAGE == 0) {
          data.leave(0);
        }
        writer.write();
      }
    } catch (StatusException refused) {
      return;
    }
    throw new AssertionError("a full disk took " + MOST_WRITES + " writes");
  }

  private static Finished toldOfFullDisk(TestNode node, NumberedWriter writer, SmallDisk data)
      throws Exception {
    AtomicReference<Finished> health = new AtomicReference<>();
    Await.until(
        TestNode.PATIENCE,
        "health to report the full disk",
        () -> {
          writeUntilRefused(writer, data);
          health.set(node.ctl("health"));
          // While the next run begins, the organ reports its wait beside the failure of the last
          // run.
          return health.get().err().contains("free some space")
              && health.get().out().matches("(?s).*(etcd|runnable)-failed.*");
        },
        () -> "health: %s%nnode: %s".formatted(health.get().all(), node.said()));
    return health.get();
  }

  private static void goesOn(TestNode node) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "the node to continue by itself after its disk got space",
        () -> node.ctl("takeownership").code() == 0 && node.ctl("health").code() == 0);
  }

  /** Starts a node without free space, and with more after each refusal, until it succeeds. */
  private static Fullness fill(
      TestNode node, Keys keys, SmallDisk esp, SmallDisk data, String... options) throws Exception {
    Fullness full = new Fullness(node);
    while (full.stopped(
        () -> {
          esp.leave(full.room(esp.point()));
          data.leave(full.room(data.point()));
        },
        options)) {
      keys.requireKept();
    }
    keys.requireKept();
    return full;
  }

  @Test
  @DisplayName(
      "a disk read-only after any step is named with the remedy, and the node becomes the same one in the end")
  void readOnlyAfterEachStep() throws Exception {
    Path state = directory.resolve("n");
    try (SmallDisk esp = SmallDisk.mounted(state.resolve("esp"));
        SmallDisk data = SmallDisk.mounted(state.resolve("data"));
        TestNode node = TestNode.prepared(state, "127.0.27.2")) {
      esp.leave(1 << 20);
      data.leave(PLENTY);
      Keys keys = new Keys(node);
      for (Fault fault : FAULTS) {
        if (LONG || fault.always()) {
          meet(fault, node, keys, esp, data);
        }
      }
      node.up(INSECURE);
      keys.requireKept();
      Enrolment.isItself(node, keys.id());
    }
  }

  private static void meet(Fault fault, TestNode node, Keys keys, SmallDisk esp, SmallDisk data)
      throws Exception {
    if (!fault.after().isEmpty()) {
      EnrolmentCrashIT.crash(node, fault.after(), INSECURE);
      keys.requireKept();
    }
    if (fault.file().startsWith("data/")) {
      // A file system with an open file for writing cannot be made read-only.
      node.stop();
      refusesReadOnly(node, data, fault.file());
    } else {
      refusesReadOnly(node, esp, fault.file());
    }
    keys.requireKept();
  }

  private static void refusesReadOnly(TestNode node, SmallDisk disk, String file) throws Exception {
    disk.readOnly();
    try {
      node.start(INSECURE);
      assertNotEquals(0, node.awaitEnd(), node::said);
      says(node, node.state().resolve(file).toString(), "read-only", "mount it writable");
    } finally {
      disk.writable();
    }
  }

  private static void says(TestNode node, String... words) {
    for (String word : words) {
      assertTrue(
          node.lastWords().contains(word),
          () -> "the last line does not contain \"" + word + "\":\n" + node.said());
    }
  }

  @Test
  @DisplayName(
      "the launcher's own disks, full and read-only, are named with the remedy, and then the node comes home")
  void disksOfTheLauncher() throws Exception {
    Path state = directory.resolve("n");
    try (SmallDisk ephemeral = SmallDisk.mounted(state.resolve("ephemeral"));
        SmallDisk plugins = SmallDisk.mounted(state.resolve("plugins"));
        TestNode node = TestNode.prepared(state, "127.0.27.3")) {
      for (SmallDisk disk : List.of(ephemeral, plugins)) {
        refusesReadOnly(node, disk, disk.point().getFileName().toString());
      }
      Fullness full = new Fullness(node);
      while (full.stopped(
          () -> {
            ephemeral.leave(full.grown());
            plugins.leave(full.grown());
          },
          INSECURE)) {
        assertTrue(full.starts() < MOST_STARTS, node::said);
      }
    }
  }

  /** Holds the keys that each failure must leave in place. */
  private static final class Keys {
    private final TestNode node;
    private Optional<dev.polis.wire.storage.EnrolmentJournal> first = Optional.empty();
    private Map<String, String> lasting = Map.of();

    Keys(TestNode node) {
      this.node = node;
    }

    NodeId id() {
      return Enrolment.id(first.orElseThrow());
    }

    /** Requires the first keys in the journal, and unchanged files where others depend on them. */
    void requireKept() throws Exception {
      var journal = Enrolment.journalIfAny(node);
      if (first.isPresent() && journal.isPresent()) {
        Enrolment.requireSameKeys(first.get(), journal.get(), node.said());
      }
      first = first.or(() -> journal);
      Map<String, String> found = lasting();
      lasting.forEach((file, digest) -> assertEquals(digest, found.get(file), file));
      lasting = found;
    }

    private Map<String, String> lasting() throws Exception {
      Path data = node.state().resolve("data");
      Map<String, String> found = new TreeMap<>();
      for (Map.Entry<String, String> entry : LASTING.entrySet()) {
        Path file = data.resolve(entry.getKey());
        if (Files.exists(file) && Files.exists(data.resolve(entry.getValue()))) {
          found.put(entry.getKey(), FileDigest.of(file));
        }
      }
      return found;
    }
  }

  /** Starts a node repeatedly with growing space. */
  private static final class Fullness {
    private final TestNode node;
    private final Pattern place;
    private final Map<String, Integer> places = new TreeMap<>();
    private String last = "";
    private String former = "";
    private boolean stuck;
    private long room;
    private int starts;

    Fullness(TestNode node) {
      this.node = node;
      place = Pattern.compile(Pattern.quote(node.state().toString()) + "/([^ :;,]*)");
    }

    /** Returns the free bytes of the next start if each start gets more than the one before. */
    long grown() {
      return starts == 1 ? 0 : (long) Math.min(PLENTY, STEP * Math.pow(GROWTH, starts - 2));
    }

    /**
     * Returns the free bytes of the next start on a disk: none until it was found full. In the
     * short form only the disk that stopped the last start gets space, until two files that are
     * written by one start stop each other.
     */
    long room(Path point) {
      String disk = node.state().relativize(point) + "/";
      if (!LONG) {
        return last.startsWith(disk) || stuck ? PLENTY : 0;
      }
      return places.keySet().stream().anyMatch(place -> place.startsWith(disk)) ? room : 0;
    }

    int starts() {
      return starts;
    }

    /**
     * Makes space and starts; returns true if the node ended for lack of space, not at its planned
     * end.
     */
    boolean stopped(Room make, String... options) throws Exception {
      assertTrue(++starts < MOST_STARTS, () -> places + "\n" + node.said());
      make.make();
      node.start(options);
      if (node.awaitHomeOrEnd() || node.awaitEnd() == EnrolmentCrashIT.KILLED) {
        return false;
      }
      says(node, "free some space");
      Matcher found = place.matcher(node.lastWords());
      assertTrue(found.find(), () -> "no path is named:\n" + node.said());
      String now = found.group(1);
      places.merge(now, 1, Integer::sum);
      room = now.equals(last) ? Math.max(STEP, room * GROWTH) : STEP;
      // The journal grows from start to start.
      stuck = now.equals(former) && !now.equals(JOURNAL);
      former = last;
      last = now;
      return true;
    }

    void requireSeen(String... wanted) {
      for (String each : wanted) {
        assertTrue(
            places.keySet().stream().anyMatch(place -> place.startsWith(each)),
            () -> each + " never met a full disk: " + places);
      }
    }
  }

  /** Gives the disks their space. */
  private interface Room {
    void make() throws Exception;
  }
}
