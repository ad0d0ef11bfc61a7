package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.base.backoff.Backoff;
import dev.polis.base.boot.Wait;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.files.AtomicFile;
import dev.polis.files.DiskTrouble;
import dev.polis.files.FileException;
import dev.polis.files.FileTree;
import dev.polis.files.Mode;
import dev.polis.logtree.Log;
import dev.polis.logtree.convert.EtcdConverter;
import dev.polis.pki.Ed25519;
import dev.polis.process.Child;
import dev.polis.process.Commands;
import dev.polis.process.LogTail;
import dev.polis.process.ProgramPath;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes the member the only one of a new cluster, when the other members are lost for ever.
 *
 * <pre>
 *   own data ──copy──▶ etcd --force-new-cluster ──▶ database ─┐
 *                                                             ├─ etcdutl snapshot restore ──▶ recovery/data
 *   snapshot, checked by its hash and the CA ─────────────────┘                                    │
 *                       record: RECOVERED ──▶ data to etcd-removed/ID ──▶ recovery/data to data ◀──┘
 * </pre>
 *
 * <p>Nothing of the former member changes before the record says RECOVERED, and then only in
 * renames, which each start continues. The new cluster has an id of its own, and the new member
 * too: members of the lost cluster that come back do not accept it, and it does not accept them.
 * etcd's own {@code --force-new-cluster} alone would keep both ids, so that a member that the
 * survivor never knew could overwrite its log.
 *
 * <p>The revisions continue far above those of the lost cluster, and the history is compacted, so
 * no watcher takes an old revision for a new one.
 */
final class MemberRecovery {

  private static final String TOOL = "etcdutl";

  /** The bytes between a copy's and its source's revisions, as etcd's manual recommends. */
  private static final long REVISIONS = 1_000_000_000;

  /** The time for a database of 8 GiB on a slow disk. */
  private static final Duration RESTORE = Duration.ofMinutes(20);

  /** The time for a connection to a member that lives; it takes milliseconds. */
  private static final Duration CONNECT = Duration.ofSeconds(2);

  /**
   * The time in which no member may answer. The etcd of a node that is up starts again within about
   * three seconds, for example when its cluster gets a second member.
   */
  private static final Duration SILENCE = Duration.ofSeconds(10);

  /** Far less than the time in which etcd listens after a start. */
  private static final Duration PACE = Duration.ofMillis(250);

  private static final int CHUNK = 1 << 20;

  private final MemberParts parts;
  private final PreparedMember member;
  private final Log log;
  private final RecoveryOrder order;
  private final ConsensusRecord record;

  /**
   * @param member the member as its record has it now
   */
  MemberRecovery(MemberParts parts, PreparedMember member, Log log) {
    this.parts = parts;
    this.member = member;
    this.log = log;
    this.order = parts.settings().recovery();
    this.record = member.record();
  }

  /** Returns whether a start has to make a new cluster, or to continue with one. */
  boolean isDue() throws FileException {
    return order.wants(record)
        || record.stage() == Stage.RECOVERED && parts.files().etcd().recovery().exists();
  }

  /** Returns whether the data of a new cluster wait to replace those of the former one. */
  static boolean hasData(EtcdFiles files) {
    return Files.isDirectory(made(files));
  }

  /** Returns the folder of the former member's data. */
  static Path aside(ConsensusFiles files, ConsensusRecord record) {
    return files.removed().path().resolve(record.memberId());
  }

  /** Returns the members that are lost, and the remaining step, as a clause; empty without any. */
  static String lost(ConsensusRecord record) {
    return record.peers().isEmpty()
        ? ""
        : "; lost members: %s; remove each: polisctl node role remove NODE KubernetesController ConsensusMember, then polisctl node delete NODE --bypass-not-decommissioned --bypass-has-roles"
            .formatted(
                record.peers().stream()
                    .map(MemberRecovery::name)
                    .collect(Collectors.joining(", ")));
  }

  /** Returns what an operator does after the records of a snapshot; empty without one. */
  static String restored(RecoveryOrder order) {
    return order.snapshot().isEmpty()
        ? ""
        : "; the records are those of %s: compare polisctl operator list, since operators that were removed later are back; if another key became the owner's later, appoint an owner with the recovery key: polisctl owner recover --recovery-key FILE"
            .formatted(order.snapshot());
  }

  /** Returns the name of a peer, or its URL if it has never started. */
  private static String name(String peer) {
    int end = peer.indexOf('=');
    return end == 0 ? peer.substring(1) : peer.substring(0, end);
  }

