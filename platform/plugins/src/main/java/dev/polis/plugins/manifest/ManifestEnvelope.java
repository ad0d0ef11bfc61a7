package dev.polis.plugins.manifest;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.plugins.store.PluginStore;
import dev.polis.wire.UnknownFields;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Holds a serialized manifest and its signer. */
public sealed interface ManifestEnvelope permits SignedManifest, DistributionManifest {
  /** The end of the name of a manifest's file; before it stands the name of the bundle's file. */
  String SUFFIX = PluginStore.MANIFEST_SUFFIX;

  /** A manifest with 2,000 packages has about 150 KiB. */
  int LARGEST = 256 * 1024;

  /** Returns the serialized manifest. */
  ByteString manifest();

  /**
   * Reads the manifest without verifying who vouches for it.
   *
   * @throws PluginRefusedException as of {@link PluginManifest#decode}
   */
  default PluginManifest content() throws PluginRefusedException {
    return PluginManifest.decode(manifest());
  }

  /** Returns the bytes of the file. */
  ByteString encode();

  /** Returns where the manifest of a bundle's file lies. */
  static Path beside(Path bundle) {
    return bundle.resolveSibling(bundle.getFileName() + SUFFIX);
  }

  /**
   * Reads the envelope beside a bundle's file, and nothing of the manifest in it.
   *
   * @throws PluginRefusedException if it is missing, or as of {@link #decode}
   * @throws IOException if it cannot be read
   */
  static ManifestEnvelope read(Path bundle) throws PluginRefusedException, IOException {
    return decode(PluginVerifier.read(bundle, beside(bundle)));
  }

  /**
   * Reads an envelope, and nothing of the manifest in it.
   *
   * @throws PluginRefusedException OVERSIZE, UNREADABLE_MANIFEST, UNKNOWN_FIELDS, UNSIGNED or
   *     MALFORMED
   */
  static ManifestEnvelope decode(byte[] bytes) throws PluginRefusedException {
    if (bytes.length > LARGEST) {
      throw new PluginRefusedException(
          RefusalReason.OVERSIZE,
          "the plugin manifest has %d bytes; one may have %d".formatted(bytes.length, LARGEST));
    }
    dev.polis.wire.manifest.ManifestEnvelope message;
    try {
      message = dev.polis.wire.manifest.ManifestEnvelope.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new PluginRefusedException(
          RefusalReason.UNREADABLE_MANIFEST,
          "the plugin manifest cannot be read (" + e.getMessage() + "); pack the plugin again",
          e);
    }
    List<String> unknown = UnknownFields.of(message);
    if (!unknown.isEmpty()) {
      throw new PluginRefusedException(
          RefusalReason.UNKNOWN_FIELDS,
          "the envelope of the plugin manifest has fields that this platform does not understand: %s; pack the plugin with the tools of this platform's version"
              .formatted(String.join(", ", unknown)));
    }
    return of(message);
  }

  private static ManifestEnvelope of(dev.polis.wire.manifest.ManifestEnvelope message)
      throws PluginRefusedException {
    return switch (message.getKind()) {
      case KIND_SIGNED -> SignedManifest.of(message);
      case KIND_DISTRIBUTION -> new DistributionManifest(message.getManifest());
      case KIND_UNKNOWN, UNRECOGNIZED ->
          throw new PluginRefusedException(
              RefusalReason.UNSIGNED,
              "the plugin manifest has no signer; sign it with \"polisctl plugin pack JAR --key FILE\"");
    };
  }
}
