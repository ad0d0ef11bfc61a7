package dev.polis.plugins.manifest;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.plugins.store.Digest;
import dev.polis.wire.UnknownFields;
import dev.polis.wire.manifest.Manifest;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;

/**
 * Describes the identity, the services and the needs of a plugin.
 *
 * @param symbolicName the bundle's symbolic name
 * @param version the bundle's version
 * @param digest the digest of the bundle's file
 * @param size the bytes of the bundle's file
 * @param provides the organs and roles; empty for a library
 * @param packages the imported packages
 * @param minimumPlatform the lowest version of the platform
 */
public record PluginManifest(
    String symbolicName,
    Version version,
    Digest digest,
    long size,
    List<Provided> provides,
    List<PackageRequirement> packages,
    Version minimumPlatform) {

  /**
   * The largest bundle: ten times the largest of the project, and small enough to be copied to each
   * node.
   */
  public static final long LARGEST_BUNDLE = 256L * 1024 * 1024;

  /** The most organs and roles of a plugin, which normally has one or two. */
  private static final int MOST_PROVIDED = 64;

  /** The most imported packages; the largest bundle of the distribution has about 200. */
  private static final int MOST_PACKAGES = 2000;

  /** The longest version; OSGi sets no limit. */
  private static final int LONGEST_VERSION = 100;

  /**
   * @throws IllegalArgumentException if a name is malformed, a number out of bounds, or an organ,
   *     role or package occurs twice
   */
  public PluginManifest {
    Names.BUNDLE.require(symbolicName);
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(digest, "digest");
    Objects.requireNonNull(minimumPlatform, "minimumPlatform");
    if (size <= 0) {
      throw new IllegalArgumentException("the size of a bundle is not " + size + " bytes");
    }
    provides = distinct("organ or role", provides, MOST_PROVIDED);
    packages = distinct("package", packages, MOST_PACKAGES);
    requireDistinctNames(packages);
  }

  /** Returns the plugin's name and version for people. */
  public String label() {
    return symbolicName + ":" + version;
  }

  /** Returns whether the plugin provides an organ or a role. */
  public boolean isOrganOrRole() {
    return !provides.isEmpty();
  }

  /** Returns the serialized manifest: equal manifests have equal bytes. */
  public ByteString encode() {
    Manifest.Builder message =
        Manifest.newBuilder()
            .setSymbolicName(symbolicName)
            .setVersion(version.toString())
            .setSha256(ByteString.copyFrom(HexFormat.of().parseHex(digest.hex())))
            .setSize(size)
            .setMinimumPlatform(minimumPlatform.toString());
    provides.forEach(provided -> message.addProvides(wire(provided)));
    for (PackageRequirement need : packages) {
      message.addPackages(
          dev.polis.wire.manifest.PackageRequirement.newBuilder()
              .setName(need.name())
              .setRange(need.range().toString())
              .setOptional(need.optional()));
    }
    return message.build().toByteString();
  }

  /**
   * Reads a serialized manifest.
   *
   * @throws PluginRefusedException UNREADABLE_MANIFEST, UNKNOWN_FIELDS, OVERSIZE or MALFORMED
   */
  public static PluginManifest decode(ByteString bytes) throws PluginRefusedException {
    Manifest message;
    try {
      message = Manifest.parseFrom(bytes);
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
          "the manifest of %s says things that this platform does not understand: %s; pack the plugin with the tools of this platform's version, or update the platform"
              .formatted(Names.shown(message.getSymbolicName()), String.join(", ", unknown)));
    }
    return of(message);
  }

  private static PluginManifest of(Manifest message) throws PluginRefusedException {
    if (message.getSize() > LARGEST_BUNDLE) {
      throw new PluginRefusedException(
          RefusalReason.OVERSIZE,
          "by its manifest the bundle of %s has %d bytes; a plugin may have at most %d"
              .formatted(
                  Names.shown(message.getSymbolicName()), message.getSize(), LARGEST_BUNDLE));
    }
    try {
      return new PluginManifest(
          message.getSymbolicName(),
          version("version", message.getVersion()),
          new Digest(HexFormat.of().formatHex(message.getSha256().toByteArray())),
          message.getSize(),
          message.getProvidesList().stream().map(PluginManifest::provided).toList(),
          message.getPackagesList().stream().map(PluginManifest::need).toList(),
          version("minimum platform", message.getMinimumPlatform()));
    } catch (IllegalArgumentException e) {
      throw new PluginRefusedException(
          RefusalReason.MALFORMED,
          "the manifest of \"%s\" is malformed: %s; pack the plugin again"
              .formatted(Names.shown(message.getSymbolicName()), e.getMessage()),
          e);
    }
  }

  private static dev.polis.wire.manifest.Provided wire(Provided provided) {
    var message = dev.polis.wire.manifest.Provided.newBuilder();
    return switch (provided) {
      case Provided.Organ organ -> message.setOrgan(organ.name()).build();
      case Provided.Role role -> message.setRole(role.name()).build();
    };
  }

  private static Provided provided(dev.polis.wire.manifest.Provided message) {
    return switch (message.getKindCase()) {
      case ORGAN -> new Provided.Organ(message.getOrgan());
      case ROLE -> new Provided.Role(message.getRole());
      case KIND_NOT_SET ->
          throw new IllegalArgumentException("something provided is neither an organ nor a role");
    };
  }

  private static PackageRequirement need(dev.polis.wire.manifest.PackageRequirement message) {
    return new PackageRequirement(
        message.getName(), range(message.getRange()), message.getOptional());
  }

  /** Parses a version; OSGi would take an empty text for 0.0.0. */
  static Version version(String what, String text) {
    if (text.isBlank() || text.length() > LONGEST_VERSION) {
      throw new IllegalArgumentException(
          "\"%s\" is no %s: 1.2.3 is one".formatted(Names.shown(text), what));
    }
    return new Version(text);
  }

  private static VersionRange range(String text) {
    if (text.isBlank() || text.length() > 2 * LONGEST_VERSION) {
      throw new IllegalArgumentException(
          "\"%s\" is no range of versions: [1.2,2) is one".formatted(Names.shown(text)));
    }
    return new VersionRange(text);
  }

  private static <T> List<T> distinct(String what, List<T> values, int most) {
    if (values.size() > most) {
      throw new IllegalArgumentException(
          "%d times %s; %d are allowed".formatted(values.size(), what, most));
    }
    Set<T> seen = new HashSet<>();
    for (T value : values) {
      if (!seen.add(value)) {
        throw new IllegalArgumentException("the %s \"%s\" is named twice".formatted(what, value));
      }
    }
    return List.copyOf(values);
  }

  private static void requireDistinctNames(List<PackageRequirement> packages) {
    distinct("package", packages.stream().map(PackageRequirement::name).toList(), MOST_PACKAGES);
  }
}
