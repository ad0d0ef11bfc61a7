package dev.polis.debug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.base.boot.StopReason;
import dev.polis.fixtures.Await;
import dev.polis.fixtures.DescriptorShortage;
import dev.polis.logtree.LogTree;
import dev.polis.supervision.RunState;
import dev.polis.supervision.Subtree;
import dev.polis.supervision.SupervisionTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;

/** Uses the shell over its socket; the framework behind it has no bundles. */
@Timeout(60)
class ShellServerTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path folder;
  private final LogTree logs = LogTree.create();
  private final SupervisionTree tree = SupervisionTree.open(logs);
  private final Subtree organ = tree.organ("debug");
  private Path socket;

  @BeforeEach
  void start() throws Exception {
    Path shell = folder.resolve("shell");
    socket = shell.resolve("shell.7.sock");
    organ.run("shell", new ShellServer(shell, framework(), logs.log("audit"), line -> {})::run);
    Await.value(
        tree.runnables(),
        all ->
            all.stream()
                .anyMatch(
                    each ->
                        each.dn().equals("root.debug.shell") && each.state() == RunState.HEALTHY),
        PATIENCE,
        "the shell to be healthy");
  }

  @AfterEach
  void stop() {
    tree.close();
  }

  private static BundleContext framework() {
    Bundle bundle =
        fake(Bundle.class, (_, method, _) -> method.getName().equals("getBundleId") ? 7L : null);
    return fake(
        BundleContext.class,
        (_, method, _) -> method.getName().equals("getBundle") ? bundle : null);
  }

  private static <T> T fake(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private SocketChannel connect() throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    channel.connect(UnixDomainSocketAddress.of(socket));
    return channel;
  }

  /** Executes a line; returns its output, followed by its result. */
  private static List<String> execute(SocketChannel channel, String line) throws IOException {
    OutputStream to = Channels.newOutputStream(channel);
    to.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    BufferedReader from =
        new BufferedReader(
            new InputStreamReader(Channels.newInputStream(channel), StandardCharsets.UTF_8));
    List<String> lines = new ArrayList<>();
    for (String next = from.readLine(); next != null; next = from.readLine()) {
      lines.add(next);
      if (next.startsWith("\0")) {
        return lines;
      }
    }
    throw new IOException("the connection has ended after " + lines);
  }

  @Test
  @DisplayName("a line is executed, and its output arrives, then its result")
  void executes() throws Exception {
    try (SocketChannel channel = connect()) {
      List<String> help = execute(channel, "help");
      assertTrue(help.containsAll(List.of("felix:lb", "felix:inspect", "exit")), help::toString);
      assertEquals("\0done", help.getLast());
      List<String> wrong = execute(channel, "nonsense");
      assertEquals("\0failed", wrong.getLast());
      assertTrue(wrong.getFirst().contains("nonsense"), wrong::toString);
      assertEquals(List.of("7", "\0done"), execute(channel, "($context bundle) bundleId"));
    }
  }

  @Test
  @DisplayName("commands that load unverified code are not offered")
  void noInstall() throws Exception {
    try (SocketChannel channel = connect()) {
      assertEquals("\0failed", execute(channel, "install file:/tmp/x.jar").getLast());
      assertEquals("\0failed", execute(channel, "update 7 file:/tmp/x.jar").getLast());
    }
  }

  @Test
  @DisplayName("only the node's user may use the folder and the socket")
  void privateSocket() throws Exception {
    assertEquals(
        "rwx------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(socket.getParent())));
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)));
  }

  @Test
  @Tag("attack")
  @DisplayName("only the owner of the socket gets a shell, even if the folder lets other users in")
  void stranger() throws Exception {
    assumeTrue((Integer) Files.getAttribute(socket, "unix:uid") == 0, "root gives a file away");
    try (SocketChannel owner = connect()) {
      execute(owner, "help");
      Files.setAttribute(socket, "unix:uid", 65534);
      try (SocketChannel stranger = connect()) {
        BufferedReader from =
            new BufferedReader(
                new InputStreamReader(Channels.newInputStream(stranger), StandardCharsets.UTF_8));
        String why = from.readLine();
        assertTrue(why.contains("the node runs as"), why);
        assertEquals("\0refused", from.readLine());
        assertEquals(-1, from.read(), "the connection stays open");
      }
      assertEquals("\0done", execute(owner, "help").getLast());
    }
  }

  @Test
  @DisplayName("a fifth shell at the same time is refused with the reason")
  void fewAtOnce() throws Exception {
    List<SocketChannel> four = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      four.add(connect());
      execute(four.getLast(), "help");
    }
    try (SocketChannel fifth = connect()) {
      BufferedReader from =
          new BufferedReader(
              new InputStreamReader(Channels.newInputStream(fifth), StandardCharsets.UTF_8));
      assertTrue(from.readLine().contains("4 shells are already open"));
      assertEquals("\0refused", from.readLine());
    }
    for (SocketChannel each : four) {
      each.close();
    }
  }

  @Test
  @Tag("alone")
  @DisplayName(
      "without free descriptors it pauses, keeps open shells, and opens one within 1 s of a free one")
  void descriptorShortage() throws Exception {
    try (SocketChannel open = connect()) {
      execute(open, "help");
      DescriptorShortage.checkLocalListener(
          socket, channel -> assertEquals("\0done", execute(channel, "help").getLast()));
      assertEquals("\0done", execute(open, "help").getLast());
    }
  }

  @Test
  @DisplayName("the end of the organ ends open shells and removes the socket")
  void ends() throws Exception {
    try (SocketChannel channel = connect()) {
      execute(channel, "help");
      organ.close(StopReason.CODE_REPLACED);
      assertEquals(-1, Channels.newInputStream(channel).read());
      assertTrue(Files.notExists(socket), "the socket is still there");
    }
  }
}
