package dev.polis.kubernetes.balancer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.DescriptorShortage;
import dev.polis.fixtures.TestThreads;
import dev.polis.logtree.LogTree;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Passes connections on to servers that echo one byte. */
@Timeout(60)
class LoadBalancerTest {

  private static final InetAddress LOCAL = InetAddress.ofLiteral("127.0.0.1");
  private static final Duration SOON = Duration.ofSeconds(10);

  /** A probe pause that a test can wait for. */
  private static final Duration PAUSE = Duration.ofMillis(50);

  private final ExecutorService threads = new TestThreads();
  private final List<Echo> servers = new ArrayList<>();
  private final MutableValue<Set<InetSocketAddress>> controllers = new MutableValue<>();
  private final Set<InetSocketAddress> hung = ConcurrentHashMap.newKeySet();
  private ServerSocket listener;

  /** A server that counts its connections and echoes. */
  private final class Echo implements AutoCloseable {
    private final ServerSocket socket = new ServerSocket(0, 50, LOCAL);
    private final AtomicInteger connections = new AtomicInteger();

    Echo() throws IOException {
      threads.submit(this::serve);
      servers.add(this);
    }

    InetSocketAddress address() {
      return new InetSocketAddress(LOCAL, socket.getLocalPort());
    }

    private Void serve() throws IOException {
      while (true) {
        Socket accepted = socket.accept();
        connections.incrementAndGet();
        threads.submit(() -> echo(accepted));
      }
    }

