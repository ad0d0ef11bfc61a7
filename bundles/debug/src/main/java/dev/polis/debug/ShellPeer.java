package dev.polis.debug;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import jdk.net.ExtendedSocketOptions;
import jdk.net.UnixDomainPrincipal;

/** Says who is at the other end of a connection, by what the kernel knows of its process. */
sealed interface ShellPeer {
  /**
   * It is the user that the node runs as.
   *
   * @param user its name
   */
  record Owner(String user) implements ShellPeer {}

  /**
   * It is another user, or an unknown one.
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
              "you are %s, and the node runs as %s; run polisctl as that user"
                  .formatted(peer.user().getName(), own.getName()));
    } catch (UnsupportedOperationException | NoClassDefFoundError e) {
      return new Stranger("this Java cannot tell which user has connected: " + e);
    }
  }
}
