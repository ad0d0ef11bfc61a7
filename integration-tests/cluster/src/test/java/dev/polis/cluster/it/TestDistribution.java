package dev.polis.cluster.it;

import dev.polis.fixtures.Distribution;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/** Copies the distribution, so that a test can damage it. */
record TestDistribution(Path folder) {

  static TestDistribution copied(Path folder) throws IOException {
    Path from = Distribution.built().folder();
    try (Stream<Path> all = Files.walk(from)) {
      for (Path path : all.toList()) {
        Path to = folder.resolve(from.relativize(path).toString());
        if (Files.isDirectory(path)) {
          Files.createDirectories(to);
        } else {
          Files.copy(path, to);
        }
      }
    }
    return new TestDistribution(folder);
  }

  private Path list() {
    return folder.resolve("bundles.list");
  }

  private String line(String name) throws IOException {
    return Files.readAllLines(list()).stream()
        .filter(line -> line.startsWith(name + " "))
        .findFirst()
        .orElseThrow(() -> new AssertionError("the distribution has no " + name));
  }

  Path jar(String name) throws IOException {
    return folder.resolve("bundles").resolve(line(name).split(" ", 4)[3]);
  }

  /** Removes a bundle, like a distribution that was assembled without it. */
  void remove(String name) throws IOException {
    Files.delete(jar(name));
    List<String> lines = new ArrayList<>(Files.readAllLines(list()));
    lines.remove(line(name));
    Files.write(list(), lines);
  }

  /** Adds a bundle without classes that provides one service and needs another. */
  void add(String name, String provides, String needs) throws Exception {
    Manifest manifest = new Manifest();
    Map.of(
            "Bundle-ManifestVersion",
            "2",
            "Bundle-SymbolicName",
            name,
            "Bundle-Version",
            "1.0.0",
            "Provide-Capability",
            "osgi.service;objectClass:List<String>=\"%s\"".formatted(provides),
            "Require-Capability",
            "osgi.service;filter:=\"(objectClass=%s)\";effective:=active".formatted(needs))
        .forEach((key, value) -> manifest.getMainAttributes().putValue(key, value));
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    Path jar = folder.resolve("bundles").resolve(name + ".jar");
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream filled = new JarOutputStream(out, manifest)) {
      filled.finish();
    }
    list(name, "1.0.0", jar);
  }

  /** Adds a bundle from elsewhere. */
  void add(String name, String version, Path bundle) throws Exception {
    Path jar = folder.resolve("bundles").resolve(bundle.getFileName());
    Files.copy(bundle, jar);
    list(name, version, jar);
  }

  private void list(String name, String version, Path jar) throws Exception {
    List<String> lines = new ArrayList<>(Files.readAllLines(list()));
    lines.add(name + " " + version + " " + sha256(jar) + " " + jar.getFileName());
    Files.write(list(), lines);
  }

  private static String sha256(Path file) throws IOException, NoSuchAlgorithmException {
    return HexFormat.of()
        .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
  }
}
