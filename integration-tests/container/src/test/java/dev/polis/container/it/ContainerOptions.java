package dev.polis.container.it;

import static org.ops4j.pax.exam.CoreOptions.bundle;
import static org.ops4j.pax.exam.CoreOptions.cleanCaches;
import static org.ops4j.pax.exam.CoreOptions.frameworkProperty;
import static org.ops4j.pax.exam.CoreOptions.systemPackage;
import static org.ops4j.pax.exam.CoreOptions.systemTimeout;
import static org.ops4j.pax.exam.CoreOptions.workingDirectory;

import dev.polis.plugins.plan.ManifestHeader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.ops4j.pax.exam.Option;
import org.osgi.framework.Constants;

/**
 * Lists the content of the container: the launcher's bundles and settings, and the tests' own.
 *
 * @param distribution the assembled distribution @param scratch a folder for the framework
 */
record ContainerOptions(Path distribution, Path scratch) {

  /** The time limit for a start or a stop of the framework, on a busy machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(120);

  /**
   * The packages shared with the tests, so that a failed assertion has the same type inside and
   * outside.
   */
  private static final List<String> TESTING =
      List.of(
          "org.junit.jupiter.api",
          "org.junit.jupiter.api.function",
          "org.opentest4j",
          "dev.polis.fixtures");

  /**
   * @throws IOException if the distribution cannot be read
   */
  Option[] all() throws IOException {
    List<Option> options = new ArrayList<>();
    // This folder is emptied before each start; the node's is beside it, so that the next start
    // finds its remaining processes.
    options.add(workingDirectory(scratch.resolve("framework").toString()));
    options.add(cleanCaches(true));
    options.add(systemTimeout(PATIENCE.toMillis()));
    systemPackages().forEach(name -> options.add(systemPackage(name)));
    TESTING.forEach(name -> options.add(systemPackage(name)));
    settings(options);
    for (Path jar : jars()) {
      options.add(bundle("reference:" + jar.toUri()).start(!needsConfiguration(jar)));
    }
    return options.toArray(Option[]::new);
  }

  /**
   * Lists the system packages of a node that no bundle exports here: those of the launcher, whose
   * classes are on this process's class path.
   */
  private List<String> systemPackages() throws IOException {
    Set<String> exported = new HashSet<>();
    for (Path jar : jars()) {
      String exports = headers(jar).getValue(Constants.EXPORT_PACKAGE);
      ManifestHeader.parse(exports).forEach(each -> exported.add(each.name()));
    }
    return Files.readAllLines(distribution.resolve("system.packages")).stream()
        .filter(line -> !exported.contains(line.substring(0, line.indexOf(';'))))
        .toList();
  }

  private static void settings(List<Option> options) {
    // The same settings as the launcher's.
    options.add(
        frameworkProperty(Constants.FRAMEWORK_BSNVERSION)
            .value(Constants.FRAMEWORK_BSNVERSION_MULTIPLE));
    options.add(frameworkProperty("felix.cache.locking").value("false"));
    options.add(frameworkProperty("felix.service.urlhandlers").value("false"));
    options.add(frameworkProperty("ds.loglevel").value("error"));
    // This class path has more than the launcher's, which bundles must not see by chance.
    options.add(frameworkProperty("felix.bootdelegation.implicit").value("false"));
    // Surefire ends the JVM; two threads that stop one framework would wait for each other.
    options.add(frameworkProperty("felix.shutdown.hook").value("false"));
  }

  private List<Path> jars() throws IOException {
    Path bundles = distribution.resolve("bundles");
    if (!Files.isDirectory(bundles)) {
      throw new ExtensionConfigurationException(
          bundles + " is missing: build launcher/dist, whose bundles are tested here");
    }
    try (Stream<Path> files = Files.list(bundles)) {
      return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    }
  }

  /** The tests start the components, once their configuration is in place. */
  private static boolean needsConfiguration(Path jar) throws IOException {
    return headers(jar).getValue("Service-Component") != null;
  }

  private static Attributes headers(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.getManifest().getMainAttributes();
    }
  }
}
