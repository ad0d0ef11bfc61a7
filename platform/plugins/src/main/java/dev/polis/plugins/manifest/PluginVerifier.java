package dev.polis.plugins.manifest;

import dev.polis.plugins.store.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import org.osgi.framework.Version;

/**
 * Decides whether a plugin may run, before any of its classes is loaded. Immutable; usable from any
 * thread.
 */
public final class PluginVerifier {
  private final Version platform;
  private final Set<Digest> distribution;

  /**
   * @param platform the version of this platform
   * @param distribution the digests of the distribution's manifests
   */
  public PluginVerifier(Version platform, Set<Digest> distribution) {
    this.platform = platform;
    this.distribution = Set.copyOf(distribution);
  }

  /**
   * Verifies a bundle and its manifest, which is in a file.
   *
   * @param bundle the bundle's file
   * @param manifest the manifest's file
   * @param roots the keys that the cluster trusts
   * @return the plugin
   * @throws PluginRefusedException if it may not run; none of its classes was loaded
   * @throws IOException if a file cannot be read
   */
  public VerifiedPlugin verify(Path bundle, Path manifest, TrustRoots roots)
      throws PluginRefusedException, IOException {
    return verify(bundle, read(bundle, manifest), roots);
  }

  /**
   * Verifies a bundle and its manifest.
   *
   * @param bundle the bundle's file
   * @param manifest the content of the manifest's file
   * @param roots the keys that the cluster trusts
   * @return the plugin
   * @throws PluginRefusedException if it may not run; none of its classes was loaded
   * @throws IOException if the bundle cannot be read
   */
  public VerifiedPlugin verify(Path bundle, byte[] manifest, TrustRoots roots)
      throws PluginRefusedException, IOException {
    VerifiedManifest verified = verifySignature(manifest, roots);
    requireContent(bundle, verified.manifest());
    BundleCapabilities said = requireIdentity(bundle, verified.manifest());
    if (said.lowestPlatform().isEmpty()) {
      // Otherwise the bundle has a capability, and the framework's resolver decides.
      requirePlatform(verified.manifest());
    }
    return new VerifiedPlugin(bundle, verified.manifest(), verified.signer());
  }

  /**
   * Verifies a manifest without its bundle.
   *
   * @param manifest the content of the manifest's file
   * @param roots the keys that the cluster trusts
   * @return the manifest and its signer
   * @throws PluginRefusedException if a plugin with it may not run
   */
  public VerifiedManifest verifyManifest(byte[] manifest, TrustRoots roots)
      throws PluginRefusedException {
    VerifiedManifest verified = verifySignature(manifest, roots);
    requirePlatform(verified.manifest());
    return verified;
  }

  private VerifiedManifest verifySignature(byte[] manifest, TrustRoots roots)
      throws PluginRefusedException {
    ManifestEnvelope envelope = ManifestEnvelope.decode(manifest);
    Signer signer =
        switch (envelope) {
          case SignedManifest signed -> requireKey(signed, roots);
          case DistributionManifest given -> requireListed(given, manifest);
        };
    return new VerifiedManifest(envelope.content(), signer);
  }

  /**
   * Compares a bundle with a manifest, without a check of the signer.
   *
   * @param bundle the bundle's file
   * @param manifest the expected manifest
   * @throws PluginRefusedException if they differ; none of its classes was loaded
   * @throws IOException if the bundle cannot be read
   */
  public static void requireBundle(Path bundle, PluginManifest manifest)
      throws PluginRefusedException, IOException {
    requireContent(bundle, manifest);
    requireIdentity(bundle, manifest);
  }

  /**
   * Reads the file of a manifest.
   *
   * @param bundle the bundle of the manifest
   * @param manifest the manifest's file
   * @return its content, at most one byte longer than the largest manifest
   * @throws PluginRefusedException UNSIGNED if it is missing
   * @throws IOException if it cannot be read
   */
  public static byte[] read(Path bundle, Path manifest) throws PluginRefusedException, IOException {
    try (InputStream in = Files.newInputStream(manifest)) {
      // One byte more than allowed shows an oversize file without a read of all of it.
      return in.readNBytes(ManifestEnvelope.LARGEST + 1);
    } catch (NoSuchFileException e) {
      throw new PluginRefusedException(
          RefusalReason.UNSIGNED,
          "%s has no manifest: %s is missing; make it with \"polisctl plugin pack JAR --key FILE\""
              .formatted(bundle, manifest),
          e);
    }
  }

