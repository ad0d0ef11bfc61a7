package dev.polis.container.it;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Makes a bundle as an outside project would: from sources that no module compiles, against only
 * the platform's jars of the distribution.
 */
final class OutsideBundle {

  private OutsideBundle() {}

  /**
   * Compiles and packs the sources of a folder below integration-tests.
   *
   * @return the bundle's file
   */
  static Path make(String folder) throws IOException {
    Path sources = Path.of(System.getProperty("polis.repository"), "integration-tests", folder);
    Path work = Path.of(System.getProperty("polis.scratch"), folder);
    Path classes = Files.createDirectories(work.resolve("classes"));
    compile(filesBelow(sources.resolve("src")), classes);
    Path bundle = work.resolve(folder + ".jar");
    try (var manifest = Files.newInputStream(sources.resolve("MANIFEST.MF"));
        OutputStream file = Files.newOutputStream(bundle);
        JarOutputStream jar = new JarOutputStream(file, new Manifest(manifest))) {
      add(jar, classes, classes);
      add(jar, sources, sources.resolve("OSGI-INF"));
    }
    return bundle;
  }

  private static void compile(List<Path> sources, Path classes) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter complaints = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled =
          compiler
              .getTask(
                  complaints,
                  files,
                  null,
                  List.of("-d", classes.toString(), "-classpath", platform()),
                  null,
                  files.getJavaFileObjectsFromPaths(sources))
              .call();
      if (!compiled) {
        throw new AssertionError("the sources do not compile:\n" + complaints);
      }
    }
  }

  private static String platform() throws IOException {
    Path lib = Path.of(System.getProperty("polis.distribution"), "lib");
    return filesBelow(lib).stream()
        .map(Path::getFileName)
        .map(Path::toString)
        // Signatures of dev.polis.files mention protobuf messages.
        .filter(jar -> jar.startsWith("dev.polis.") || jar.startsWith("protobuf-java"))
        .map(lib::resolve)
        .map(Path::toString)
        .collect(Collectors.joining(":"));
  }

  private static List<Path> filesBelow(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile).sorted().toList();
    }
  }

  private static void add(JarOutputStream jar, Path root, Path folder) throws IOException {
    for (Path file : filesBelow(folder)) {
      jar.putNextEntry(new JarEntry(root.relativize(file).toString()));
      Files.copy(file, jar);
      jar.closeEntry();
    }
  }
}
