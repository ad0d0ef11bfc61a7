package dev.polis.benchmarks;

import dev.polis.benchmarks.bundles.Caller;
import dev.polis.benchmarks.bundles.Greeter;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Makes the replaced bundles and the calling bundle, for Java 17.
 *
 * @param folder the folder for the bundles
 */
record SwapBundles(Path folder) {
  private static final String JAVA = "17";

  /**
   * Compiles the classes of the bundles.
   *
   * @param sources the folder of the benchmarks' sources
   */
  static SwapBundles compiled(Path folder, Path sources) throws IOException {
    Path own = sources.resolve(Greeter.class.getPackageName().replace('.', '/'));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        Stream<Path> found = Files.list(own)) {
      List<Path> classes =
          found.filter(file -> !file.endsWith("package-info.java")).sorted().toList();
      boolean compiles =
          compiler
              .getTask(
                  null,
                  files,
                  null,
                  List.of(
                      "-nowarn",
                      "-proc:none",
                      "--release",
                      JAVA,
                      "-cp",
                      System.getProperty("java.class.path"),
                      "-d",
                      Files.createDirectories(folder.resolve("classes")).toString()),
                  null,
                  files.getJavaFileObjectsFromPaths(classes))
              .call();
      if (!compiles) {
        throw new IOException("the bundles in " + own + " do not compile for Java " + JAVA);
      }
    }
    return new SwapBundles(folder);
  }

  /** Makes a version of the replaced bundle. */
  Path greeter(int version) throws IOException {
    return jar(Caller.GREETER, "1.0." + version, Greeter.class);
  }

  /** Makes the calling bundle. */
  Path caller() throws IOException {
    return jar("org.example.caller", "1.0.0", Caller.class);
  }

  private Path jar(String name, String version, Class<?> activator) throws IOException {
    Path jar = folder.resolve(name + "-" + version + ".jar");
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", name);
    headers.putValue("Bundle-Version", version);
    headers.putValue("Bundle-Activator", activator.getName());
    headers.putValue("Import-Package", "org.osgi.framework;version=\"[1.9,2)\"");
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream content = new JarOutputStream(out, manifest);
        Stream<Path> classes = Files.walk(folder.resolve("classes"))) {
      for (Path file : classes.filter(Files::isRegularFile).sorted().toList()) {
        content.putNextEntry(new JarEntry(folder.resolve("classes").relativize(file).toString()));
        Files.copy(file, content);
        content.closeEntry();
      }
    }
    return jar;
  }
}
