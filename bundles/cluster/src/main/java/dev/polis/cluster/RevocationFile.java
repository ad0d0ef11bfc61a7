package dev.polis.cluster;

import dev.polis.base.values.Watcher;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRevocations;
import dev.polis.supervision.Context;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Keeps the cluster's revocation list on the data volume, so that a starting node refuses revoked
 * certificates before consensus answers.
 */
final class RevocationFile {

  private final FilePlacement file;

  RevocationFile(FilePlacement file) {
    this.file = file;
  }

  /**
   * Reads the list of a former member. A missing or damaged list is unknown, not empty: only
   * consensus knows its content.
   */
  RpcRevocations read(CaBundle ca) {
    return switch (file.read()) {
      case Stored.Present<byte[]>(Path path, byte[] der) -> parsed(path, der, ca);
      case Stored.None<byte[]>(Path path) -> new RpcRevocations.Unknown(path + " is missing");
      case Stored.Corrupted<byte[]>(Path path, String reason) ->
          new RpcRevocations.Unknown("%s is damaged: %s".formatted(path, reason));
      case Stored.Unreadable<byte[]>(Path path, String reason, var cause) ->
          new RpcRevocations.Unknown("%s cannot be read: %s".formatted(path, reason));
    };
  }

  private static RpcRevocations parsed(Path path, byte[] der, CaBundle ca) {
    try {
      return new RpcRevocations.Known(Crl.parse(der).verify(ca));
    } catch (PkiException damaged) {
      return new RpcRevocations.Unknown("%s is damaged: %s".formatted(path, damaged.getMessage()));
    }
  }

  /** Writes each new list of the node until it is cancelled. */
  void follow(RpcHost rpc, Context context) throws InterruptedException, FileException {
    context.healthy();
    try (Watcher<RpcRevocations> lists = rpc.revocations().watch()) {
      while (true) {
        if (lists.get() instanceof RpcRevocations.Known(Crl list) && !holds(list)) {
          file.write(list.der());
          context.log().info("%s now holds %s", file.path(), list);
        }
      }
    }
  }

  private boolean holds(Crl list) {
    return file.read() instanceof Stored.Present<byte[]>(Path path, byte[] der)
        && Arrays.equals(der, list.der());
  }
}
