package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.pki.Ed25519;
import dev.polis.rpc.audit.AuditCursor;
import dev.polis.rpc.audit.AuditFolder;
import dev.polis.rpc.audit.AuditKind;
import dev.polis.rpc.audit.AuditLog;
import dev.polis.rpc.audit.AuditRecord;
import dev.polis.rpc.audit.AuditSettings;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.UpdateNodeLabelsRequest;
import dev.polis.wire.api.UpdateNodeLabelsResponse;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.RegisterNodeRequest;
import dev.polis.wire.curator.RegisterNodeResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Makes calls over the network, and reads their records in the audit log. */
@Timeout(60)
class CallAuditTest {
  private static final Pattern SUM =
      Pattern.compile(
          "(\\d+) calls of strangers refused in \\d+ s: \\1 from 127\\.0\\.0\\.1 UNAUTHENTICATED"
              + " metropolis\\.proto\\.api\\.Management/UpdateNodeLabels");

  @TempDir Path directory;
  private AuditLog log;
  private RpcFixture fixture;
  private final List<String> seenByHandler = new CopyOnWriteArrayList<>();

  @BeforeEach
  void open() throws IOException {
    fixture = RpcFixture.audited(logs -> log = new AuditLog(AuditSettings.DEFAULT, logs.log("a")));
    log.open(Files.createDirectory(directory.resolve("audit")));
    fixture.host.serve(RpcHost.CURATOR, new Labels());
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  private final class Labels extends ManagementGrpc.ManagementImplBase {
    @Override
    public void updateNodeLabels(
        UpdateNodeLabelsRequest request, StreamObserver<UpdateNodeLabelsResponse> caller) {
      seenByHandler.add("asked");
      caller.onNext(UpdateNodeLabelsResponse.getDefaultInstance());
      caller.onCompleted();
    }
  }

  private static Status call(ManagedChannel channel) {
    return RpcFixture.statusOf(
        () ->
            ManagementGrpc.newBlockingStub(channel)
                .updateNodeLabels(UpdateNodeLabelsRequest.getDefaultInstance()));
  }

  private List<AuditRecord> records(AuditKind kind) throws IOException {
    List<AuditRecord> found = new ArrayList<>();
    AuditCursor cursor = new AuditCursor(new AuditFolder(directory.resolve("audit")), 0);
    for (List<AuditCursor.Entry> some = cursor.next(Long.MAX_VALUE, 1000);
        !some.isEmpty();
        some = cursor.next(Long.MAX_VALUE, 1000)) {
      some.forEach(entry -> found.add(entry.record()));
    }
    return found.stream().filter(record -> record.kind() == kind).toList();
  }

  @Test
  @DisplayName("the record of a change is on the disk before the caller gets its answer")
  void changeIsOnTheDiskBeforeTheAnswer() throws Exception {
    ManagedChannel owner = fixture.asOwner();
    for (int i = 1; i <= 20; i++) {
      assertEquals(Status.Code.OK, call(owner).getCode());
      assertEquals(i, records(AuditKind.BEGIN).size());
    }
    String peer = records(AuditKind.BEGIN).getFirst().peer();
    assertTrue(peer.matches("user \"owner\" \\(owner, key SHA256:[A-Za-z0-9+/]{43}\\)"), peer);
    assertEquals(
        "metropolis.proto.api.Management/UpdateNodeLabels",
        records(AuditKind.BEGIN).getFirst().method());
    log.release();
    assertEquals(20, records(AuditKind.END).size());
    assertTrue(records(AuditKind.END).getFirst().text().startsWith("OK after"));
  }

  @Test
  @Tag("attack")
  @DisplayName("a forbidden change of an authenticated peer is recorded, and reaches no handler")
  void deniedChangeIsKept() throws Exception {
    assertEquals(Status.Code.PERMISSION_DENIED, call(fixture.as(fixture.node())).getCode());
    assertEquals(1, records(AuditKind.CALL).size());
    assertTrue(records(AuditKind.CALL).getFirst().text().startsWith("PERMISSION_DENIED"));
    assertEquals(List.of(), seenByHandler);
  }

  @Test
  @DisplayName(
      "a refused machine that has proved a key has a record with the reason, once for each, ten at once")
  void refusedMachines() throws Exception {
    fixture.host.serve(
        RpcHost.CURATOR,
        new CuratorGrpc.CuratorImplBase() {
          @Override
          public void registerNode(
              RegisterNodeRequest request, StreamObserver<RegisterNodeResponse> caller) {
            String reason = "a wrong ticket of " + request.getJoinKey().toStringUtf8();
            caller.onError(Status.FAILED_PRECONDITION.withDescription(reason).asException());
          }
        });
    ManagedChannel machine =
        fixture.channel(RpcClients.ephemeral(Ed25519.generate(), fixture.trust()));
    for (int i = 0; i < 40; i++) {
      RegisterNodeRequest request =
          RegisterNodeRequest.newBuilder()
              .setJoinKey(ByteString.copyFromUtf8("key " + i / 2))
              .build();
      Status refused =
          RpcFixture.statusOf(() -> CuratorGrpc.newBlockingStub(machine).registerNode(request));
      assertEquals(Status.Code.FAILED_PRECONDITION, refused.getCode());
    }
    log.release();
    List<AuditRecord> kept = records(AuditKind.CALL);
    assertEquals(10, kept.size());
    for (int i = 0; i < 10; i++) {
      String text = kept.get(i).text();
      assertTrue(text.contains("(a wrong ticket of key " + i + ")"), text);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a flood of strangers leaves one line, and the records of changes stay")
  void floodOfStrangersLeavesOneLine() throws Exception {
    assertEquals(Status.Code.OK, call(fixture.asOwner()).getCode());
    ManagedChannel stranger = fixture.channel(RpcClients.anonymous(fixture.trust()));
    long begin = System.nanoTime();
    for (int i = 0; i < 500; i++) {
      assertEquals(Status.Code.UNAUTHENTICATED, call(stranger).getCode());
    }
    fixture.host.close();
    long seconds = Duration.ofNanos(System.nanoTime() - begin).toSeconds();
    assertEquals(1, records(AuditKind.BEGIN).size());
    List<String> sums = records(AuditKind.REFUSALS).stream().map(AuditRecord::text).toList();
    // The log gets a sum ten seconds after the first call, and one at the end.
    assertTrue(sums.size() <= 1 + seconds / 10, () -> "in " + seconds + " s: " + sums);
    int counted = 0;
    for (String sum : sums) {
      Matcher said = SUM.matcher(sum);
      assertTrue(said.matches(), sum);
      counted += Integer.parseInt(said.group(1));
    }
    assertEquals(500, counted, sums::toString);
  }

  @Test
  @Tag("attack")
  @DisplayName("when the log cannot be written, a change is refused before its handler")
  void fullLogRefusesChanges() throws Exception {
    log.release();
    for (int i = 0; i < AuditLog.HELD; i++) {
      log.begin("c", "p", "m", "held");
    }
    Status refusal = call(fixture.asOwner());
    assertEquals(Status.Code.UNAVAILABLE, refusal.getCode());
    assertTrue(refusal.getDescription().contains("audit log"), refusal.getDescription());
    assertEquals(List.of(), seenByHandler);
  }

  @Test
  @Tag("attack")
  @DisplayName("line ends and control characters in the fields of a call begin no line in any log")
  void callersCannotForgeLines() throws Exception {
    String forged =
        "x\nFORGED 1\r\nFORGED 2\u0085FORGED 3\u2028FORGED 4\u2029FORGED 5\u001b[2J\u202e";
    UpdateNodeLabelsRequest request =
        UpdateNodeLabelsRequest.newBuilder()
            .setId("y\nFORGED 6")
            .addUpsert(
                UpdateNodeLabelsRequest.Pair.newBuilder().setKey(forged).setValue("z\nFORGED 7"))
            .build();
    for (RpcClients caller :
        List.of(
            RpcClients.anonymous(fixture.trust()),
            RpcClients.authenticated(fixture.node(), fixture.trust()),
            RpcClients.authenticated(fixture.user("owner"), fixture.trust()))) {
      ManagedChannel channel = fixture.channel(caller);
      RpcFixture.statusOf(() -> ManagementGrpc.newBlockingStub(channel).updateNodeLabels(request));
    }
    log.release();
    List<String> lines = new ArrayList<>(fixture.log());
    Path audit = directory.resolve("audit");
    try (Stream<Path> files = Files.list(audit)) {
      for (Path file : files.toList()) {
        lines.add(Files.readString(file));
      }
    }
    assertTrue(lines.stream().anyMatch(line -> line.contains("FORGED 1")), lines::toString);
    assertEquals(
        List.of(),
        lines.stream()
            .flatMap(entry -> Arrays.stream(entry.split("\\R")))
            .filter(line -> line.startsWith("FORGED") || line.matches(".*[\u001b\u202e].*"))
            .toList());
    assertEquals(
        List.of(), new AuditFolder(audit).verify(Long.MAX_VALUE, Optional.empty()).faults());
    assertEquals(List.of("asked"), seenByHandler);
  }

  @Test
  @DisplayName("of an IPv6 address only the site counts, since a site has 2^64 addresses")
  void sourcesAreSites() {
    assertEquals(
        "2001:db8:1:2:0:0:0:0/64",
        CallAudit.place(new InetSocketAddress("2001:db8:1:2:3:4:5:6", 7)));
    assertEquals("10.1.2.3", CallAudit.place(new InetSocketAddress("10.1.2.3", 7)));
  }
}
