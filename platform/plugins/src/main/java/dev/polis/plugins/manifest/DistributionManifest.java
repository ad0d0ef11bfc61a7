package dev.polis.plugins.manifest;

import com.google.protobuf.ByteString;
import dev.polis.plugins.store.Digest;
import dev.polis.wire.manifest.ManifestEnvelope.Kind;
import java.util.Objects;

/**
 * Holds a manifest whose digest the platform's distribution lists.
 *
 * @param manifest the serialized manifest
 */
public record DistributionManifest(ByteString manifest) implements ManifestEnvelope {

  public DistributionManifest {
    Objects.requireNonNull(manifest, "manifest");
  }

  /** Wraps a manifest in its envelope. */
  public static DistributionManifest of(PluginManifest manifest) {
    return new DistributionManifest(manifest.encode());
  }

  /** Returns the digest of the envelope's file, which the distribution lists. */
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
