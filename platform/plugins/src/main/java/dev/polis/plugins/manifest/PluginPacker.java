package dev.polis.plugins.manifest;

import dev.polis.files.AtomicFile;
import dev.polis.files.Mode;
import dev.polis.plugins.plan.ManifestHeader;
import dev.polis.plugins.store.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;

/**
 * Makes the manifest of a plugin from its bundle. What the bundle provides is in headers that its
 * build writes, such as {@code Polis-Role: NightlyBackup}.
 */
public final class PluginPacker {
  /** The header with the names of organs, separated by commas. */
  public static final String ORGANS = "Polis-Organ";

  /** The header with the names of roles, separated by commas. */
  public static final String ROLES = "Polis-Role";

  /** The header with the lowest version of the platform. */
  public static final String PLATFORM = "Polis-Minimum-Platform";

  private PluginPacker() {}

  /**
   * Describes a bundle, which may be a library.
   *
   * @param bundle its file
   * @param options what the bundle does not say itself
   * @return its manifest
   * @throws PackException if the file is no bundle, or what it says is malformed
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
      return new PluginManifest(
          headers.symbolicName(),
          headers.version(),
          Digest.of(bundle),
          size,
          options.provides().isEmpty() ? provides(headers.main()) : options.provides(),
          imports(headers.main()),
          platform(options.platform(), headers.main()));
    } catch (IllegalArgumentException e) {
      throw new PackException(
          "%s cannot be packed: %s; correct its build".formatted(bundle, e.getMessage()), e);
    }
  }

  /**
   * Writes the signed manifest of a plugin beside its bundle.
   *
   * @param bundle its file
   * @param options what the bundle does not say itself
   * @param key an Ed25519 key
   * @return the manifest
   * @throws PackException if the file is no bundle, what it says is malformed, or it provides
   *     nothing
   * @throws IOException if it cannot be read, or the manifest cannot be written
   */
  public static PluginManifest pack(Path bundle, PackOptions options, PrivateKey key)
      throws PackException, IOException {
    PluginManifest manifest = describe(bundle, options);
    if (!manifest.isOrganOrRole()) {
      throw new PackException(
          "%s does not say what it provides; name it with a header \"%s:\" or \"%s:\" in its bnd file, or with an option"
              .formatted(bundle, ORGANS, ROLES));
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

  private static List<Provided> provides(Attributes headers) {
    List<Provided> provides = new ArrayList<>();
    names(headers, ORGANS).forEach(name -> provides.add(new Provided.Organ(name)));
    names(headers, ROLES).forEach(name -> provides.add(new Provided.Role(name)));
    return provides;
  }

  private static List<String> names(Attributes headers, String header) {
    return ManifestHeader.parse(headers.getValue(header)).stream()
        .map(ManifestHeader.Clause::name)
        .toList();
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

  private static Version platform(PackOptions.LowestPlatform option, Attributes headers) {
    if (option instanceof PackOptions.LowestPlatform.At(Version version)) {
      return version;
    }
    String named = headers.getValue(PLATFORM);
    return named == null
        ? PlatformVersion.current()
        : PluginManifest.version("version of a platform", named.strip());
  }
}
