package dev.polis.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.wire.debug.DebugGrpc;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ListenerFileTest {
  @TempDir Path folder;

  @Test
  @DisplayName("the file follows the listeners of the host and is deleted with them")
  void followsTheHost() throws Exception {
    LogTree logs = LogTree.create();
    Path path = folder.resolve("listeners");
    InetSocketAddress free = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    RpcSettings settings =
        new RpcSettings(
            List.of(
                new RpcSettings.Listener(RpcHost.DEBUG, free, false),
                new RpcSettings.Listener(RpcHost.MANAGEMENT, free, true)),
            RpcSettings.Limits.DEFAULT);
    try (LocalRpcHost host = new LocalRpcHost(settings, logs)) {
      ListenerFile file = ListenerFile.open(path, host.listeners(), logs.log("test"));
      Await.until(
          "both listeners to be closed in the file",
          () ->
              content(path)
                  .equals(
                      """
                      debug 127.0.0.1:0 closed waits for its first service
                      management 127.0.0.1:0 closed waits for credentials
                      """));
      host.serve(RpcHost.DEBUG, RpcFixture.reaching(DebugGrpc.getServiceDescriptor()));
      int port = host.address(RpcHost.DEBUG).getPort();
      Await.until(
          "the debug listener to be open in the file",
          () -> content(path).startsWith("debug 127.0.0.1:" + port + " open\n"));
      file.close();
      assertEquals(List.of(), files(), "a file still names listeners of a closed host");
    }
  }

  private List<Path> files() throws Exception {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  private static String content(Path file) throws Exception {
    return Files.exists(file) ? Files.readString(file) : "";
  }
}
