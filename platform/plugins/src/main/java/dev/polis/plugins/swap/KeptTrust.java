package dev.polis.plugins.swap;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.Mode;
import dev.polis.pki.Ed25519;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.manifest.TrustedKey;
import dev.polis.plugins.store.PluginStore;
import dev.polis.plugins.swap.SwapParts.Audit;
import dev.polis.wire.cluster.TrustedKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Keeps a copy of the keys that the cluster trusts beside the store, so that plugins are verified
 * while the cluster is away. Thread-safe.
 *
 * <p>A key that the cluster no longer trusts counts on this node until the node learns it. A
 * process that can write the copy can also write the store, so the copy adds no risk.
 */
public final class KeptTrust {
  private final Path file;
  private final Audit audit;
  // Guarded by this.
  private TrustRoots roots;

  /** True if the copy has these keys; an unreadable or unwritten copy may have others. */
  private boolean written = true;

  private KeptTrust(Path file, Audit audit) {
    this.file = file;
    this.audit = audit;
    this.roots = read();
  }

  /**
   * Reads the copy beside a store; an unreadable copy trusts no key and is logged.
   *
   * @param store the store
   * @param audit receives a line when the copy cannot be read or written
   * @return the copy
   */
  public static KeptTrust open(PluginStore store, Audit audit) {
    return new KeptTrust(store.folder().resolve("trusted-keys"), audit);
  }

  private TrustRoots read() {
    try {
      return new TrustRoots(
          TrustedKeys.parseFrom(Files.readAllBytes(file)).getKeysList().stream()
              .map(key -> TrustedKey.of(key.getName(), key.getPublicKey().toByteArray()))
              .toList());
    } catch (NoSuchFileException never) {
      return TrustRoots.NONE;
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      audit.note(
          "the copy of the trusted keys %s is damaged (%s): until the cluster is reached, only plugins of the distribution are accepted"
              .formatted(file, e.getMessage()));
      written = false;
    } catch (IOException e) {
      audit.note("the copy of the trusted keys cannot be read: " + e);
      written = false;
    }
    return TrustRoots.NONE;
  }

  /**
   * Returns the last keys that this node received from the cluster.
   *
   * @return none before the first news
   */
  public synchronized TrustRoots roots() {
    return roots;
  }

  /**
   * Takes the present keys of the cluster. A later call, even with the same keys, repeats a failed
   * write.
   *
   * @param now all keys
   * @return whether they differ from the former ones
   */
  public synchronized boolean update(TrustRoots now) {
    boolean others = !now.equals(roots);
    roots = now;
    if (others || !written) {
      written = write(now);
    }
    return others;
  }

  private boolean write(TrustRoots now) {
    TrustedKeys.Builder copy = TrustedKeys.newBuilder();
    for (TrustedKey key : now.keys()) {
      copy.addKeys(
          dev.polis.wire.cluster.TrustedKey.newBuilder()
              .setName(key.name())
              .setPublicKey(ByteString.copyFrom(Ed25519.raw(key.key()))));
    }
    try {
      AtomicFile.replace(file, copy.build().toByteArray(), Mode.SECRET, Durability.POWER_LOSS);
      return true;
    } catch (IOException e) {
      audit.note("the node cannot store the trusted keys for its next start: " + e);
      return false;
    }
  }
}
