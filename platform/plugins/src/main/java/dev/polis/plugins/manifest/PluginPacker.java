package dev.polis.plugins.manifest;

import dev.polis.files.AtomicFile;
import dev.polis.files.Mode;
import dev.polis.plugins.plan.ManifestHeader;
import dev.polis.plugins.store.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;

/**
 * Makes the manifest of a plugin from its bundle. The bundle's capabilities ({@link
 * BundleCapabilities}) name its organs, roles and needs.
 */
public final class PluginPacker {
  /** The old header for organs, which capabilities have replaced. */
  public static final String ORGANS = "Polis-Organ";

  /** The old header for roles, which capabilities have replaced. */
  public static final String ROLES = "Polis-Role";

  /** The old header for the lowest version of the platform, which a capability has replaced. */
  public static final String PLATFORM = "Polis-Minimum-Platform";

  private PluginPacker() {}

  /**
   * Describes a bundle, which may be a library.
   *
   * @param bundle its file
   * @param options the facts that the bundle lacks
   * @return its manifest
   * @throws PackException if the file is no bundle, or its capabilities are malformed
   * @throws IOException if it cannot be read
   */
  public static PluginManifest describe(Path bundle, PackOptions options)
      throws PackException, IOException {
    BundleHeaders headers = headers(bundle);
    long size = Files.size(bundle);
    if (size > PluginManifest.LARGEST_BUNDLE) {
      throw new PackException(
          "%s has %d bytes, and a plugin may have %d; leave libraries out that the platform has"
              .formatted(bundle, size, PluginManifest.LARGEST_BUNDLE));
    }
    try {
      requireNoHeaders(headers.main());
      BundleCapabilities said = BundleCapabilities.of(headers.main());
      return new PluginManifest(
          headers.symbolicName(),
          headers.version(),
          Digest.of(bundle),
          size,
          provides(options.provides(), said),
          imports(headers.main()),
          platform(options.platform(), said));
    } catch (IllegalArgumentException e) {
      throw new PackException(
          "%s cannot be packed: %s; correct its build".formatted(bundle, e.getMessage()), e);
    }
  }

  /**
   * Writes the signed manifest of a plugin beside its bundle.
   *
   * @param bundle its file
   * @param options the facts that the bundle lacks
   * @param key an Ed25519 key
   * @return the manifest
   * @throws PackException if the file is no bundle, its capabilities are malformed, or it provides
   *     no organ or role
   * @throws IOException if it cannot be read, or the manifest cannot be written
   */
  public static PluginManifest pack(Path bundle, PackOptions options, PrivateKey key)
      throws PackException, IOException {
    PluginManifest manifest = describe(bundle, options);
    if (!manifest.isOrganOrRole()) {
      throw new PackException(
          "%s does not declare what it provides; declare it in its bnd file with \"Provide-Capability: %s;%s=NAME\" or \"%s;%s=NAME\", or with an option"
              .formatted(
                  bundle,
                  BundleCapabilities.ORGAN,
                  BundleCapabilities.ORGAN,
                  BundleCapabilities.ROLE,
                  BundleCapabilities.ROLE));
    }
    write(bundle, SignedManifest.sign(manifest, key));
    return manifest;
  }

  /**
   * Writes a manifest beside a bundle.
   *
   * @param bundle the bundle's file
   * @param envelope its manifest
   * @throws IOException if it cannot be written
   */
  public static void write(Path bundle, ManifestEnvelope envelope) throws IOException {
    AtomicFile.replace(
        ManifestEnvelope.beside(bundle),
        envelope.encode().toByteArray(),
        Mode.PUBLIC,
        AtomicFile.Durability.PROCESS);
  }

  private static BundleHeaders headers(Path bundle) throws PackException, IOException {
    if (!Files.isReadable(bundle)) {
      throw new PackException(bundle + " cannot be read; name the jar of a bundle");
    }
    try {
      return BundleHeaders.read(bundle);
    } catch (IOException e) {
      throw new PackException(
          "%s is no bundle: %s; build it with bnd".formatted(bundle, e.getMessage()), e);
    }
  }

  /** Refuses the old headers, whose content would be lost. */
  private static void requireNoHeaders(Attributes headers) {
    requireNo(
        headers, ORGANS, "Provide-Capability: %1$s;%1$s=".formatted(BundleCapabilities.ORGAN));
    requireNo(headers, ROLES, "Provide-Capability: %1$s;%1$s=".formatted(BundleCapabilities.ROLE));
    requireNo(
        headers,
        PLATFORM,
        "Require-Capability: %s;filter:=(version>=".formatted(BundleCapabilities.PLATFORM));
  }

  private static void requireNo(Attributes headers, String header, String instead) {
    if (headers.getValue(header) != null) {
      throw new IllegalArgumentException(
          "the header \"%s: %s\" is that of an earlier version, and bundles say it by a capability now, \"%s…\" in the bnd file"
              .formatted(header, Names.shown(headers.getValue(header)), instead));
    }
  }

  private static List<Provided> provides(List<Provided> option, BundleCapabilities said) {
    if (option.isEmpty() || said.provides().isEmpty()) {
      return option.isEmpty() ? said.provides() : option;
    }
    if (!Set.copyOf(option).equals(Set.copyOf(said.provides()))) {
      throw new IllegalArgumentException(
          "it says itself that it provides %s, and the options say %s"
              .formatted(said.provides(), option));
    }
    return said.provides();
  }

  private static List<PackageRequirement> imports(Attributes headers) {
    return ManifestHeader.parse(headers.getValue("Import-Package")).stream()
        .map(PluginPacker::requirement)
        .toList();
  }

  private static PackageRequirement requirement(ManifestHeader.Clause clause) {
    Object range = clause.attributes().getOrDefault("version", Version.emptyVersion);
    return new PackageRequirement(
        clause.name(),
        new VersionRange(range.toString()),
        "optional".equals(clause.directives().get("resolution")));
  }

  private static Version platform(PackOptions.LowestPlatform option, BundleCapabilities said) {
    if (!(option instanceof PackOptions.LowestPlatform.At(Version version))) {
      return said.lowestPlatform().orElseGet(PlatformVersion::current);
    }
    if (said.lowestPlatform().filter(own -> !own.equals(version)).isPresent()) {
      throw new IllegalArgumentException(
          "it says itself that it needs the platform %s, and the option says %s"
              .formatted(said.lowestPlatform().get(), version));
    }
    return version;
  }
}
