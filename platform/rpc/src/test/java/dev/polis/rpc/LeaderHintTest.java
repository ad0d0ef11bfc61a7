package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.api.ManagementGrpc;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LeaderHintTest {

  private static final String ID = NodeId.PREFIX + "0".repeat(32);

  private static NodeEndpoint leader(String address, int port) {
    return new NodeEndpoint(
        NodeId.parse(ID), new InetSocketAddress(InetAddress.ofLiteral(address), port));
  }

  /** Refuses, since another node leads. */
  private static final class Follower extends ManagementGrpc.ManagementImplBase {
    private final NodeEndpoint leader;

    Follower(NodeEndpoint leader) {
      this.leader = leader;
    }

    @Override
    public void getClusterInfo(
        GetClusterInfoRequest request, StreamObserver<GetClusterInfoResponse> caller) {
      throw RpcException.elsewhere("ask the leader", leader, Duration.ofSeconds(1));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"192.0.2.7", "2001:db8::7"})
  @DisplayName("a refusal names the leader to its caller, which may also ask again later")
  void overTheWire(String address) {
    NodeEndpoint leader = leader(address, 7835);
    try (RpcFixture fixture = new RpcFixture()) {
      fixture.host.serve(RpcHost.CURATOR, new Follower(leader));

      StatusException refusal =
          assertThrows(
              StatusException.class,
              () ->
                  ManagementGrpc.newBlockingV2Stub(fixture.asOwner())
                      .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));

      assertEquals(Status.Code.UNAVAILABLE, refusal.getStatus().getCode());
      assertEquals("ask the leader", refusal.getStatus().getDescription());
      assertEquals(Optional.of(leader), LeaderHint.of(refusal));
      assertEquals("1000", refusal.getTrailers().get(RpcException.RETRY_DELAY));
    }
  }

  @ParameterizedTest
  @Tag("attack")
  @ValueSource(
      strings = {
        "",
        "metropolis-7 192.0.2.7:7835",
        "ID 192.0.2.7",
        "ID 192.0.2.7:0",
        "ID 192.0.2.7:65536",
        "ID node.example:7835",
        "ID 2001:db8::7:7835",
        "ID 192.0.2.7:7835 192.0.2.8:7835"
      })
  @DisplayName("a hint of another form counts as none, and no name in it is looked up")
  void malformed(String text) {
    assertEquals(
        Optional.empty(), LeaderHint.of(refusal(Status.UNAVAILABLE, text.replace("ID", ID))));
  }

  @Test
  @DisplayName("only an unavailable service names a leader")
  void otherRefusals() {
    String text = LeaderHint.text(leader("192.0.2.7", 7835));
    assertEquals(ID + " 192.0.2.7:7835", text);
    assertEquals(
        Optional.of(leader("192.0.2.7", 7835)), LeaderHint.of(refusal(Status.UNAVAILABLE, text)));
    assertEquals(Optional.empty(), LeaderHint.of(refusal(Status.NOT_FOUND, text)));
    assertEquals(Optional.empty(), LeaderHint.of(new StatusException(Status.UNAVAILABLE)));
  }

  private static StatusException refusal(Status status, String hint) {
    Metadata trailers = new Metadata();
    trailers.put(LeaderHint.TRAILER, hint);
    return new StatusException(status, trailers);
  }
}
