package dev.polis.node;

import dev.polis.base.boot.BootReport;
import dev.polis.node.places.CacheableJars;
import dev.polis.plugins.plan.ManifestHeader;
import dev.polis.plugins.plan.Offer;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.osgi.framework.Constants;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.ComponentContext;
import org.osgi.util.function.Function;
import org.osgi.util.promise.Promise;

/**
 * Lists the packages that the framework's system bundle exports from the launcher's class path.
 *
 * <p>Every bundle of a distribution that exports packages lies there: the platform and its
 * libraries. They are not replaced while a node runs, so nothing is lost if the framework does not
 * load them, and the AOT cache serves only what the class path loads.
 *
 * <p>So are the packages that the launcher brings for bundles besides: their versions are read from
 * the manifests of the launcher's libraries, which are their one place.
 *
 * @param packages the exported packages, in the notation of a manifest
 * @param libraries symbolic names of the bundles without components, which the framework does not
 *     install. Of the others it runs the components, on the classes of the class path.
 * @param capabilities what those libraries provide of Polis' own, in the notation of a manifest,
 *     for which the system bundle stands in
 */
record SystemPackages(List<String> packages, Set<String> libraries, List<String> capabilities) {
  private static final String PACKAGES = "system.packages";
  private static final String LIBRARIES = "system.libraries";
  private static final String CAPABILITIES = "system.capabilities";

  /** Begins the name spaces of Polis' own capabilities. */
  private static final String OWN = "polis.";

  /** One class of each library whose packages the launcher brings for the bundles. */
  private static final List<Class<?>> LAUNCHER =
      List.of(
          BootReport.class,
          ConfigurationAdmin.class,
          ComponentContext.class,
          Promise.class,
          Function.class);

  private static final String COMPONENTS = "Service-Component";

  SystemPackages {
    packages = List.copyOf(packages);
    libraries = Set.copyOf(libraries);
    capabilities = List.copyOf(capabilities);
  }

  /**
   * Copies the bundles that export packages to the class path, and writes the lists of packages and
   * libraries. It is a step of the build.
   *
   * @param distribution where {@code bundles/} is complete and {@code lib/} holds the launcher
   * @throws IOException if a jar can not be read or copied
   */
  static SystemPackages assemble(Path distribution) throws IOException {
    Set<String> packages = new TreeSet<>(launcher());
    Set<String> libraries = new TreeSet<>();
    Set<String> capabilities = new TreeSet<>();
    try (Stream<Path> jars = Files.list(distribution.resolve("bundles"))) {
      for (Path jar : jars.sorted().toList()) {
        Attributes headers = headers(jar);
        List<String> exports = exports(headers);
        if (exports.isEmpty() || headers.getValue(Constants.BUNDLE_ACTIVATOR) != null) {
          continue;
        }
        packages.addAll(exports);
        if (headers.getValue(COMPONENTS) == null) {
          libraries.add(headers.getValue(Constants.BUNDLE_SYMBOLICNAME).split(";")[0].strip());
          capabilities.addAll(own(headers));
        }
        Path library = distribution.resolve("lib").resolve(withoutVersion(jar));
        Files.copy(
            jar, library, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
        CacheableJars.rewrite(library);
      }
    }
    Files.write(distribution.resolve(PACKAGES), packages);
    Files.write(distribution.resolve(LIBRARIES), libraries);
    Files.write(distribution.resolve(CAPABILITIES), capabilities);
    return read(distribution);
  }

  /**
   * @param distribution a built one
   * @return the lists that were written; the launcher's packages alone if there are none
   * @throws IOException if it can not be read
   */
  static SystemPackages read(Path distribution) throws IOException {
    Path packages = distribution.resolve(PACKAGES);
    return new SystemPackages(
        Files.exists(packages) ? Files.readAllLines(packages) : launcher(),
        Set.copyOf(lines(distribution.resolve(LIBRARIES))),
        lines(distribution.resolve(CAPABILITIES)));
  }

  /** Returns what is there before the first bundle starts. */
  List<Offer> given() {
    List<Offer> given = new ArrayList<>(Offer.parse(String.join(",", capabilities)));
    given.add(Offer.service(BootReport.class.getName()));
    return given;
  }

  private static List<String> launcher() throws IOException {
    Set<String> packages = new TreeSet<>();
    for (Class<?> each : LAUNCHER) {
      try {
        packages.addAll(
            exports(
                headers(
                    Path.of(each.getProtectionDomain().getCodeSource().getLocation().toURI()))));
      } catch (URISyntaxException e) {
        throw new IOException(each + " is in no file: " + e.getMessage(), e);
      }
    }
    return List.copyOf(packages);
  }

  private static List<String> lines(Path file) throws IOException {
    return Files.exists(file) ? Files.readAllLines(file) : List.of();
  }

  private static Attributes headers(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile(), false)) {
      return file.getManifest().getMainAttributes();
    }
  }

  private static List<String> own(Attributes headers) {
    return ManifestHeader.clauses(headers.getValue(Constants.PROVIDE_CAPABILITY)).stream()
        .filter(capability -> capability.startsWith(OWN))
        .toList();
  }

  private static List<String> exports(Attributes headers) {
    return ManifestHeader.parse(headers.getValue(Constants.EXPORT_PACKAGE)).stream()
        .map(
            export ->
                export.name()
                    + ";version=\""
                    + export.attributes().getOrDefault(Constants.VERSION_ATTRIBUTE, "0.0.0")
                    + '"')
        .toList();
  }

  /**
   * Names a jar as the launcher's own libraries are named: one file for each library, whatever its
   * version.
   */
  private static String withoutVersion(Path jar) {
    return jar.getFileName().toString().replaceFirst("-[0-9][^/]*\\.jar$", ".jar");
  }
}
