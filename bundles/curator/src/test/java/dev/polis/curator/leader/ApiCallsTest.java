package dev.polis.curator.leader;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.rpc.RpcException;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ApiCallsTest {

  private Server server;

  @AfterEach
  void close() throws Exception {
    server.shutdownNow().awaitTermination();
  }

  /** Reads a key from an etcd that ends each read with this status. */
  private RpcException refused(Status status) throws Exception {
    server =
        NettyServerBuilder.forAddress(
                new InetSocketAddress(InetAddress.ofLiteral("127.0.137.2"), 0))
            .addService(
                new KVGrpc.KVImplBase() {
                  @Override
                  public void range(RangeRequest request, StreamObserver<RangeResponse> caller) {
                    caller.onError(status.asRuntimeException());
                  }
                })
            .build()
            .start();
    try (EtcdClient etcd =
        EtcdClient.connect(EtcdAccess.plaintext("127.0.137.2:" + server.getPort()))) {
      return assertThrows(
          RpcException.class, () -> ApiCalls.translating(() -> etcd.kv().get("/nodes/x")));
    }
  }

  @Test
  @DisplayName("rights that were taken from etcd's user are named, with what gives them back")
  void denied() throws Exception {
    RpcException told =
        refused(Status.PERMISSION_DENIED.withDescription("etcdserver: permission denied"));
    assertEquals(Status.Code.UNAVAILABLE, told.code());
    assertTrue(told.getMessage().contains("rights of etcd's user curator"), told.getMessage());
    assertTrue(told.getMessage().contains("within a minute"), told.getMessage());
  }

  @Test
  @DisplayName("a refusal for want of room is quoted")
  void quoted() throws Exception {
    RpcException told =
        refused(
            Status.RESOURCE_EXHAUSTED.withDescription("etcdserver: mvcc: database space exceeded"));
    assertTrue(told.getMessage().contains("database space exceeded"), told.getMessage());
  }
}
