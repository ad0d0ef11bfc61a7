package dev.polis.debug;

import dev.polis.files.Mode;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.osgi.framework.BundleContext;

/**
 * Serves the shell on a socket that only the node's user reaches. Each instance of the organ has
 * its own socket, so that two instances do not conflict.
 */
final class ShellServer {
  /** The most open shells; a developer needs one or two. */
  private static final int MOST = 4;

  /** Linux keeps the path of a socket in 108 bytes, the last of which is zero. */
  private static final int LONGEST_PATH = 107;

  /** The pause before the next attempt while the process has no free descriptor. */
  private static final Duration REST = Duration.ofMillis(100);

  private final Path folder;
  private final BundleContext bundle;
  private final Log audit;
  private final Consumer<String> kept;
  private final Set<SocketChannel> open = ConcurrentHashMap.newKeySet();

  ShellServer(Path folder, BundleContext bundle, Log audit, Consumer<String> kept) {
    this.kept = kept;
    this.folder = folder;
    this.bundle = bundle;
    this.audit = audit;
  }

  /** Serves until it is cancelled. */
  void run(Context context) throws IOException, InterruptedException {
    Path socket = folder.resolve("shell." + bundle.getBundle().getBundleId() + ".sock");
    require(socket);
    makePrivate();
    Files.deleteIfExists(socket);
    try (ShellCommands commands = ShellCommands.open(bundle);
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
      context.log().warning("the shell is on at %s, for the user of this process", socket);
      context.healthy();
      while (!context.cancelled()) {
        serve(accept(server, context.log()), socket, commands);
      }
    } catch (ClosedByInterruptException e) {
      throw new InterruptedException("the shell ends on request");
    } finally {
      for (SocketChannel each : open) {
        each.close();
      }
      Files.deleteIfExists(socket);
    }
  }

  private static void require(Path socket) throws IOException {
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > LONGEST_PATH) {
      throw new IOException(
          "the path %s is longer than the %d bytes that the path of a socket may have; start the node with a shorter --state"
              .formatted(socket, LONGEST_PATH));
    }
  }

  private void makePrivate() throws IOException {
    Files.createDirectories(folder);
    // Also for an existing folder, since each user that may enter it may connect.
    Files.setPosixFilePermissions(folder, Mode.PRIVATE_DIRECTORY.permissions());
  }

  private void keep(String line) {
    audit.info("%s", line);
    kept.accept(line);
  }

  /** Waits for a connection; with too many open files, it accepts the connection later. */
  private static SocketChannel accept(ServerSocketChannel server, Log log)
      throws IOException, InterruptedException {
    boolean told = false;
    while (true) {
      try {
        return server.accept();
      } catch (ClosedChannelException ending) {
        throw ending;
      } catch (IOException shortage) {
        if (!told) {
          log.warning("new shells wait: %s", shortage.getMessage());
          told = true;
        }
      }
      Thread.sleep(REST);
    }
  }

  private void serve(SocketChannel channel, Path socket, ShellCommands commands)
      throws IOException {
    ShellPeer peer = ShellPeer.of(channel, socket);
    if (peer instanceof ShellPeer.Stranger(String why)) {
      audit.warning("shell: refused: %s", why);
      ShellSession.refuse(channel, why);
      return;
    }
    if (open.size() >= MOST) {
      ShellSession.refuse(channel, MOST + " shells are already open; close one of them");
      return;
    }
    open.add(channel);
    String who = ((ShellPeer.Owner) peer).user();
    Thread.ofVirtual()
        .name("shell-" + who)
        .start(
            () -> {
              try {
                new ShellSession(channel, commands, line -> keep("shell: " + who + ": " + line))
                    .run();
              } finally {
                open.remove(channel);
              }
            });
  }
}
