package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import dev.polis.cluster.it.StorageModesIT.Mode;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.CrashAgent;
import dev.polis.fixtures.Finished;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.health.GetHealthRequest;
import dev.polis.wire.health.HealthGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Replaces the CA of a cluster of two voters and a node without etcd, then that of etcd with three
 * voters, as its owner does with polisctl.
 */
@Tag("full")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class CaRotationIT {

  private static final List<String> ADDRESSES = List.of("127.0.59.1", "127.0.59.2", "127.0.59.3");
  private static final int CURATOR_PORT = 7835;
  private static final int MANAGEMENT_PORT = 7839;

  /**
   * Steps of polisctl: the cluster has changed its CA, and the user's folder has the former one.
   */
  private static final String STEP_TAKEN = "dev.polis.ctl.owner.CaCommand$Base.trust";

  private static final String CERTIFICATE_FETCHED = "dev.polis.ctl.owner.OwnerCertificate.write";

  @TempDir static Path directory;
  private static ThreeVoters nodes;
  private static TestNode founder;
  private static TestNode voter;
  private static TestNode plain;

  @BeforeAll
  static void grow() throws Exception {
    nodes = new ThreeVoters(directory, ADDRESSES, Mode.INSECURE);
    nodes.found();
    nodes.join();
    founder = nodes.nodes().get(0);
    voter = nodes.nodes().get(1);
    plain = nodes.nodes().get(2);
    nodes.cluster().becomeVoter(voter, id(voter));
    nodes.awaitCandidates(ADDRESSES.size());
  }

  @AfterAll
  static void sweep() {
    if (nodes != null) {
      nodes.close();
    }
  }

  private static UserCredentials owner() throws IOException {
    return OwnerApi.credentials(founder);
  }

  private static String id(TestNode node) {
    return nodes.byId().entrySet().stream()
        .filter(each -> each.getValue() == node)
        .findFirst()
        .orElseThrow()
        .getKey();
  }

  private static JsonObject status() throws Exception {
    return founder.json("ca", "status").getAsJsonObject();
  }

  private static CaBundle trusted(TestNode node) throws IOException {
    return CaBundle.fromPem(Files.readString(node.state().resolve("data/node/credentials/ca.pem")));
  }

  private static void awaitHome(TestNode node) throws Exception {
    node.awaitHome();
    nodes.cluster().awaitHealthy(id(node));
  }

  @Test
  @Order(1)
  @Tag("attack")
  @DisplayName(
      "the CA is replaced under writers and readers while a node restarts: no call fails; a node that was away over the whole rotation comes back; the former certificate opens nothing")
  void rotation() throws Exception {
    UserCredentials former = owner();
    String plainId = id(plain);
    List<OwnerApi> ways = new ArrayList<>();
    List<SteadyCaller> load = new ArrayList<>();
    try {
      for (TestNode each : List.of(founder, voter)) {
        OwnerApi way = nodes.through(each);
        ways.add(way);
        NumberedWriter writer = new NumberedWriter(way, nodes.cluster().firstId(), ways.size(), 0);
        load.add(SteadyCaller.of(writer::write));
        load.add(SteadyCaller.of(way::clusterInfo));
      }
      awaitMore(load, "before the rotation");

      plain.stop();
      CompletableFuture<Finished> rotated =
          CompletableFuture.supplyAsync(() -> founder.ctl("ca", "rotate"));
      Await.until(
          TestNode.PATIENCE,
          "the rotation to wait for the node that is off",
          () -> status().get("waitingNodes").toString().equals("[\"" + plainId + "\"]"));
      assertEquals("PREPARED", status().get("step").getAsString());
      Finished early = founder.ctl("ca", "retire");
      assertNotEquals(0, early.code(), early.all());
      assertTrue(early.err().contains("polisctl ca rotate"), early.all());
      awaitMore(load, "while both CAs are trusted");
      plain.up();
      Finished rotation = rotated.get(TestNode.PATIENCE.toSeconds() * 2, TimeUnit.SECONDS);
      rotation.requireSuccess("rotate");
      assertTrue(rotation.err().contains("waiting for these nodes: " + plainId), rotation::err);
      awaitMore(load, "after the new CA issues");

      JsonObject issuing = status();
      assertEquals("ISSUING", issuing.get("step").getAsString());
      assertEquals("[]", issuing.get("waitingNodes").toString(), issuing.toString());
      assertEquals("[]", issuing.get("waitingUsers").toString(), issuing.toString());
      awaitHome(plain);
    } finally {
      load.forEach(SteadyCaller::close);
    }
    for (SteadyCaller each : load) {
      each.check("during the rotation");
    }

    UserCredentials present = owner();
    assertNotEquals(former.certificate(), present.certificate());
    try (Doors doors = new Doors(former, present.ca())) {
      doors.open();
      Finished retired = founder.ctl("ca", "retire");
      retired.requireSuccess("retire");
      doors.refused();
      try (Doors again = new Doors(former, present.ca())) {
        again.refused();
      }
    } finally {
      ways.forEach(OwnerApi::close);
    }
    assertEquals("ONE", status().get("step").getAsString());
    assertEquals(CaBundle.of(present.ca().issuing()), owner().ca());
    for (TestNode each : List.of(founder, voter, plain)) {
      Await.until(
          TestNode.PATIENCE,
          "node %s to trust the new CA alone".formatted(id(each)),
          () -> trusted(each).equals(owner().ca()));
    }
    restarts();
    awayOverTheWholeRotation(plainId);
  }

  private static void awaitMore(List<SteadyCaller> load, String when) throws Exception {
    for (SteadyCaller each : load) {
      each.awaitMore(when);
    }
  }

  /** Starts a voter again: its disk holds all it needs. */
  private static void restarts() throws Exception {
    voter.stop();
    voter.up();
    awaitHome(voter);
  }

  private static void awayOverTheWholeRotation(String plainId) throws Exception {
    plain.stop();
    killed(STEP_TAKEN, "ca", "rotate", "--force");
    assertEquals("PREPARED", status().get("step").getAsString());
    killed(CERTIFICATE_FETCHED, "ca", "rotate", "--force");
    assertEquals("ISSUING", status().get("step").getAsString());
    founder.ctl("ca", "rotate", "--force").requireSuccess("rotate with force");
    Await.until(
        TestNode.PATIENCE,
        "the nodes that run to have certificates of the new CA",
        () -> status().get("waitingNodes").toString().equals("[\"" + plainId + "\"]"));
    Finished waits = founder.ctl("ca", "retire");
    assertNotEquals(0, waits.code(), waits.all());
    assertTrue(waits.err().contains(plainId) && waits.err().contains("--force"), waits.all());
    killed(STEP_TAKEN, "ca", "retire", "--force");
    assertEquals("ONE", status().get("step").getAsString());

    plain.up();

    awaitHome(plain);
    Await.until(
        TestNode.PATIENCE,
        "the node that was away to trust the new CA alone",
        () -> trusted(plain).equals(owner().ca()));
    assertTrue(
        owner()
            .ca()
            .isCurrent(
                Pem.certificate(
                    Files.readString(plain.state().resolve("data/node/credentials/cert.pem")))));
  }

  /** Kills polisctl at a step of a change, which the next command is to find whole. */
  private static void killed(String method, String... command) throws Exception {
    Finished killed = founder.ctlKilled(CrashAgent.whenEntered(0, method), command);
    assertEquals(CrashAgent.KILLED, killed.code(), killed::all);
  }

  private static JsonObject etcd() throws Exception {
    return status().getAsJsonObject("etcd");
  }

  @Test
  @Order(2)
  @Tag("attack")
  @DisplayName(
      "etcd's CA is replaced under writers while a voter restarts: no call fails, no acknowledged write is lost; the former CA opens no port; each wrong order names the next command")
  void etcdsOwn() throws Exception {
    nodes.cluster().becomeVoter(plain, id(plain));
    EtcdCaThief thief = EtcdCaThief.of(founder);
    List<OwnerApi> ways = new ArrayList<>();
    List<NumberedWriter> writers = new ArrayList<>();
    List<SteadyCaller> load = new ArrayList<>();
    try {
      for (TestNode each : nodes.without(plain)) {
        OwnerApi way = nodes.through(each);
        ways.add(way);
        NumberedWriter writer = new NumberedWriter(way, nodes.cluster().firstId(), ways.size(), 0);
        writers.add(writer);
        load.add(SteadyCaller.of(writer::write));
      }
      awaitMore(load, "before the rotation");
      for (TestNode each : nodes.nodes()) {
        assertTrue(
            thief.opens(each, EtcdCaThief.CLIENT_PORT) && thief.opens(each, EtcdCaThief.PEER_PORT),
            each.address());
      }

      plain.stop();
      CompletableFuture<Finished> rotated =
          CompletableFuture.supplyAsync(() -> founder.ctl("ca", "rotate", "--of", "etcd"));
      Await.until(
          TestNode.PATIENCE,
          "the rotation to wait for the voter that is off",
          () -> etcd().get("waitingNodes").toString().contains(id(plain)),
          CaRotationIT::etcd);
      refused("polisctl ca rotate --of etcd", "ca", "retire", "--of", "etcd");
      refused("node role remove NODE ConsensusMember", "ca", "rotate", "--of", "etcd", "--force");
      awaitMore(load, "while both CAs are made known");
      plain.up();
      rotated.get(TestNode.PATIENCE.toSeconds() * 2, TimeUnit.SECONDS).requireSuccess("rotate");
      awaitMore(load, "after the new CA issues");
      assertEquals("ISSUING", etcd().get("step").getAsString());
      Finished again = founder.ctl("ca", "rotate", "--of", "etcd");
      assertTrue(again.out().contains("Next: ca retire --of etcd"), again.all());

      founder.ctl("ca", "retire", "--of", "etcd").requireSuccess("retire");
      awaitMore(load, "after the former CA was retired");
    } finally {
      load.forEach(SteadyCaller::close);
    }
    for (SteadyCaller each : load) {
      each.check("during the rotation");
    }
    for (int i = 0; i < writers.size(); i++) {
      NumberedWriter writer = writers.get(i);
      assertTrue(
          writer.in(ways.get(i).node(nodes.cluster().firstId()).getLabels())
              >= writer.acknowledged(),
          "an acknowledged write was lost");
    }
    ways.forEach(OwnerApi::close);

    assertEquals("ONE", etcd().get("step").getAsString());
    assertEquals("[]", etcd().get("waitingNodes").toString());
    for (TestNode each : nodes.nodes()) {
      assertFalse(thief.opens(each, EtcdCaThief.CLIENT_PORT), each.address());
      assertFalse(thief.opens(each, EtcdCaThief.PEER_PORT), each.address());
    }
    for (TestNode each : nodes.nodes()) {
      awaitHome(each);
    }
  }

  private static void refused(String remedy, String... command) {
    Finished refused = founder.ctl(command);
    assertNotEquals(0, refused.code(), refused.all());
    assertTrue(refused.err().contains(remedy), refused.all());
  }

  /** Calls each listener of the founder on connections that stay open. */
  private static final class Doors implements AutoCloseable {
    private final ManagedChannel curator;
    private final ManagedChannel management;
    private final HttpClient metrics;

    Doors(UserCredentials user, CaBundle nodes) {
      RpcClients clients = RpcClients.authenticated(user.tls(), RpcTrust.cluster(nodes));
      curator = clients.dial(new InetSocketAddress(founder.address(), CURATOR_PORT));
      management = clients.dial(new InetSocketAddress(founder.address(), MANAGEMENT_PORT));
      metrics =
          HttpClient.newBuilder()
              .version(HttpClient.Version.HTTP_1_1)
              .sslContext(
                  TlsContexts.context(
                      TlsKeys.fixed(user.tls()), TlsTrust.anyNode(TlsTrust.Source.of(nodes))))
              .build();
    }

    private Object info() throws Exception {
      return ManagementGrpc.newBlockingV2Stub(curator)
          .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS)
          .getClusterInfo(GetClusterInfoRequest.getDefaultInstance());
    }

    private Object health() throws Exception {
      return HealthGrpc.newBlockingV2Stub(management)
          .withDeadlineAfter(TestNode.PATIENCE.toSeconds(), TimeUnit.SECONDS)
          .getHealth(GetHealthRequest.getDefaultInstance());
    }

    /** Returns the status of the answer; 0 if the connection is refused. */
    private int scrape() throws InterruptedException {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("https://%s:7840/metrics".formatted(founder.address())))
              .build();
      try {
        return metrics.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
      } catch (IOException refused) {
        return 0;
      }
    }

    void open() throws Exception {
      info();
      health();
      assertEquals(200, scrape());
    }

    void refused() throws Exception {
      refused(this::info);
      refused(this::health);
      assertNotEquals(200, scrape());
    }

    private static void refused(Callable<?> call) {
      Status status = failure(call);
      if (status.getCode() == Status.Code.UNAVAILABLE) {
        // The node ended the open connection while this call was on its way; the next call opens
        // another one.
        status = failure(call);
      }
      assertEquals(Status.Code.UNAUTHENTICATED, status.getCode(), status.toString());
    }

    private static Status failure(Callable<?> call) {
      return Status.fromThrowable(assertThrows(Exception.class, call::call));
    }

    @Override
    public void close() {
      curator.shutdownNow();
      management.shutdownNow();
      metrics.close();
    }
  }
}
