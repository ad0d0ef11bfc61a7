package dev.polis.plugins.manifest;

import com.google.protobuf.ByteString;
import dev.polis.pki.Ed25519;
import dev.polis.wire.manifest.ManifestEnvelope.Kind;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.util.Objects;

/**
 * Holds a manifest with its signature.
 *
 * @param manifest the serialized manifest
 * @param keyId the id of the signing key
 * @param signature 64 bytes
 */
public record SignedManifest(ByteString manifest, KeyId keyId, ByteString signature)
    implements ManifestEnvelope {
  /**
   * The prefix of the signed bytes, so that a signature for another purpose is no signature of a
   * manifest.
   */
  private static final ByteString PURPOSE =
      ByteString.copyFrom("polis plugin manifest 1\n", StandardCharsets.US_ASCII);

  public SignedManifest {
    Objects.requireNonNull(manifest, "manifest");
    Objects.requireNonNull(keyId, "keyId");
    Objects.requireNonNull(signature, "signature");
  }

  /** Signs a manifest. */
  public static SignedManifest sign(PluginManifest manifest, PrivateKey key) {
    return sign(manifest.encode(), key);
  }

  /** Signs any bytes as a manifest. */
  static SignedManifest sign(ByteString manifest, PrivateKey key) {
    byte[] signature = Ed25519.sign(key, PURPOSE.concat(manifest).toByteArray());
    return new SignedManifest(
        manifest, KeyId.of(Ed25519.publicKey(key)), ByteString.copyFrom(signature));
  }

  static SignedManifest of(dev.polis.wire.manifest.ManifestEnvelope message)
      throws PluginRefusedException {
    try {
      return new SignedManifest(
          message.getManifest(), new KeyId(message.getKeyId()), message.getSignature());
    } catch (IllegalArgumentException e) {
      throw new PluginRefusedException(
          RefusalReason.MALFORMED,
          "the envelope of the plugin manifest is malformed: %s; pack the plugin again"
              .formatted(e.getMessage()),
          e);
    }
  }

  /** Returns whether this key signed the manifest. */
  boolean isSignedBy(TrustedKey key) {
    return Ed25519.verify(
        key.key(), PURPOSE.concat(manifest).toByteArray(), signature.toByteArray());
  }

  @Override
  public ByteString encode() {
    return dev.polis.wire.manifest.ManifestEnvelope.newBuilder()
        .setKind(Kind.KIND_SIGNED)
        .setManifest(manifest)
        .setKeyId(keyId.hex())
        .setSignature(signature)
        .build()
        .toByteString();
  }
}
