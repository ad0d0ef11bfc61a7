package dev.polis.debug;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import jdk.net.ExtendedSocketOptions;
import jdk.net.UnixDomainPrincipal;

/** Identifies the peer of a connection, by the kernel's record of its process. */
sealed interface ShellPeer {
  /**
   * Means that the peer is the user that runs the node.
   *
   * @param user its name
   */
  record Owner(String user) implements ShellPeer {}

  /**
   * Means that the peer is another or an unknown user.
   *
   * @param why the reason, as a message
   */
  record Stranger(String why) implements ShellPeer {}

  /** Compares the user of the other process with the owner of the socket, which is this process. */
  static ShellPeer of(SocketChannel channel, Path socket) throws IOException {
    try {
      UnixDomainPrincipal peer = channel.getOption(ExtendedSocketOptions.SO_PEERCRED);
      UserPrincipal own = Files.getOwner(socket);
      return peer.user().equals(own)
          ? new Owner(peer.user().getName())
          : new Stranger(
              "you are %s, but the node runs as %s; run polisctl as that user"
                  .formatted(peer.user().getName(), own.getName()));
    } catch (UnsupportedOperationException | NoClassDefFoundError e) {
      return new Stranger("this Java runtime cannot report which user has connected: " + e);
    }
  }
}
