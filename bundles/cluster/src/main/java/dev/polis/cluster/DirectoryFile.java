package dev.polis.cluster;

import dev.polis.base.values.Watcher;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.supervision.Context;
import dev.polis.wire.common.ClusterDirectory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Keeps the cluster directory on the ESP up to date, so that this node finds the curators at its
 * next start, whichever nodes keep the records then.
 */
final class DirectoryFile {

  private final FilePlacement file;
  private final Supplier<NodeCredentials> credentials;
  private final Supplier<Optional<InetAddress>> own;

  /**
   * @param credentials returns this node's newest credentials
   * @param own returns this node's address
   */
  DirectoryFile(
      FilePlacement file,
      Supplier<NodeCredentials> credentials,
      Supplier<Optional<InetAddress>> own) {
    this.file = file;
    this.credentials = credentials;
    this.own = own;
  }

  /** Writes each list of curators that the leader sends, as a supervised task. */
  void follow(InetAddress address, Context context) throws InterruptedException {
    // The same seed as that of the roles: both share a channel.
    InetSocketAddress seed = LeaderResolver.address(address.getHostAddress());
    try (LeaderConnection leader =
            new LeaderConnection(credentials, seed, context.subLog("resolver"));
        Watcher<Set<NodeEndpoint>> lists = leader.curators().watch()) {
      context.healthy();
      while (true) {
        write(lists.get(listed -> !listed.isEmpty()), context);
      }
    }
  }

  private void write(Set<NodeEndpoint> curators, Context context) {
    try {
      if (!curators.equals(stored())) {
        file.write(directory(curators));
        context.log().info("the curators are at %s now", CuratorAddresses.text(curators));
      }
    } catch (FileException unwritable) {
      context
          .log()
          .warning(
              "the node may not find its cluster at its next start: %s", unwritable.getMessage());
    }
  }

  /** Returns the addresses in the file; empty if it is missing or damaged. */
  private Set<NodeEndpoint> stored() {
    return file.read(ClusterDirectory.parser()).map(CuratorAddresses::of)
            instanceof Stored.Present<Set<NodeEndpoint>>(var _, var present)
        ? present
        : Set.of();
  }

  /** Makes a directory that begins with this node, if it is there: polisctl calls the first. */
  private ClusterDirectory directory(Set<NodeEndpoint> curators) {
    ClusterDirectory.Builder directory = ClusterDirectory.newBuilder();
    curators.stream()
        .sorted(
            Comparator.comparing(
                    (NodeEndpoint each) ->
                        !own.get().equals(Optional.of(each.address().getAddress())))
                .thenComparing(each -> each.address().getAddress().getHostAddress()))
        .forEach(
            each ->
                directory.addNodes(
                    ClusterDirectory.Node.newBuilder()
                        .setId(each.node().text())
                        .addAddresses(
                            ClusterDirectory.Node.Address.newBuilder()
                                .setHost(each.address().getAddress().getHostAddress()))));
    return directory.build();
  }
}
