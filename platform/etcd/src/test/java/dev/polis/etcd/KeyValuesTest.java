package dev.polis.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.EtcdFixture;
import dev.polis.fixtures.FaultyProxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class KeyValuesTest {

  private static EtcdFixture etcd;
  private EtcdClient client;

  @BeforeAll
  static void startEtcd() throws Exception {
    etcd = EtcdFixture.start(1);
  }

  @AfterAll
  static void stopEtcd() throws Exception {
    etcd.close();
  }

  @BeforeEach
  void connect() throws Exception {
    client = EtcdClient.connect(EtcdAccess.plaintext(etcd.member(0).endpoint()));
    client.kv().delete(KeyRange.all());
  }

  @AfterEach
  void disconnect() {
    client.close();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  @Test
  @DisplayName("CON-06 a client of a/b cannot see c, and its keys lie under namespaced:a:b/")
  void con06_namespacesAreApart() throws Exception {
    EtcdClient ab = client.sub("a").sub("b");
    EtcdClient c = client.sub("c");
    ab.kv().put("/foo", bytes("one"));
    c.kv().put("/foo", bytes("two"));

    assertEquals("one", ab.kv().get("/foo").orElseThrow().text());
    assertEquals("two", c.kv().get("/foo").orElseThrow().text());
    assertEquals(
        List.of("namespaced:a:b//foo", "namespaced:c//foo"),
        client.kv().range(KeyRange.all()).keys().stream().map(KeyValue::key).toList());
    assertEquals(1, ab.kv().range(KeyRange.all()).count());
    assertEquals(1, ab.kv().delete(KeyRange.all()));
    assertEquals("two", c.kv().get("/foo").orElseThrow().text());
  }

  @Test
  @DisplayName("CON-06 a namespaced client refuses administration with the reason")
  void con06_noAdministration() {
    var refused = assertThrows(IllegalStateException.class, () -> client.sub("a").admin());
    assertTrue(refused.getMessage().contains("namespaced:a/"), refused.getMessage());
  }

  @Test
  void aTransactionRunsOneBranch() throws Exception {
    Txn create =
        client.kv().txn().when(Compare.absent("k")).then(Op.put("k", bytes("1")), Op.get("k"));
    TxnResult created = create.commit();
    assertTrue(created.succeeded());
    assertEquals("1", created.found(1).getFirst().text());

    TxnResult again =
        client
            .kv()
            .txn()
            .when(Compare.absent("k"))
            .then(Op.put("k", bytes("2")))
            .otherwise(Op.get("k"))
            .commit();
    assertFalse(again.succeeded());
    KeyValue seen = again.found(0).getFirst();
    assertEquals("1", seen.text());

    TxnResult changed =
        client.kv().txn().when(Compare.unchanged(seen)).then(Op.delete("k")).commit();
    assertTrue(changed.succeeded());
    assertEquals(Optional.empty(), client.kv().get("k"));
  }

  @Test
  void aLostFenceStopsReadsAndWritesAndIsToldFromAnUnmetCondition() throws Exception {
    client.kv().put("lock", bytes("me"));
    KeyValue lock = client.kv().get("lock").orElseThrow();
    Fence fence = new Fence(client.kv().absolute("lock"), lock.createRevision());
    KeyValues fenced = client.sub("x").kv().fenced(fence);

    fenced.put("a", bytes("1"));
    assertEquals("1", fenced.get("a").orElseThrow().text());
    assertFalse(fenced.txn().when(Compare.absent("a")).then(Op.delete("a")).commit().succeeded());
    assertTrue(fenced.delete("a"));

    client.kv().delete("lock");
    client.kv().put("lock", bytes("another"));
    assertThrows(EtcdFencedException.class, () -> fenced.put("a", bytes("2")));
    assertThrows(EtcdFencedException.class, () -> fenced.get("a"));
    assertThrows(EtcdFencedException.class, () -> fenced.delete("a"));
    assertThrows(
        EtcdFencedException.class, () -> fenced.txn().then(Op.put("a", bytes("2"))).commit());
    assertEquals(Optional.empty(), client.sub("x").kv().get("a"));
  }

  @Test
  void aCompactedRevisionIsSaidToBeSo() throws Exception {
    long old = client.kv().put("k", bytes("1"));
    long recent = client.kv().put("k", bytes("2"));
    client.admin().compact(recent);
    assertThrows(
        EtcdCompactedException.class,
        () -> client.kv().range(KeyRange.single("k"), RangeOptions.DEFAULT.atRevision(old)));
  }

  @Test
  void aWriteWithoutAnswerHasAnUnknownOutcomeAndIsNotRepeated() throws Exception {
    try (FaultyProxy proxy = FaultyProxy.to(etcd.member(0));
        EtcdClient through = EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()))) {
      through.kv().put("k", bytes("1"));
      proxy.stall();
      var unknown =
          assertThrows(
              EtcdOutcomeUnknownException.class,
              () -> through.kv().within(Duration.ofSeconds(3)).put("k", bytes("2")));
      assertTrue(unknown.getMessage().contains("put k"), unknown.getMessage());
      assertTrue(unknown.getMessage().contains(proxy.endpoint()), unknown.getMessage());
      proxy.heal();
      assertTrue(through.kv().get("k").orElseThrow().version() <= 2, "the write was repeated");
    }
  }

  @Test
  void aWriteThatWasNeverSentIsRepeatedAtAnotherMember() throws Exception {
    try (FaultyProxy proxy = FaultyProxy.to(etcd.member(0));
        EtcdClient through =
            EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint(), etcd.member(0).endpoint()))) {
      proxy.refuse();
      through.kv().put("k", bytes("1"));
      assertEquals(1, client.kv().get("k").orElseThrow().version());
    }
  }

  @Test
  void noMemberAtAllIsUnavailableAndNothingWasApplied() {
    try (EtcdClient nobody = EtcdClient.connect(EtcdAccess.plaintext("127.0.0.1:1"))) {
      KeyValues kv = nobody.kv().within(Duration.ofMillis(200));
      assertThrows(EtcdUnavailableException.class, () -> kv.put("k", bytes("1")));
      assertThrows(EtcdUnavailableException.class, () -> kv.get("k"));
    }
  }

  @Test
  void anInterruptedCallEndsAsInterrupted() throws Exception {
    try (FaultyProxy proxy = FaultyProxy.to(etcd.member(0));
        EtcdClient through = EtcdClient.connect(EtcdAccess.plaintext(proxy.endpoint()))) {
      proxy.stall();
      Thread.currentThread().interrupt();
      assertThrows(InterruptedException.class, () -> through.kv().get("k"));
    }
  }

  @Test
  void aClosedClientSaysSo() {
    EtcdClient sub = client.sub("a");
    client.close();
    assertThrows(EtcdClosedException.class, () -> client.kv().get("k"));
    assertThrows(EtcdClosedException.class, () -> sub.watch(KeyRange.all(), WatchOptions.now()));
  }

  @Test
  void administrationSeesMembersStatusAndAlarms() throws Exception {
    EtcdAdmin admin = client.admin();
    EtcdMember member = admin.members().getFirst();
    EtcdStatus status = admin.status(admin.endpoints().getFirst());
    assertEquals(member.id(), status.memberId());
    assertTrue(status.isLeader());
    assertTrue(status.version().startsWith("3."), status.version());
    assertEquals(List.of(), admin.alarms());
    admin.defragment(admin.endpoints().getFirst());
    assertThrows(EtcdRefusedException.class, () -> admin.remove(1234));
  }

  @Test
  void usersAndRolesCanBeSetUpWithoutPasswords() throws Exception {
    EtcdAdmin admin = client.admin();
    admin.addRole("curator");
    admin.grant("curator", EtcdPermission.all(EtcdNamespace.of("curator")));
    admin.addUser("curator");
    admin.grantRole("curator", "curator");
    assertEquals(List.of("curator"), admin.rolesOf("curator"));
    EtcdPermission given = EtcdPermission.all(EtcdNamespace.of("curator"));
    EtcdPermission less = new EtcdPermission(EtcdPermission.Access.READ, given.range());
    EtcdPermission other = EtcdPermission.all(EtcdNamespace.of("other"));
    assertEquals(List.of(less, other), admin.missing("curator", List.of(given, less, other)));
    admin.deleteUser("curator");
    admin.deleteRole("curator");
    assertEquals(List.of(), admin.users());
  }

  @Test
  @DisplayName(
      "a request that is too large for etcd is refused before it is sent, and etcd accepts one that fits")
  void requestSizes() throws Exception {
    byte[] fits = new byte[RequestLimits.MOST_BYTES - 1024];
    client.kv().put("/fits", fits);
    client.kv().txn().then(Op.put("/fits-too", fits)).commit();

    byte[] large = new byte[RequestLimits.MOST_BYTES + 1];
    long before = client.kv().range(KeyRange.all()).revision();
    for (EtcdRefusedException refused :
        List.of(
            assertThrows(EtcdRefusedException.class, () -> client.kv().put("/large", large)),
            assertThrows(
                EtcdRefusedException.class,
                () -> client.kv().txn().then(Op.put("/large", large)).commit()))) {
      assertTrue(refused.getMessage().contains("nothing was sent"), refused.getMessage());
      assertEquals(EtcdError.OTHER, refused.error());
    }
    assertEquals(before, client.kv().range(KeyRange.all()).revision());
  }

  @Test
  @DisplayName("a transaction with more steps than etcd allows is refused before it is sent")
  void requestSteps() throws Exception {
    client.kv().txn().then(deletes(RequestLimits.MOST_STEPS)).commit();
    EtcdRefusedException refused =
        assertThrows(
            EtcdRefusedException.class,
            () -> client.kv().txn().then(deletes(RequestLimits.MOST_STEPS + 1)).commit());
    assertTrue(refused.getMessage().contains("at most 128"), refused.getMessage());
  }

  private static Op[] deletes(int count) {
    return java.util.stream.IntStream.range(0, count)
        .mapToObj(i -> Op.delete("/step/" + i))
        .toArray(Op[]::new);
  }
}
