package dev.polis.plugins.manifest;

import com.google.protobuf.ByteString;
import dev.polis.plugins.store.Digest;
import dev.polis.wire.manifest.ManifestEnvelope.Kind;
import java.util.Objects;

/**
 * Holds a manifest that the platform's distribution vouches for, by naming the digest of its file.
 *
 * @param manifest serialized
 */
public record DistributionManifest(ByteString manifest) implements ManifestEnvelope {

  /** Checks for null. */
  public DistributionManifest {
    Objects.requireNonNull(manifest, "manifest");
  }

  /** Puts a manifest into its envelope. */
  public static DistributionManifest of(PluginManifest manifest) {
    return new DistributionManifest(manifest.encode());
  }

  /** Returns the digest of its file, which the distribution lists. */
  public Digest digest() {
    return Digest.of(encode().toByteArray());
  }

  @Override
  public ByteString encode() {
    return dev.polis.wire.manifest.ManifestEnvelope.newBuilder()
        .setKind(Kind.KIND_DISTRIBUTION)
        .setManifest(manifest)
        .build()
        .toByteString();
  }
}
