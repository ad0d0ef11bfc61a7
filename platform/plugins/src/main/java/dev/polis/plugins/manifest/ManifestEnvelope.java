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
  /** The suffix of a manifest's file name, after the name of the bundle's file. */
  String SUFFIX = PluginStore.MANIFEST_SUFFIX;

  /** The largest manifest in bytes; one with 2,000 packages has about 150 KiB. */
  int LARGEST = 256 * 1024;

  /** Returns the serialized manifest. */
  ByteString manifest();

  /**
   * Reads the manifest without a check of its signer.
   *
   * @throws PluginRefusedException as of {@link PluginManifest#decode}
   */
  default PluginManifest content() throws PluginRefusedException {
    return PluginManifest.decode(manifest());
  }

  /** Returns the bytes of the file. */
  ByteString encode();

  /** Returns the path of the manifest of a bundle's file. */
  static Path beside(Path bundle) {
    return bundle.resolveSibling(bundle.getFileName() + SUFFIX);
  }

  /**
   * Reads the file beside a bundle of the plugin store.
   *
   * @return its content, at most one byte longer than the largest manifest
   * @throws PluginRefusedException UNSIGNED if it is missing, with the remedy
   * @throws IOException if it cannot be read
   */
  static byte[] stored(Path bundle) throws PluginRefusedException, IOException {
    try {
      return PluginVerifier.read(bundle, beside(bundle));
    } catch (PluginRefusedException missing) {
      throw lost(bundle, "missing", missing);
    }
  }

  /**
   * Reads the envelope beside a bundle of the plugin store, without the manifest in it. The store
   * verified it at its arrival.
   *
   * @throws PluginRefusedException if it is missing or damaged, with the remedy
   * @throws IOException if it cannot be read
   */
  static ManifestEnvelope read(Path bundle) throws PluginRefusedException, IOException {
    byte[] file = stored(bundle);
    try {
      return decode(file);
    } catch (PluginRefusedException damaged) {
      throw lost(bundle, "damaged", damaged);
    }
  }

  private static PluginRefusedException lost(
      Path bundle, String how, PluginRefusedException cause) {
    return new PluginRefusedException(
        cause.reason(),
        "%s is %s in the plugin store".formatted(beside(bundle), how),
        PluginStore.RESTORE,
        cause);
  }

  /**
   * Reads the manifest beside a bundle of the plugin store.
   *
   * @throws PluginRefusedException if it is missing or damaged, with the remedy
   * @throws IOException if it cannot be read
   */
  static PluginManifest readContent(Path bundle) throws PluginRefusedException, IOException {
    ManifestEnvelope envelope = read(bundle);
    try {
      return envelope.content();
    } catch (PluginRefusedException damaged) {
      throw lost(bundle, "damaged", damaged);
    }
  }

  /**
   * Reads an envelope, without the manifest in it.
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