  private static Path made(EtcdFiles files) {
    return files.recovery().path().resolve("data");
  }

  /**
   * Makes the new cluster's data and puts them in place.
   *
   * @throws ConsensusException if it cannot; then nothing of the member has changed
   */
  void run() throws IOException, InterruptedException {
    try (Wait wait = parts.boot().waiting("a new cluster of etcd")) {
      if (record.stage() != Stage.RECOVERED) {
        makeOrClean(wait);
        record.recovered().write(parts.files().member());
      }
      putInPlace();
      wait.done(
          "this member is its only one; the former data are in "
              + aside(parts.files(), record)
              + restored(order)
              + lost(record));
    }
  }

  /** Makes the data, and leaves none after a failure, since a full disk is the most likely one. */
  private void makeOrClean(Wait wait) throws IOException, InterruptedException {
    boolean made = false;
    try {
      make(wait);
      made = true;
    } finally {
      if (!made) {
        FileTree.delete(parts.files().etcd().recovery().path());
      }
    }
  }

  private void make(Wait wait) throws IOException, InterruptedException {
    log.warning(
        "making a new cluster of etcd from %s, as ordered; cluster %s ends",
        order.snapshot().isEmpty() ? "this member's data" : order.snapshot(), record.clusterId());
    Path tool = tool();
    requireOthersGone(wait);
    boolean own = order.snapshot().isEmpty();
    if (!own) {
      requireSnapshot(Path.of(order.snapshot()));
    }
    parts.processes().stop(EtcdProcess.NAME);
    EtcdFiles files = parts.files().etcd();
    FileTree.delete(files.recovery().path());
    files.recovery().create();
    Path database = own ? ownDatabase(wait) : Path.of(order.snapshot());
    wait.detail("restores the records");
    restore(tool, database, own, made(files));
    // The record must not reach the disk before the data that it promises.
    sync(made(files));
  }

  private Path tool() {
    Path beside = member.line().binary().path().resolveSibling(TOOL);
    return ProgramPath.find(Files.isExecutable(beside) ? beside.toString() : "", List.of(TOOL))
        .orElseThrow(
            () ->
                new ConsensusException(
                    "a new cluster needs %s, which etcd's release has beside etcd, and %s does not exist; put the one of etcd %s there"
                        .formatted(TOOL, beside, member.line().binary().version())));
  }

  /** Refuses while another member is up, since two clusters with the same records would run. */
  private void requireOthersGone(Wait wait) throws InterruptedException {
    if (record.peers().isEmpty()) {
      return;
    }
    wait.detail("listens for other members for %d s".formatted(SILENCE.toSeconds()));
    Backoff pace = new Backoff(PACE, PACE);
    long began = System.nanoTime();
    do {
      requireSilence();
      pace.pause();
    } while (System.nanoTime() - began < SILENCE.toNanos());
  }

  private void requireSilence() {
    for (String peer : record.peers()) {
      URI url = URI.create(peer.substring(peer.indexOf('=') + 1));
      if (answers(new InetSocketAddress(url.getHost(), url.getPort()))) {
        throw new ConsensusException(
            "the order of a new cluster is for a lost majority, but the member of %s answers at %s; two clusters with the same records would run: end that node for ever first (./polis down there), or start this node without the order"
                .formatted(name(peer), url));
      }
    }
  }

  private static boolean answers(InetSocketAddress address) {
    try (Socket socket = new Socket()) {
      socket.connect(address, (int) CONNECT.toMillis());
      return true;
    } catch (IOException gone) {
      return false;
    }
  }

  /** Returns a database with all records that the member knows to be committed. */
  private Path ownDatabase(Wait wait) throws IOException, InterruptedException {
    EtcdFiles files = parts.files().etcd();
    if (!new ConsensusDisk(parts.files()).hasData()) {
      throw new ConsensusException(
          "%s holds no data of etcd, so no new cluster can be made from it; name a snapshot too: --restore FILE"
              .formatted(files.data().path()));
    }
    Path copy = files.recovery().path().resolve("copy");
    wait.detail("copies " + files.data().path());
    copy(files.data().path(), copy);
    member.owner().give(files.recovery(), parts.processes(), EtcdProcess.NAME);
    wait.detail("etcd reads its log");
    try (Child etcd = EtcdProcess.startForced(parts, member, copy, wait)) {
      try (LogTail tail =
          parts.processes().tail(etcd.process(), parts.logName(), new EtcdConverter())) {
        // A healthy etcd has applied all entries of its log.
        etcd.awaitReady(parts.settings().ready());
        parts.processes().stop(EtcdProcess.NAME);
        tail.finish();
      }
    } finally {
      parts.processes().stop(EtcdProcess.NAME);
    }
    return copy.resolve("member").resolve("snap").resolve("db");
  }

