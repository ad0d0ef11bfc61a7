package dev.polis.cluster.it;

import dev.polis.cluster.it.organs.FaultyPredecessor;
import dev.polis.fixtures.Distribution;
import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/** Makes further versions of a node's organs, signed by a key that its cluster trusts. */
final class PackedPlugins {

  private static final String COMPONENTS = "Service-Component";
  private static final String FAULTY = "OSGI-INF/faulty.xml";

  private final TestNode node;
  private final Path folder;
  private final Path key;

  private PackedPlugins(TestNode node, Path folder, Path key) {
    this.node = node;
    this.folder = folder;
    this.key = key;
  }

  /** Makes a key and adds it to the trusted keys of a node's cluster, whose ownership was taken. */
  static PackedPlugins of(TestNode node, Path folder) throws IOException {
    Path key = Files.createDirectories(folder).resolve("plugins-key.pem");
    node.ctl("plugin", "key", "make", key.toString()).requireSuccess("no key for plugins");
    node.ctl("plugin", "trust", "add", "tests", key + ".pub")
        .requireSuccess("the key is not trusted");
    return new PackedPlugins(node, folder, key);
  }

  /** Makes versions with the same key in another folder. */
  PackedPlugins in(Path other) {
    return new PackedPlugins(node, other, key);
  }

  /** Returns the folder of the versions. */
  Path folder() {
    return folder;
  }

  /** Uses a key that the cluster of a node trusts already. */
  static PackedPlugins signedBy(TestNode node, Path folder, Path key) {
    return new PackedPlugins(node, folder, key);
  }

  /**
   * Returns the file of an organ of the distribution in another version, with its manifest beside.
   */
  Path version(String organ, String version) throws IOException {
    return without(organ, version, "");
  }

  /**
   * Returns the same without an entry of the archive, as a broken build has it.
   *
   * @param missing the entry's name; empty to leave out none
   */
  Path without(String organ, String version, String missing) throws IOException {
    return made(organ, version, missing, Optional.empty());
  }

  /**
   * Returns the same with a component that fails at its end.
   *
   * @param behaviour see {@link FaultyPredecessor}
   * @param end the file whose existence ends a hang
   */
  Path faulty(String organ, String version, String behaviour, Path end) throws IOException {
    String type = FaultyPredecessor.class.getName();
    String component =
        """
        <scr:component xmlns:scr="http://www.osgi.org/xmlns/scr/v1.4.0" name="%s.faulty"
            immediate="true" activate="activate" deactivate="deactivate">
          <implementation class="%s"/>
          <property name="behaviour" value="%s"/>
          <property name="end" value="%s"/>
        </scr:component>"""
            .formatted(organ, type, behaviour, end);
    return made(organ, version, "", Optional.of(component));
  }

  private Path made(String organ, String version, String missing, Optional<String> component)
      throws IOException {
    Path copy = folder.resolve(organ + "-" + version + ".jar");
    if (!Files.exists(copy)) {
      rewrite(shipped(organ), copy, version, missing, component);
      Finished packed = node.ctl("plugin", "pack", copy.toString(), "--key", key.toString());
      packed.requireSuccess("cannot pack " + copy);
    }
    return copy;
  }

  /** Returns an outside plugin that declares a role, and does nothing. */
  Path outsider(String name, String version, String role) throws IOException {
    Path jar = folder.resolve(name + "-" + version + ".jar");
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", name);
    headers.putValue("Bundle-Version", version);
    headers.putValue("Provide-Capability", "polis.role;polis.role=" + role);
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream target = new JarOutputStream(out, manifest)) {
      target.finish();
    }
    node.ctl("plugin", "pack", jar.toString(), "--key", key.toString())
        .requireSuccess("cannot pack " + jar);
    return jar;
  }

  private static Path shipped(String organ) throws IOException {
    try (Stream<Path> files = Files.walk(Distribution.built().folder().resolve("bundles"))) {
      return files
          .filter(file -> file.getFileName().toString().matches(organ + "-[0-9].*\\.jar"))
          .findFirst()
          .orElseThrow(() -> new AssertionError("the distribution has no bundle " + organ));
    }
  }

  private static void rewrite(
      Path jar, Path copy, String version, String missing, Optional<String> component)
      throws IOException {
    try (InputStream in = Files.newInputStream(jar);
        JarInputStream entries = new JarInputStream(in)) {
      Manifest manifest = new Manifest(entries.getManifest());
      Attributes headers = manifest.getMainAttributes();
      headers.putValue("Bundle-Version", version);
      if (component.isPresent()) {
        headers.putValue(COMPONENTS, headers.getValue(COMPONENTS) + "," + FAULTY);
      }
      try (OutputStream out = Files.newOutputStream(copy);
          JarOutputStream target = new JarOutputStream(out, manifest)) {
        for (JarEntry entry = entries.getNextJarEntry();
            entry != null;
            entry = entries.getNextJarEntry()) {
          if (entry.getName().equals(missing)) {
            continue;
          }
          target.putNextEntry(new JarEntry(entry.getName()));
          entries.transferTo(target);
          target.closeEntry();
        }
        if (component.isPresent()) {
          target.putNextEntry(new JarEntry(FAULTY));
          target.write(component.get().getBytes(StandardCharsets.UTF_8));
          String type = FaultyPredecessor.class.getName().replace('.', '/') + ".class";
          target.putNextEntry(new JarEntry(type));
          try (InputStream code = PackedPlugins.class.getClassLoader().getResourceAsStream(type)) {
            code.transferTo(target);
          }
        }
      }
    }
  }
}
