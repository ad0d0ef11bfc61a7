package dev.polis.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Checks the parts of the cluster's benchmark that need no process. */
class ClusterBenchmarkTest {

  @Test
  @DisplayName("bare etcd gets the options of the nodes' etcd, and neither its names nor its files")
  void options() {
    assertEquals(
        List.of("--client-cert-auth=true", "--heartbeat-interval=50", "--logger=zap"),
        EtcdUnderTest.options(
            List.of(
                "--name=metropolis-1",
                "--data-dir=/state/1/data/etcd/data",
                "--initial-cluster=metropolis-1=https://127.0.0.1:7834",
                "--listen-client-http-urls=unix://http.sock",
                "--cert-file=/state/1/data/etcd/peer_pki/cert.pem",
                "--peer-key-file=/state/1/data/etcd/peer_pki/key.pem",
                "--client-cert-auth=true",
                "--heartbeat-interval=50",
                "--logger=zap")));
  }

  @Test
  @DisplayName("a call that fails is made again, and each failure is counted")
  void repeats() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    Repeated call =
        Repeated.of(
            _ -> {
              if (calls.incrementAndGet() < 3) {
                throw Status.UNAVAILABLE.asRuntimeException();
              }
            });
    call.run(0);
    assertEquals(3, calls.get());
    assertEquals(2, call.failures());
  }

  @Test
  @DisplayName("a defect of the benchmark itself is no failure of a call")
  void defects() {
    Repeated call =
        Repeated.of(
            _ -> {
              throw new IllegalStateException("a defect");
            });
    assertThrows(IllegalStateException.class, () -> call.run(0));
  }

  @Test
  @DisplayName("processes are ended once, and the owner's close reports a failure")
  void endsOnce() throws Exception {
    AtomicInteger ends = new AtomicInteger();
    Ender ender =
        Ender.of(
            "nothing",
            () -> {
              ends.incrementAndGet();
              throw new IOException("it does not end");
            });
    assertEquals("it does not end", assertThrows(IOException.class, ender::close).getMessage());
    ender.close();
    assertEquals(1, ends.get());
  }

  @Test
  @DisplayName("a node is known by the address of its curator")
  void numbers() {
    NodeId id = NodeId.of(Ed25519.generate().getPublic());
    NodeEndpoint second = new NodeEndpoint(id, new InetSocketAddress("127.83.84.88", 7835));
    assertEquals(2, ClusterUnderTest.number(second));
    NodeEndpoint stranger = new NodeEndpoint(id, new InetSocketAddress("127.83.84.1", 7835));
    assertThrows(IllegalStateException.class, () -> ClusterUnderTest.number(stranger));
  }
}