  private static void copy(Path from, Path to) {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path each : (Iterable<Path>) all::iterator) {
        Files.copy(
            each, to.resolve(from.relativize(each).toString()), StandardCopyOption.COPY_ATTRIBUTES);
      }
    } catch (IOException failed) {
      throw new ConsensusException(
          "cannot copy %s to %s: %s; %s; the node changed nothing"
              .formatted(
                  from, to, DiskTrouble.reason(failed), DiskTrouble.remedy(DiskTrouble.of(failed))),
          failed);
    }
  }

  /** Refuses a file that does not have the records of this cluster. */
  private void requireSnapshot(Path file) {
    byte[] key = Ed25519.raw(member.pki().authority().certificate().getPublicKey());
    try {
      if (!contains(file, key)) {
        throw new ConsensusException(
            "%s is no snapshot of this cluster: it does not have the key of %s; name one that polisctl etcd snapshot has written for this cluster, after the last rotation of etcd's CA; the node changed nothing"
                .formatted(file, parts.files().ca().path()));
      }
    } catch (IOException unreadable) {
      throw new ConsensusException(
          "cannot read the snapshot %s: %s; name a file that the node can read; the node changed nothing"
              .formatted(file, DiskTrouble.reason(unreadable)),
          unreadable);
    }
  }

  private static boolean contains(Path file, byte[] wanted) throws IOException {
    String pattern = new String(wanted, StandardCharsets.ISO_8859_1);
    String kept = "";
    try (InputStream in = Files.newInputStream(file)) {
      for (byte[] chunk = in.readNBytes(CHUNK); chunk.length > 0; chunk = in.readNBytes(CHUNK)) {
        String text = kept + new String(chunk, StandardCharsets.ISO_8859_1);
        if (text.contains(pattern)) {
          return true;
        }
        kept = text.substring(Math.max(0, text.length() - pattern.length() + 1));
      }
      return false;
    }
  }

  /**
   * Makes a data directory of a new cluster.
   *
   * @param bare true for a database without the hash of a snapshot
   */
  private void restore(Path tool, Path database, boolean bare, Path to)
      throws IOException, InterruptedException {
    String url = member.line().peerUrl();
    String name = member.line().name();
    List<String> line =
        List.of(
            tool.toString(),
            "snapshot",
            "restore",
            database.toString(),
            "--data-dir=" + to,
            "--name=" + name,
            "--initial-cluster=" + name + "=" + url,
            "--initial-advertise-peer-urls=" + url,
            // The ids of cluster and member follow from it, and must be those of no earlier one.
            "--initial-cluster-token=" + member.line().token() + "-" + UUID.randomUUID(),
            "--bump-revision=" + REVISIONS,
            "--mark-compacted",
            "--skip-hash-check=" + bare);
    requireSuccess(new Commands().run(RESTORE, line), "restore the records of " + database);
  }

  /** Forces a whole file system to the disk, as no call of Java does. */
  private static void sync(Path folder) throws IOException, InterruptedException {
    requireSuccess(new Commands().run(RESTORE, List.of("sync", "-f", folder.toString())), "sync");
  }

  private static void requireSuccess(Commands.Result result, String what) {
    if (!result.ok()) {
      List<String> lines = result.output().lines().toList();
      throw new ConsensusException(
          "cannot %s: %s ended with %d and printed \"%s\"; the node changed nothing"
              .formatted(
                  what,
                  result.command().getFirst(),
                  result.exit(),
                  lines.isEmpty() ? "" : lines.getLast()));
    }
  }

  /** Replaces the former member's data; after a crash a later start continues. */
  private void putInPlace() throws IOException, InterruptedException {
    EtcdFiles files = parts.files().etcd();
    if (hasData(files)) {
      Path data = files.data().path();
      if (new ConsensusDisk(parts.files()).hasData()) {
        parts.files().removed().create();
        Path aside = aside(parts.files(), record);
        AtomicFile.makeDirectory(aside, Mode.PRIVATE_DIRECTORY, AtomicFile.Durability.PROCESS);
        Files.move(data, aside.resolve("data"), StandardCopyOption.ATOMIC_MOVE);
      }
      // An empty directory may be there; a rename replaces it.
      Files.move(made(files), data, StandardCopyOption.ATOMIC_MOVE);
    }
    sync(files.path());
    FileTree.delete(files.recovery().path());
  }
}
