package dev.polis.faults.it;

import dev.polis.files.AtomicFile;
import dev.polis.files.Mode;
import dev.polis.fixtures.power.PowerLoss.Effort;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Writes keys into a real etcd one after the other; a start must find each acknowledged one. */
final class EtcdScenario implements PowerScenario {

  private static final int WRITES = 12;

  private final List<String> more;
  // Null unless an etcd runs on the recorded disk.
  private EtcdOnDisk live;

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

  /** Begins an incomplete member anew, as the node does. */
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
    try (EtcdOnDisk member = start(root)) {
      return keys(member);
    }
  }

  private static String keys(EtcdOnDisk member) throws Exception {
    return member.ctl("get", "key-", "--prefix", "--keys-only").out().replaceAll("\\s+", " ");
  }

  private EtcdOnDisk start(Path root) throws Exception {
    // Even so few writes make a snapshot, and so rewrite both files.
    List<String> options = new ArrayList<>(List.of("--snapshot-count=5"));
    options.addAll(more);
    return EtcdOnDisk.start(root, options);
  }

  @Override
  public void powerOff() throws Exception {
    if (live != null) {
      live.close();
      live = null;
    }
  }

  /**
   * Returns the size of the disk: etcd reserves 64 MB for its log, and as much for the next one.
   */
  @Override
  public long bytes() {
    return 512L << 20;
  }

  /** Limits the moments, since each one costs a start of etcd. */
  @Override
  public int most(Effort effort) {
    return effort == Effort.LONG ? Integer.MAX_VALUE : 12;
  }
}