  private static Signer requireKey(SignedManifest signed, TrustRoots roots)
      throws PluginRefusedException {
    TrustedKey key =
        roots
            .find(signed.keyId())
            .orElseThrow(
                () ->
                    new PluginRefusedException(
                        RefusalReason.UNKNOWN_KEY,
                        "the plugin is signed by the key %s, which this cluster does not trust (it trusts %s); add the key with \"polisctl plugin trust add NAME FILE.pub\", or sign the plugin with a trusted one"
                            .formatted(signed.keyId(), roots)));
    if (!signed.isSignedBy(key)) {
      throw new PluginRefusedException(
          RefusalReason.BAD_SIGNATURE,
          "the signature of the plugin manifest is not that of key %s: the manifest was changed after it was signed; fetch it again or pack the plugin again"
              .formatted(key));
    }
    return new Signer.ClusterKey(key);
  }

  private Signer requireListed(DistributionManifest given, byte[] file)
      throws PluginRefusedException {
    if (!distribution.contains(Digest.of(file))) {
      throw new PluginRefusedException(
          RefusalReason.UNSIGNED,
          "the plugin manifest%s says that it came with the platform, and the list of this distribution does not name it; sign it with \"polisctl plugin pack JAR --key FILE\""
              .formatted(given.manifest().isEmpty() ? ", which is empty," : ""));
    }
    return new Signer.Distribution();
  }

  private void requirePlatform(PluginManifest manifest) throws PluginRefusedException {
    if (platform.compareTo(manifest.minimumPlatform()) < 0) {
      throw new PluginRefusedException(
          RefusalReason.PLATFORM_TOO_OLD,
          PlatformVersion.tooOld(
              manifest.label(),
              "in version %s or newer".formatted(manifest.minimumPlatform()),
              platform.toString()));
    }
  }

  private static void requireContent(Path bundle, PluginManifest manifest)
      throws PluginRefusedException, IOException {
    long size;
    try {
      size = Files.size(bundle);
    } catch (NoSuchFileException e) {
      throw new PluginRefusedException(
          RefusalReason.UNREADABLE_BUNDLE, bundle + " is missing, and its manifest is there", e);
    }
    if (size != manifest.size()) {
      throw new PluginRefusedException(
          RefusalReason.WRONG_SIZE,
          "%s has %d bytes, and the manifest of %s says %d: it was truncated, changed or rebuilt after packing; fetch it again or pack it again"
              .formatted(bundle, size, manifest.label(), manifest.size()));
    }
    Digest digest = Digest.of(bundle);
    if (!digest.equals(manifest.digest())) {
      throw new PluginRefusedException(
          RefusalReason.WRONG_DIGEST,
          "%s has the digest %s, and the manifest of %s says %s: it was changed or built again after it was packed; fetch it again or pack it again"
              .formatted(bundle, digest, manifest.label(), manifest.digest()));
    }
  }

  /** Compares a bundle's capabilities with its manifest, and returns them. */
  private static BundleCapabilities requireIdentity(Path bundle, PluginManifest manifest)
      throws PluginRefusedException {
    BundleHeaders headers;
    BundleCapabilities said;
    try {
      headers = BundleHeaders.read(bundle);
      said = BundleCapabilities.of(headers.main());
    } catch (IOException | IllegalArgumentException e) {
      throw new PluginRefusedException(
          RefusalReason.UNREADABLE_BUNDLE,
          "%s is no bundle: %s; build it with bnd".formatted(bundle, e.getMessage()),
          e);
    }
    if (!headers.symbolicName().equals(manifest.symbolicName())
        || !headers.version().equals(manifest.version())) {
      throw new PluginRefusedException(
          RefusalReason.OTHER_BUNDLE,
          "%s is %s:%s, and its manifest is that of %s; pack the bundle again"
              .formatted(
                  bundle,
                  Names.shown(headers.symbolicName()),
                  headers.version(),
                  manifest.label()));
    }
    // A plugin of an earlier release has no capabilities, but its manifest was signed.
    boolean others =
        !said.provides().isEmpty()
            && !Set.copyOf(said.provides()).equals(Set.copyOf(manifest.provides()));
    if (others
        || said.lowestPlatform()
            .filter(each -> !each.equals(manifest.minimumPlatform()))
            .isPresent()) {
      throw new PluginRefusedException(
          RefusalReason.OTHER_BUNDLE,
          "%s says that it provides %s and needs the platform %s, and its manifest says %s and %s; pack the bundle again"
              .formatted(
                  bundle,
                  said.provides(),
                  said.lowestPlatform().map(Version::toString).orElse("as its manifest says"),
                  manifest.provides(),
                  manifest.minimumPlatform()));
    }
    return said;
  }
}
