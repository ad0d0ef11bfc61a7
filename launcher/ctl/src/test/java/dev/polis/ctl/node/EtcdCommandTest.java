package dev.polis.ctl.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import dev.polis.base.digest.Sha256;
import dev.polis.ctl.CtlRun;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.cluster.Alarm;
import dev.polis.wire.cluster.AlarmsRequest;
import dev.polis.wire.cluster.AlarmsResponse;
import dev.polis.wire.cluster.DefragmentRequest;
import dev.polis.wire.cluster.DefragmentResponse;
import dev.polis.wire.cluster.DisarmRequest;
import dev.polis.wire.cluster.DisarmResponse;
import dev.polis.wire.cluster.Endpoint;
import dev.polis.wire.cluster.EtcdGrpc;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.cluster.MembersResponse;
import dev.polis.wire.cluster.SnapshotRequest;
import dev.polis.wire.cluster.SnapshotResponse;
import dev.polis.wire.cluster.StatusRequest;
import dev.polis.wire.cluster.StatusResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls a listener that answers for an etcd of three members. */
class EtcdCommandTest {

  private static final String ADDRESS =
      "127.82.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");
  private static final byte[] DATABASE =
      "records and secrets".repeat(5000).getBytes(StandardCharsets.US_ASCII);
  private static final List<Long> DEFRAGMENTED = new CopyOnWriteArrayList<>();
  private static final AtomicReference<ByteString> TAIL = new AtomicReference<>();
  private static final AtomicReference<List<Alarm>> ALARMS = new AtomicReference<>();
  private static final AtomicReference<List<Member>> MEMBERS = new AtomicReference<>();
  private static LocalRpcHost host;

  @TempDir Path state;

  @BeforeAll
  static void listen() {
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.MANAGEMENT,
                        new InetSocketAddress(ADDRESS, Session.MANAGEMENT_PORT),
                        true)),
                RpcSettings.Limits.DEFAULT),
            LogTree.create());
    host.serve(RpcHost.MANAGEMENT, new Etcd());
    KeyPair pair = Ed25519.generate();
    host.identify(
        new NodeCredentials(
            pair.getPrivate(), CLUSTER.issueNode(pair.getPublic()), CLUSTER.certificate()));
  }

  @AfterAll
  static void close() {
    host.close();
  }

  @BeforeEach
  void owner() throws Exception {
    DEFRAGMENTED.clear();
    TAIL.set(ByteString.copyFrom(Sha256.begin().digest(DATABASE)));
    ALARMS.set(List.of());
    MEMBERS.set(List.of(member(1).setLeader(true).build(), member(2).build(), member(3).build()));
    KeyPair pair = Ed25519.generate();
    Path owner = Files.createDirectories(state.resolve("owner"));
    Files.writeString(owner.resolve("owner-key.pem"), Pem.encode(pair.getPrivate()));
    Files.writeString(
        owner.resolve("owner.pem"), Pem.encode(CLUSTER.issueUser("owner", pair.getPublic())));
    Files.writeString(owner.resolve("ca.pem"), Pem.encode(CLUSTER.certificate()));
  }

  private static Member.Builder member(long id) {
    return Member.newBuilder()
        .setId(id)
        .setName("metropolis-" + id)
        .addPeerUrls("https://192.0.2.%d:7834".formatted(id))
        .setRaftTerm(4)
        .setRaftIndex(100)
        .setLag(id);
  }

  private CtlRun run(String... arguments) {
    return CtlRun.of(
        Stream.concat(
                Stream.of(
                    "--config=" + state.resolve("no-contexts"),
                    "--state=" + state,
                    "--endpoint=" + ADDRESS,
                    "etcd"),
                Stream.of(arguments))
            .toArray(String[]::new));
  }

  /** Answers as a node does. */
  private static final class Etcd extends EtcdGrpc.EtcdImplBase {
    @Override
    public void members(MembersRequest request, StreamObserver<MembersResponse> caller) {
      caller.onNext(
          MembersResponse.newBuilder().addAllMembers(MEMBERS.get()).setClusterId(0xabc).build());
      caller.onCompleted();
    }

    @Override
    public void status(StatusRequest request, StreamObserver<StatusResponse> caller) {
      caller.onNext(
          StatusResponse.newBuilder()
              .addEndpoints(
                  Endpoint.newBuilder()
                      .setId(1)
                      .setName("metropolis-1")
                      .setUrl("https://192.0.2.1:7833")
                      .setDbSize(4096)
                      .setQuota(8192)
                      .addAlarms("NOSPACE"))
              .addEndpoints(Endpoint.newBuilder().setName("metropolis-2").setError("silent"))
              .build());
      caller.onCompleted();
    }

    @Override
    public void snapshot(SnapshotRequest request, StreamObserver<SnapshotResponse> caller) {
      caller.onNext(part(ByteString.copyFrom(DATABASE, 0, 1000)));
      caller.onNext(part(ByteString.copyFrom(DATABASE, 1000, DATABASE.length - 1000)));
      caller.onNext(part(TAIL.get()));
      caller.onCompleted();
    }

    private static SnapshotResponse part(ByteString data) {
      return SnapshotResponse.newBuilder().setDataPart(data).build();
    }

    @Override
    public void defragment(DefragmentRequest request, StreamObserver<DefragmentResponse> caller) {
      DEFRAGMENTED.add(request.getMemberId());
      caller.onNext(
          DefragmentResponse.newBuilder().setBytesBefore(5000).setBytesAfter(1000).build());
      caller.onCompleted();
    }

    @Override
    public void alarms(AlarmsRequest request, StreamObserver<AlarmsResponse> caller) {
      caller.onNext(AlarmsResponse.newBuilder().addAllAlarms(ALARMS.get()).build());
      caller.onCompleted();
    }

    @Override
    public void disarm(DisarmRequest request, StreamObserver<DisarmResponse> caller) {
      if (request.getCorrupt()) {
        caller.onError(
            Status.FAILED_PRECONDITION.withDescription("no room yet").asRuntimeException());
        return;
      }
      caller.onNext(DisarmResponse.newBuilder().addAllCleared(ALARMS.get()).build());
      caller.onCompleted();
    }
  }

  @Test
  @DisplayName("members names the leader, the lag, the cluster and each silent member")
  void members() {
    MEMBERS.set(
        List.of(
            member(1).setLeader(true).build(),
            member(2).build(),
            member(3).clearRaftTerm().setError("it did not answer within 2 s").build()));

    CtlRun shown = run("members");

    assertEquals(ExitCode.OK.code(), shown.code(), shown.err());
    assertTrue(
        shown.out().matches("(?s).*1 +metropolis-1 +voter +true +4 +100 +1 .*"), shown.out());
    assertTrue(shown.out().contains("This is etcd's cluster abc."), shown.out());
    assertTrue(shown.err().contains("metropolis-3: it did not answer within 2 s"), shown.err());
    assertFalse(shown.err().contains("--force-new-cluster"), shown.err());
    CtlRun json = run("members", "-o", "json");
    JsonObject silent =
        JsonParser.parseString(json.out()).getAsJsonArray().get(2).getAsJsonObject();
    assertFalse(silent.has("lag"), json.out());
    assertEquals("abc", silent.get("clusterId").getAsString());
  }

  @Test
  @DisplayName("members of a lost majority say how the survivor continues")
  void lostMajority() {
    MEMBERS.set(
        List.of(
            member(1).build(),
            member(2).setError("silent").build(),
            member(3).setError("silent").build()));

    CtlRun shown = run("members");

    assertTrue(shown.err().contains("1 of 3 voters answer, and etcd needs 2"), shown.err());
    assertTrue(shown.err().contains("./polis up --force-new-cluster abc"), shown.err());
  }

  @Test
  @DisplayName("status shows size, quota and alarms, and names each silent member")
  void status() {
    CtlRun shown = run("status");

    assertEquals(ExitCode.OK.code(), shown.code(), shown.err());
    assertTrue(shown.out().contains("4096"), shown.out());
    assertTrue(shown.out().contains("8192"), shown.out());
    assertTrue(shown.out().contains("NOSPACE"), shown.out());
    assertTrue(shown.err().contains("metropolis-2: silent"), shown.err());
  }

  @Test
  @DisplayName("a snapshot is whole, for its owner alone, and replaces no file")
  void snapshot() throws Exception {
    Path file = state.resolve("records.db");

    CtlRun saved = run("snapshot", file.toString());

    assertEquals(ExitCode.OK.code(), saved.code(), saved.err());
    assertTrue(saved.out().contains("They hold all secrets of the cluster"), saved.out());
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    assertEquals(DATABASE.length + 32, Files.size(file));
    assertEquals(ExitCode.OK.code(), run("check", file.toString()).code());
    CtlRun again = run("snapshot", file.toString());
    assertEquals(ExitCode.FAILED.code(), again.code());
    assertTrue(again.err().contains("polisctl replaces no snapshot"), again.err());
    assertEquals(List.of("owner", "records.db"), left());
  }

  @Test
  @DisplayName("a snapshot that is not whole leaves no file")
  void damagedSnapshot() throws Exception {
    TAIL.set(ByteString.copyFrom(new byte[32]));
    Path file = state.resolve("records.db");

    CtlRun refused = run("snapshot", file.toString());

    assertEquals(ExitCode.NOT_MET.code(), refused.code(), refused.err());
    assertTrue(refused.err().contains("is damaged or not whole"), refused.err());
    assertEquals(List.of("owner"), left());
    CtlRun nowhere = run("snapshot", state.resolve("none/records.db").toString());
    assertEquals(ExitCode.NOT_FOUND.code(), nowhere.code(), nowhere.err());
  }

  @Test
  @DisplayName("a full disk is named, and nothing is left on it")
  void fullDisk() throws Exception {
    Needs.root("mounting a small file system");
    try (SmallDisk disk = SmallDisk.mounted(state.resolve("small"))) {
      Path file = disk.point().resolve("records.db");

      CtlRun full = run("snapshot", file.toString());

      assertEquals(ExitCode.FAILED.code(), full.code(), full.out());
      assertTrue(full.err().contains(file + " cannot be written"), full.err());
      assertTrue(full.err().contains("free some space there"), full.err());
      assertEquals(0, disk.point().toFile().list().length, "a part of the snapshot stayed");
    }
  }

  private List<String> left() throws Exception {
    try (Stream<Path> files = Files.list(state)) {
      return files.map(each -> each.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  @DisplayName("defrag takes one member after the other, the leader last")
  void defrag() {
    CtlRun all = run("defrag");

    assertEquals(ExitCode.OK.code(), all.code(), all.err());
    assertEquals(List.of(2L, 3L, 1L), DEFRAGMENTED);
    assertTrue(all.out().contains("metropolis-2: 4000 bytes freed, 1000 left"), all.out());
    CtlRun one = run("defrag", "metropolis-3");
    assertEquals(ExitCode.OK.code(), one.code(), one.err());
    assertEquals(List.of(2L, 3L, 1L, 3L), DEFRAGMENTED);
    CtlRun none = run("defrag", "metropolis-9");
    assertEquals(ExitCode.NOT_FOUND.code(), none.code());
    assertTrue(none.err().contains("metropolis-1"), none.err());
  }

  @Test
  @DisplayName("alarms are listed with what to do, and cleared unless the node refuses")
  void alarms() {
    assertTrue(run("alarm", "list").out().contains("etcd has raised no alarm"));
    assertTrue(run("alarm", "disarm").out().contains("nothing to clear"));
    ALARMS.set(
        List.of(
            Alarm.newBuilder()
                .setMemberId(1)
                .setMemberName("metropolis-1")
                .setKind("NOSPACE")
                .setRemedy("delete keys")
                .build()));

    CtlRun listed = run("alarm", "list");
    assertTrue(listed.out().matches("(?s).*NOSPACE +1 +metropolis-1 +delete keys.*"), listed.out());
    assertTrue(run("alarm", "disarm").out().contains("cleared NOSPACE of metropolis-1"));
    CtlRun refused = run("alarm", "disarm", "--corrupt");
    assertEquals(ExitCode.FAILED.code(), refused.code());
    assertTrue(refused.err().contains("no room yet"), refused.err());
  }
}
