package dev.polis.cluster.it;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/**
 * Builds the projects below {@code examples/} as an outside project does: with Maven, against the
 * artifacts of the platform that "mvn install" publishes.
 *
 * <p>The artifacts of this build are published to a repository of the test's own. Everything else
 * comes from the repository that this build has filled, so nothing is fetched.
 *
 * @param folder the place of the copied projects, the repository and the bundles
 */
record ExampleProjects(Path folder) {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  private static final String VERSION = "0.1.0";

  /** Copies the projects to a folder and publishes the platform beside them. */
  static ExampleProjects in(Path folder) throws IOException {
    ExampleProjects projects = new ExampleProjects(folder);
    copySources(folder.resolve("examples"));
    projects.publish("polis", REPOSITORY.resolve("pom.xml"));
    for (Path pom : poms(REPOSITORY.resolve("platform"))) {
      projects.publishWithJar(artifact(pom.getParent()), pom);
    }
    projects.publishWithJar("polis-maven-plugin", REPOSITORY.resolve("tools/maven-plugin/pom.xml"));
    Files.writeString(projects.settings(), settingsText());
    return projects;
  }

  private static void copySources(Path to) throws IOException {
    Path from = REPOSITORY.resolve("examples");
    try (Stream<Path> all = Files.walk(from)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        Path relative = from.relativize(file);
        if (!relative.toString().contains("target/")) {
          Files.createDirectories(to.resolve(relative).getParent());
          Files.copy(file, to.resolve(relative));
        }
      }
    }
  }

  private static List<Path> poms(Path below) throws IOException {
    try (Stream<Path> files = Files.walk(below, 3)) {
      return files.filter(file -> file.endsWith("pom.xml")).sorted().toList();
    }
  }

  private static String artifact(Path module) {
    Path name = REPOSITORY.resolve("platform").relativize(module);
    return "dev.polis." + name.toString().replace('/', '.');
  }

  private Path published(String artifact) {
    return folder.resolve("repository/dev/polis").resolve(artifact).resolve(VERSION);
  }

  private void publish(String artifact, Path pom) throws IOException {
    Path to = Files.createDirectories(published(artifact));
    Files.copy(pom, to.resolve(artifact + "-" + VERSION + ".pom"));
  }

  private void publishWithJar(String artifact, Path pom) throws IOException {
    publish(artifact, pom);
    String jar = artifact + "-" + VERSION + ".jar";
    Files.copy(pom.resolveSibling("target").resolve(jar), published(artifact).resolve(jar));
  }

  private Path settings() {
    return folder.resolve("settings.xml");
  }

  /** Returns settings that let Maven find everything in the repository of this build. */
  private static String settingsText() {
    return """
        <settings>
          <mirrors>
            <mirror>
              <id>build</id>
              <mirrorOf>*</mirrorOf>
              <url>%s</url>
            </mirror>
          </mirrors>
        </settings>
        """
        .formatted(Path.of(System.getProperty("polis.maven.repository")).toUri());
  }

  /** Builds all projects and signs their bundles with a key. */
  void build(Path key) throws Exception {
    List<String> command =
        List.of(
            "mvn",
            "--batch-mode",
            "--quiet",
            "--file=" + folder.resolve("examples/pom.xml"),
            "--settings=" + settings(),
            "-Dmaven.repo.local=" + folder.resolve("repository"),
            "-Dpolis.key=" + key,
            "package");
    Finished.of(command, Map.of("JAVA_HOME", System.getProperty("java.home")), TestNode.PATIENCE)
        .requireSuccess("the examples do not build");
  }

  /** Returns the bundle that was built from a project. */
  Path bundle(String project) throws IOException {
    Path target = folder.resolve("examples").resolve(project).resolve("target");
    try (Stream<Path> files = Files.list(target)) {
      return files
          .filter(file -> file.toString().endsWith(".jar"))
          .findFirst()
          .orElseThrow(() -> new AssertionError("there is no bundle in " + target));
    }
  }

  /** Returns an unsigned copy of a bundle with another version in its manifest. */
  Path anotherVersion(Path bundle, String version) throws IOException {
    Path copy = folder.resolve("version-" + version + ".jar");
    try (JarFile from = new JarFile(bundle.toFile())) {
      Manifest manifest = new Manifest(from.getManifest());
      manifest.getMainAttributes().putValue("Bundle-Version", version);
      try (JarOutputStream to = new JarOutputStream(Files.newOutputStream(copy), manifest)) {
        for (JarEntry entry : Collections.list(from.entries())) {
          if (!entry.getName().equals(JarFile.MANIFEST_NAME)) {
            to.putNextEntry(new JarEntry(entry.getName()));
            from.getInputStream(entry).transferTo(to);
          }
        }
      }
    }
    return copy;
  }

  /** Returns the source files of a project. */
  List<Path> sources(String project) throws IOException {
    try (Stream<Path> files = Files.walk(folder.resolve("examples").resolve(project))) {
      return files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
    }
  }
}
