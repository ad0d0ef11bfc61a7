package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Distribution;
import dev.polis.process.JvmReport;
import java.io.IOException;
import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Constants;

/** Checks that each artifact of the platform is a module of Java with the bundle's exports. */
class PlatformModulesTest {

  private static final Path PLATFORM =
      Path.of(System.getProperty("polis.repository")).resolve("platform");

  private static final ModuleFinder JARS =
      ModuleFinder.of(Distribution.built().folder().resolve("lib"));

  @Test
  @DisplayName("an artifact of the platform is a module whose name is the bundle's symbolic name")
  void eachIsAModule() throws IOException {
    TreeSet<String> missing = artifacts();
    assertTrue(missing.size() > 15, "only " + missing + " were found below " + PLATFORM);
    missing.removeIf(name -> module(name).filter(found -> !found.isAutomatic()).isPresent());
    assertEquals(
        new TreeSet<>(), missing, "give each a bnd.bnd with \"-jpms-module-info: NAME\" in it");
  }

  @Test
  @DisplayName("a module exports exactly the packages that its bundle exports")
  void exportsAreEqual() throws Exception {
    for (String name : artifacts()) {
      ModuleDescriptor module = module(name).orElseThrow();
      assertEquals(
          exportedByBundle(name),
          module.exports().stream()
              .filter(export -> !export.isQualified())
              .map(ModuleDescriptor.Exports::source)
              .collect(Collectors.toCollection(TreeSet::new)),
          name);
    }
  }

  @Test
  @DisplayName("the modules need only one another and modules on a node's class path")
  void theyResolve() throws IOException {
    Configuration resolved =
        ModuleLayer.boot().configuration().resolve(JARS, ModuleFinder.of(), artifacts());
    // One loader has each package once, like a program on the module path.
    ModuleLayer.boot().defineModulesWithOneLoader(resolved, ClassLoader.getPlatformClassLoader());
  }

  @Test
  @DisplayName("the report of a full heap takes no package of the distribution for a plugin's code")
  void packagesAreNoPlugins() throws Exception {
    TreeSet<String> foreign = new TreeSet<>();
    for (String part : List.of("lib", "bundles")) {
      try (Stream<Path> jars = Files.list(Distribution.built().folder().resolve(part))) {
        for (Path jar : jars.toList()) {
          foreign.addAll(packages(jar));
        }
      }
    }
    assertTrue(foreign.size() > 100, "only " + foreign + " were found");
    foreign.removeIf(name -> !causeOfFullHeapIn(name).contains("the code of a plugin"));
    assertEquals(new TreeSet<>(), foreign, "name them in JvmReport");
  }

  private static String causeOfFullHeapIn(String name) {
    String report =
        """
        #  fatal error: OutOfMemory encountered: Java heap space
        Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)
        j  %s.Some.call()V+5
        """
            .formatted(name);
    return new JvmReport(Instant.EPOCH, report).cause();
  }

  private static Set<String> packages(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.stream()
          .map(JarEntry::getName)
          .filter(name -> name.endsWith(".class") && name.contains("/"))
          .filter(name -> !name.startsWith("META-INF/"))
          .map(name -> name.substring(0, name.lastIndexOf('/')).replace('/', '.'))
          .collect(Collectors.toSet());
    }
  }

  private static Optional<ModuleDescriptor> module(String name) {
    return JARS.find(name).map(java.lang.module.ModuleReference::descriptor);
  }

  /** Returns the names of the platform's artifacts, which are those of its folders. */
  private static TreeSet<String> artifacts() throws IOException {
    try (Stream<Path> poms = Files.walk(PLATFORM, 3)) {
      return poms.filter(file -> file.endsWith("pom.xml"))
          .map(Path::getParent)
          .map(folder -> "dev.polis." + PLATFORM.relativize(folder).toString().replace('/', '.'))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private static TreeSet<String> exportedByBundle(String name) throws Exception {
    Path jar = Path.of(JARS.find(name).orElseThrow().location().orElseThrow());
    try (JarFile file = new JarFile(jar.toFile())) {
      String header = file.getManifest().getMainAttributes().getValue(Constants.EXPORT_PACKAGE);
      return header == null ? new TreeSet<>() : packages(header);
    }
  }

  private static TreeSet<String> packages(String header) {
    // Commas within quotes separate the packages of a uses constraint.
    return Arrays.stream(header.split(",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)"))
        .map(clause -> clause.split(";")[0].strip())
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
