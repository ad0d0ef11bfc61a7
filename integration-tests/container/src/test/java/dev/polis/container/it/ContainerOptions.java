package dev.polis.container.it;

import static org.ops4j.pax.exam.CoreOptions.bundle;
import static org.ops4j.pax.exam.CoreOptions.cleanCaches;
import static org.ops4j.pax.exam.CoreOptions.frameworkProperty;
import static org.ops4j.pax.exam.CoreOptions.systemPackage;
import static org.ops4j.pax.exam.CoreOptions.systemTimeout;
import static org.ops4j.pax.exam.CoreOptions.workingDirectory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.ops4j.pax.exam.Option;
import org.osgi.framework.Constants;

/**
 * Lists what is in the container: what the launcher would put there, and what tests need besides.
 *
 * @param distribution the folder that was assembled
 * @param scratch where the framework may write
 */
record ContainerOptions(Path distribution, Path scratch) {

  /** How long the framework may take to start or to stop, on a machine that does other things. */
  private static final Duration PATIENCE = Duration.ofSeconds(120);

  /**
   * The system packages of every node; their classes are on the class path of whoever starts a
   * framework.
   */
  private static final List<String> SYSTEM_PACKAGES =
      List.of(
          "dev.polis.boot;version=1.1.0",
          "org.osgi.service.cm;version=1.6.1",
          "org.osgi.service.component;version=1.5.1",
          "org.osgi.service.component.propertytypes;version=1.5",
          "org.osgi.service.component.runtime;version=1.5",
          "org.osgi.service.component.runtime.dto;version=1.5",
          "org.osgi.util.promise;version=1.3.0",
          "org.osgi.util.function;version=1.2.0");

  /** Shared with the tests, so that a failed assertion is the same type inside and outside. */
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
    // Emptied before each start; a node lies beside it, so that what it left running is found.
    options.add(workingDirectory(scratch.resolve("framework").toString()));
    options.add(cleanCaches(true));
    options.add(systemTimeout(PATIENCE.toMillis()));
    SYSTEM_PACKAGES.forEach(name -> options.add(systemPackage(name)));
    TESTING.forEach(name -> options.add(systemPackage(name)));
    settings(options);
    for (Path jar : jars()) {
      options.add(bundle("reference:" + jar.toUri()).start(!needsConfiguration(jar)));
    }
    return options.toArray(Option[]::new);
  }

  private static void settings(List<Option> options) {
    // As the launcher sets them.
    options.add(
        frameworkProperty(Constants.FRAMEWORK_BSNVERSION)
            .value(Constants.FRAMEWORK_BSNVERSION_MULTIPLE));
    options.add(frameworkProperty("felix.cache.locking").value("false"));
    options.add(frameworkProperty("felix.service.urlhandlers").value("false"));
    options.add(frameworkProperty("ds.loglevel").value("error"));
    // Here more lies on the class path than the launcher has; nobody may find it there by luck.
    options.add(frameworkProperty("felix.bootdelegation.implicit").value("false"));
    // Surefire ends the JVM; two that stop one framework wait for each other.
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

  /** Components are started by the tests, once their configuration is in place. */
  private static boolean needsConfiguration(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.getManifest().getMainAttributes().getValue("Service-Component") != null;
    }
  }
}
