package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.LocalMember;
import dev.polis.consensus.ConsensusHarness.Instance;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdMember;
import dev.polis.fixtures.Await;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Makes a new cluster of one member after the loss of the others, with real etcd. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class MemberRecoveryTest {

  private static final int WRITES = 200;

  private ConsensusHarness own;
  private ConsensusHarness second;
  private ConsensusHarness third;

  @BeforeEach
  void open() throws Exception {
    own = new ConsensusHarness();
    second = new ConsensusHarness();
    third = new ConsensusHarness();
  }

  @AfterEach
  void close() throws IOException {
    third.close();
    second.close();
    own.close();
  }

  private static void put(Instance instance, String key, String value) throws Exception {
    try (EtcdClient client = EtcdClient.connect(instance.consensus.access("curator"))) {
      client.kv().put(key, value.getBytes(StandardCharsets.UTF_8));
    }
  }

  private static String get(Instance instance, String key) throws Exception {
    try (EtcdClient client = EtcdClient.connect(instance.consensus.access("curator"))) {
      return client
          .kv()
          .get(key)
          .map(found -> new String(found.value(), StandardCharsets.UTF_8))
          .orElse("absent");
    }
  }

  private static List<Long> memberIds(Instance instance) throws Exception {
    return instance.consensus.operations().survey().answers().stream()
        .map(MemberSurvey.Answer::member)
        .map(EtcdMember::id)
        .toList();
  }

  private static ConsensusRecord record(ConsensusHarness harness) throws Exception {
    return new ConsensusDisk(harness.files()).member().orElseThrow();
  }

  private Path snapshot(Instance instance) throws Exception {
    Path file = own.folder.resolve("snapshot.db");
    try (OutputStream out = Files.newOutputStream(file)) {
      instance
          .consensus
          .operations()
          .snapshot(
              part -> {
                try {
                  out.write(part.data());
                } catch (IOException unwritten) {
                  throw new AssertionError("the snapshot cannot be written", unwritten);
                }
              });
    }
    return file;
  }

  @Test
  @DisplayName(
      "D-14 one of three members continues alone with all its records, and accepts no old member")
  void d14_survivorOfThree() throws Exception {
    Instance leader = own.instance();
    String cluster = leader.startNew().clusterId();
    Instance survivor = second.instance();
    String member = Joining.becomeVoter(leader, second, survivor);
    Joining.becomeVoter(leader, third, third.instance());
    try (EtcdClient writer = EtcdClient.connect(survivor.consensus.access("curator"))) {
      for (int i = 0; i < WRITES; i++) {
        writer.kv().put("/write/" + i, new byte[] {(byte) i});
      }
    }
    own.lose();
    third.lose();

    MemberSurvey survey = survivor.consensus.operations().survey();
    assertEquals(cluster, Long.toHexString(survey.clusterId()));
    assertEquals(3, survey.answers().size());
    assertEquals(second.identity.node().text(), survey.answers().getFirst().member().name());
    for (MemberSurvey.Answer lost : survey.answers().subList(1, 3)) {
      assertTrue(lost.error().startsWith("it did not answer within 2 s"), lost::error);
    }

    Instance recovered = second.instance(ConsensusHarness.recovering(cluster, ""));
    ConsensusStatus.Running running = recovered.startExisting();

    assertNotEquals(cluster, running.clusterId());
    assertNotEquals(member, running.memberId());
    assertEquals(List.of(Long.parseUnsignedLong(running.memberId(), 16)), memberIds(recovered));
    assertEquals(
        Optional.of(new LocalMember(running.memberId(), false, true)),
        recovered.consensus.localMember());
    try (EtcdClient reader = EtcdClient.connect(recovered.consensus.access("curator"))) {
      for (int i = 0; i < WRITES; i++) {
        assertEquals((byte) i, reader.kv().get("/write/" + i).orElseThrow().value()[0]);
      }
    }
    Path aside = second.files().removed().path().resolve(member);
    assertTrue(Files.isDirectory(aside.resolve("data/member/wal")), "no former data in " + aside);
    assertEquals(List.of(cluster), record(second).former());

    long pid = recovered.pid();
    Instance again = second.instance(ConsensusHarness.recovering(cluster, ""));
    assertEquals(running.memberId(), again.startExisting().memberId());
    assertEquals(pid, again.pid(), "an order that is done made another cluster");

    Instance back = third.instance();
    back.consensus.startExisting(third.identity);
    Await.until(
        ConsensusHarness.PATIENCE,
        "etcd of the lost member to refuse the new cluster",
        () ->
            third.etcdLog().stream()
                .anyMatch(line -> line.toString().contains("cluster ID mismatch")),
        () -> third.etcdLog().size() + " lines");
    assertEquals(1, memberIds(again).size());
    assertFalse(
        back.consensus.status().peek().orElseThrow() instanceof ConsensusStatus.Running,
        "a lost member serves");
  }

  @Test
  @DisplayName(
      "an order of a new cluster is refused while another member is up, also while its etcd starts again")
  void refusedBesideAnother() throws Exception {
    Instance leader = own.instance();
    String cluster = leader.startNew().clusterId();
    String member = Joining.becomeVoter(leader, second, second.instance());
    // The hardest moment for the question is a restart of the other member's etcd.
    ConsensusHarness.kill(own.etcdPid());

    Instance ordered = second.instance(ConsensusHarness.recovering(cluster, ""));
    ordered.consensus.startExisting(second.identity);
    ConsensusStatus.Failed refused = ordered.await(ConsensusStatus.Failed.class);
    assertTrue(
        refused.reason().contains("the member of %s answers".formatted(own.identity.node())),
        refused::reason);

    assertEquals(member, second.instance().startExisting().memberId());
  }

  @Test
  @DisplayName("a snapshot brings the records of its time back, and no later ones")
  void restored() throws Exception {
    Instance instance = own.instance();
    String cluster = instance.startNew().clusterId();
    put(instance, "/foo", "before");
    Path file = snapshot(instance);
    put(instance, "/foo", "after");
    put(instance, "/later", "after");

    ConsensusHarness foreign = second;
    String other = foreign.instance().startNew().clusterId();
    refused(foreign, other, file, "is no snapshot of this cluster");
    refusedAtOnce(instance, other, "belongs to cluster " + cluster);
    Path damaged = Files.copy(file, own.folder.resolve("damaged.db"));
    Files.write(damaged, new byte[] {1}, StandardOpenOption.APPEND);
    refused(own, cluster, damaged, "nothing");
    Instance unchanged = own.instance();
    assertEquals(cluster, unchanged.startExisting().clusterId());
    assertEquals("after", get(unchanged, "/foo"));

    Instance restored = own.instance(ConsensusHarness.recovering(cluster, file.toString()));
    assertNotEquals(cluster, restored.startExisting().clusterId());
    assertEquals("before", get(restored, "/foo"));
    assertEquals("absent", get(restored, "/later"));
    put(restored, "/later", "again");
  }

  private static void refused(ConsensusHarness node, String cluster, Path file, String reason)
      throws Exception {
    Instance ordered = node.instance(ConsensusHarness.recovering(cluster, file.toString()));
    ordered.consensus.startExisting(node.identity);
    ConsensusStatus.Failed failed = ordered.await(ConsensusStatus.Failed.class);
    assertTrue(failed.reason().contains(reason), failed::reason);
    assertEquals(Stage.MEMBER, record(node).stage());
  }

  private void refusedAtOnce(Instance present, String cluster, String reason) {
    assertTrue(present.consensus.localMember().isPresent());
    Instance ordered = own.instance(ConsensusHarness.recovering(cluster, ""));
    ConsensusException refused =
        assertThrows(ConsensusException.class, () -> ordered.consensus.startExisting(own.identity));
    assertTrue(refused.getMessage().contains(reason), refused::getMessage);
  }

  @Test
  @DisplayName("a start continues a new cluster that an earlier start has begun to put in place")
  void crashWindows() throws Exception {
    Instance instance = own.instance();
    String cluster = instance.startNew().clusterId();
    put(instance, "/foo", "kept");
    ConsensusRecord former = record(own);
    Instance recovered = own.instance(ConsensusHarness.recovering(cluster, ""));
    ConsensusStatus.Running made = recovered.startExisting();

    for (boolean moved : List.of(false, true)) {
      recovered.consensus.stop();
      EtcdFiles files = own.files().etcd();
      Path aside = own.files().removed().path().resolve(former.memberId()).resolve("data");
      Files.createDirectory(files.recovery().path());
      Files.move(files.data().path(), files.recovery().path().resolve("data"));
      if (!moved) {
        Files.move(aside, files.data().path());
      }
      former.recovered().write(own.files().member());

      recovered = own.instance();
      assertEquals(made.clusterId(), recovered.startExisting().clusterId());
      assertEquals("kept", get(recovered, "/foo"));
      assertTrue(Files.isDirectory(aside.resolve("member")), "the former data are gone");
      assertFalse(Files.exists(files.recovery().path()), "the folder of the recovery stayed");
    }
  }
}