    private static Void echo(Socket accepted) throws IOException {
      try (accepted) {
        accepted.getInputStream().transferTo(accepted.getOutputStream());
      }
      return null;
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  @BeforeEach
  void start() throws IOException {
    listener = new ServerSocket(0, 50, LOCAL);
    LoadBalancer balancer =
        new LoadBalancer(
            new InetSocketAddress(LOCAL, 0), controllers, server -> !hung.contains(server), PAUSE);
    threads.submit(
        () -> {
          balancer.serve(listener, LogTree.create().log("root.balancer"));
          return null;
        });
  }

  @AfterEach
  void stop() throws IOException {
    listener.close();
    for (Echo server : servers) {
      server.close();
    }
    threads.shutdownNow();
    threads.close();
  }

  private void use(Echo... wanted) {
    Set<InetSocketAddress> addresses = new LinkedHashSet<>();
    for (Echo each : wanted) {
      addresses.add(each.address());
    }
    controllers.set(addresses);
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(LOCAL, listener.getLocalPort());
    socket.setSoTimeout((int) SOON.toMillis());
    return socket;
  }

  /** Returns whether a byte comes back. */
  private static boolean echoes(Socket socket) {
    try {
      socket.getOutputStream().write(1);
      return socket.getInputStream().read() == 1;
    } catch (IOException closed) {
      return false;
    }
  }

  private boolean answers() throws IOException {
    try (Socket socket = connect()) {
      return echoes(socket);
    }
  }

  @Test
  @DisplayName("K8S-07 if there is no controller, connections are closed")
  void k8s07_none() throws Exception {
    try (Socket socket = connect()) {
      assertEquals(-1, socket.getInputStream().read());
    }
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "connections beyond the limit are closed, earlier ones stay open, and closed ones make room")
  void connectionsAreBounded() throws Exception {
    Echo only = new Echo();
    use(only);
    Await.until(SOON, "the controller to be known", this::answers);
    List<Socket> open = new ArrayList<>();
    try {
      for (int each = 1; each < LoadBalancer.CONNECTIONS; each++) {
        Socket next = connect();
        open.add(next);
        if (!echoes(next)) {
          // Closed connections of the earlier wait may still take room.
          open.remove(next);
          next.close();
        }
      }
      Await.until(
          SOON,
          "the limit to be reached",
          () -> {
            Socket next = connect();
            if (echoes(next)) {
              open.add(next);
              return false;
            }
            next.close();
            return open.size() == LoadBalancer.CONNECTIONS;
          });
      assertTrue(echoes(open.getFirst()), "an open connection still works");
      open.removeFirst().close();
      Await.until(SOON, "room to come back", this::answers);
    } finally {
      for (Socket each : open) {
        each.close();
      }
    }
  }

  @Test
  @Tag("alone")
  @DisplayName(
      "without free descriptors it pauses, keeps open connections, and serves again within 1 s of a free one")
  void descriptorShortage() throws Exception {
    Echo only = new Echo();
    use(only);
    Await.until(SOON, "the controller to be known", this::answers);
    try (Socket open = connect()) {
      assertTrue(echoes(open));
      DescriptorShortage.checkListener(
          listener.getLocalSocketAddress(), connection -> assertTrue(echoes(connection)));
      assertTrue(echoes(open), "a connection that was open before was cut");
    }
  }

  @Test
  @DisplayName("K8S-07 one controller gets all of 20 connections")
  void k8s07_one() throws Exception {
    Echo only = new Echo();
    use(only);
    Await.until(SOON, "the controller to be known", this::answers);
    int before = only.connections.get();
    for (int i = 0; i < 20; i++) {
      assertTrue(answers());
    }
    assertEquals(before + 20, only.connections.get());
  }

  @Test
  @DisplayName("K8S-07 of 20 connections each of four controllers gets at least four")
  void k8s07_four() throws Exception {
    Echo[] four = {new Echo(), new Echo(), new Echo(), new Echo()};
    use(four);
    Await.until(SOON, "the controllers to be known", this::answers);
    Map<Echo, Integer> before = new ConcurrentHashMap<>();
    for (Echo each : four) {
      before.put(each, each.connections.get());
    }
    for (int i = 0; i < 20; i++) {
      assertTrue(answers());
    }
    for (Echo each : four) {
      int got = each.connections.get() - before.get(each);
      assertTrue(got >= 4, "one got " + got);
    }
  }

  @Test
  @DisplayName("K8S-07 a controller that is removed loses its connections, the others keep theirs")
  void k8s07_removed() throws Exception {
    Echo leaving = new Echo();
    use(leaving);
    Await.until(SOON, "the controller to be known", this::answers);
    try (Socket first = connect()) {
      assertTrue(echoes(first));
      Echo staying = new Echo();
      use(staying);
      assertEquals(-1, first.getInputStream().read());
      Await.until(SOON, "the other one to answer", this::answers);
      try (Socket second = connect()) {
        assertTrue(echoes(second));
        use(staying, leaving);
        assertTrue(echoes(second));
      }
    }
  }

  @Test
  @DisplayName("a controller that refuses connections is skipped")
  void refusing() throws Exception {
    Echo dead = new Echo();
    Echo alive = new Echo();
    dead.close();
    use(dead, alive);
    Await.until(SOON, "the controllers to be known", this::answers);
    for (int i = 0; i < 20; i++) {
      assertTrue(answers());
    }
  }

  @Test
  @DisplayName("a controller that hangs loses its connections to a working one")
  void hanging() throws Exception {
    Echo hanging = new Echo();
    use(hanging);
    Await.until(SOON, "the controller to be known", this::answers);
    try (Socket stuck = connect()) {
      assertTrue(echoes(stuck));
      hung.add(hanging.address());
      use(hanging, new Echo());
      assertEquals(-1, stuck.getInputStream().read());
    }
    int before = hanging.connections.get();
    for (int i = 0; i < 20; i++) {
      assertTrue(answers());
    }
    assertEquals(before, hanging.connections.get());
  }

  @Test
  @DisplayName("the only controller keeps its connections, even while it does not answer probes")
  void onlyOne() throws Exception {
    Echo only = new Echo();
    hung.add(only.address());
    use(only);
    Await.until(SOON, "the controller to be known", this::answers);
    try (Socket socket = connect()) {
      for (int i = 0; i < 5; i++) {
        assertTrue(echoes(socket));
      }
    }
  }

  @Test
  @DisplayName(
      "the last controller is used until its API server ends, also after its role was removed")
  void lastOne() throws Exception {
    Echo last = new Echo();
    use(last);
    Await.until(SOON, "the controller to be known", this::answers);
    try (Socket socket = connect()) {
      assertTrue(echoes(socket));
      use();
      for (int i = 0; i < 20; i++) {
        assertTrue(answers());
        assertTrue(echoes(socket));
      }
    }
  }
}
