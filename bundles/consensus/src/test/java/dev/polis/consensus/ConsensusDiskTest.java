package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Mode;
import dev.polis.files.layout.Root;
import dev.polis.pki.NodeId;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConsensusDiskTest {

  private static final NodeId NODE = NodeId.ofHex("0".repeat(32));
  private static final NodeId OTHER = NodeId.ofHex("1".repeat(32));

  @TempDir Path folder;
  private ConsensusFiles files;
  private ConsensusDisk disk;

  @BeforeEach
  void open() {
    files = new ConsensusFiles(Root.at(folder));
    disk = new ConsensusDisk(files);
  }

  @Test
  @DisplayName("the member's files have the paths that nodes of earlier versions have")
  void paths() {
    Path etcd = folder.resolve("data/etcd");
    assertEquals(etcd.resolve("data"), files.etcd().data().path());
    assertEquals(etcd.resolve("peer_pki/ca.pem"), files.etcd().peerPki().ca().path());
    assertEquals(etcd.resolve("peer_pki/cert.pem"), files.etcd().peerPki().certificate().path());
    assertEquals(etcd.resolve("peer_pki/key.pem"), files.etcd().peerPki().key().path());
    assertEquals(etcd.resolve("pki/member.json"), files.member().path());
    assertEquals(Mode.SECRET, files.etcd().peerPki().key().mode());
  }

  @Test
  @DisplayName("a bootstrap may begin on an empty disk, and continue there after an interruption")
  void begins() throws Exception {
    ConsensusRecord first = disk.allowNew(NODE);

    assertEquals(Stage.BOOTSTRAPPING, first.stage());
    assertEquals(first, disk.allowNew(NODE));
  }

  @Test
  @DisplayName("an empty disk has no member, and a start of an existing member does not make one")
  void noMember() throws Exception {
    ConsensusException refusal =
        assertThrows(ConsensusException.class, () -> disk.allowExisting(NODE));

    assertTrue(refusal.getMessage().contains("has no consensus member"), refusal::getMessage);
    assertFalse(files.exists());
  }

  @Test
  @DisplayName("a bootstrap that never finished is no member")
  void unfinished() throws Exception {
    disk.allowNew(NODE);

    ConsensusException refusal =
        assertThrows(ConsensusException.class, () -> disk.allowExisting(NODE));

    assertTrue(refusal.getMessage().contains("did not finish"), refusal::getMessage);
  }

  @Test
  @DisplayName("keys or data without a record are not overwritten")
  void remains() throws Exception {
    files.caKey().write("a key".getBytes(StandardCharsets.UTF_8));

    FileException refusal = assertThrows(FileException.class, () -> disk.allowNew(NODE));

    assertTrue(refusal.getMessage().contains("ca-key.pem"), refusal::getMessage);
    assertEquals("a key", Files.readString(files.caKey().path()));
    assertFalse(files.member().exists());
  }

  @Test
  @DisplayName("a record that cannot be read is refused, and kept")
  void corrupted() throws Exception {
    files.member().write("{\"node\":".getBytes(StandardCharsets.UTF_8));

    assertThrows(FileException.class, () -> disk.allowNew(NODE));
    assertThrows(FileException.class, () -> disk.allowExisting(NODE));
    assertEquals("{\"node\":", Files.readString(files.member().path()));
  }

  @Test
  @DisplayName("another node's disk is refused with both names")
  void foreign() throws Exception {
    disk.allowNew(OTHER);

    ConsensusException refusal = assertThrows(ConsensusException.class, () -> disk.allowNew(NODE));

    assertTrue(refusal.getMessage().contains("belongs to node " + OTHER), refusal::getMessage);
    assertTrue(refusal.getMessage().contains("this node is " + NODE), refusal::getMessage);
  }

  @Test
  @DisplayName("a member without its data is refused; with its data it may start")
  void data() throws Exception {
    disk.allowNew(NODE).complete("a1", "c1").write(files.member());

    ConsensusException gone =
        assertThrows(ConsensusException.class, () -> disk.allowExisting(NODE));
    assertTrue(gone.getMessage().contains("member a1 of cluster c1 is gone"), gone::getMessage);
    assertThrows(ConsensusException.class, () -> disk.allowNew(NODE));

    Path log = Files.createDirectories(files.etcd().data().path().resolve("member/wal"));
    assertThrows(ConsensusException.class, () -> disk.allowExisting(NODE));
    Files.createFile(log.resolve("0000000000000000-0000000000000000.wal"));
    assertEquals("a1", disk.allowExisting(NODE).memberId());
  }

  @Test
  @DisplayName("the files of a removed member are set aside with its data, and without its keys")
  void setAside() throws Exception {
    ConsensusRecord record = disk.allowNew(NODE).complete("a1", "c1");
    List<FilePlacement> keys =
        List.of(files.caKey(), files.rootKey(), files.etcd().peerPki().key());
    for (FilePlacement each : keys) {
      each.write("a key".getBytes(StandardCharsets.UTF_8));
    }
    files.etcd().data().create();
    Files.createFile(files.etcd().data().path().resolve("db"));

    Path aside = disk.setAside(record);

    assertEquals(folder.resolve("data/etcd-removed/a1"), aside);
    try (Stream<Path> left = Files.walk(aside)) {
      assertEquals(
          Set.of("data/db", "pki/member.json"),
          left.filter(Files::isRegularFile)
              .map(file -> aside.relativize(file).toString())
              .collect(Collectors.toSet()));
    }
    assertFalse(files.etcd().path().toFile().exists());
  }

  @Test
  @DisplayName(
      "the files of a member and of a removed one are erased, and an interrupted time again")
  void erase() throws Exception {
    assertFalse(disk.erase(), "it found files on an empty disk");
    for (String id : List.of("a1", "a2")) {
      ConsensusRecord record = disk.allowNew(NODE).complete(id, "c1");
      files.caKey().write("a key".getBytes(StandardCharsets.UTF_8));
      files.etcd().data().create();
      Files.writeString(files.etcd().data().path().resolve("db"), "the CA's key");
      if (id.equals("a1")) {
        disk.setAside(record);
      }
    }
    Path present = files.etcd().data().path().resolve("db");
    Path removed = files.removed().path().resolve("a1/data/db");
    List<Path> seen = List.of(folder.resolve("present"), folder.resolve("removed"));
    Files.createLink(seen.getFirst(), present);
    Files.createLink(seen.getLast(), removed);

    assertTrue(disk.erase());

    assertFalse(Files.exists(files.etcd().path()));
    assertFalse(Files.exists(files.removed().path()));
    for (Path each : seen) {
      assertEquals("\0".repeat("the CA's key".length()), Files.readString(each));
    }
    Files.createDirectories(files.etcd().data().path());
    assertTrue(disk.erase(), "it did not continue");
    assertFalse(Files.exists(files.etcd().path()));
  }

  @Test
  @DisplayName("etcd's data of an unfinished bootstrap is removed; a member's data is kept")
  void unbegun() throws Exception {
    ConsensusRecord begun = disk.allowNew(NODE);
    Path member = files.etcd().data().path().resolve("member");
    Path database = Files.createDirectories(member.resolve("snap")).resolve("db");
    Files.createFile(database);
    Files.createFile(Files.createDirectories(member.resolve("wal.tmp")).resolve("0-0.wal"));

    disk.removeUnfinishedData(begun.complete("a1", "c1"));
    assertTrue(Files.exists(database), "a member's database");
    disk.removeUnfinishedData(begun);
    assertFalse(Files.exists(member));
    disk.removeUnfinishedData(begun);

    Files.createFile(Files.createDirectories(database.getParent()).resolve("db"));
    Path log = Files.createDirectories(member.resolve("wal")).resolve("0-0.wal");
    Files.createFile(log);
    disk.removeUnfinishedData(begun.complete("a1", "c1"));
    assertTrue(Files.exists(log), "a member's log");
    disk.removeUnfinishedData(begun);
    assertFalse(Files.exists(log), "a log of an unfinished bootstrap");
  }
}
