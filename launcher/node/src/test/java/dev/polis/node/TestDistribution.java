package dev.polis.node;

import dev.polis.node.organs.TestOrgan;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.apache.felix.cm.PersistenceManager;

/**
 * Builds a distribution of three organs, storage, cluster and kubernetes, each of which needs the
 * one before.
 */
public final class TestDistribution {
  private final Path folder;
  private final String version;

  public TestDistribution(Path folder) throws IOException {
    this(folder, "1.0.0");
  }

  /** Builds a distribution whose organs have this version. */
  TestDistribution(Path folder, String version) throws IOException {
    this.folder = folder;
    this.version = version;
    Files.createDirectories(folder.resolve("bundles"));
    Files.copy(configAdmin(), folder.resolve("bundles").resolve("configadmin.jar"));
    organ("storage", "", "");
    organ("cluster", "storage", metatype());
    organ("kubernetes", "cluster", "");
    new Distribution(folder).seal();
  }

  Path folder() {
    return folder;
  }

  public Path bundle(String name) {
    return folder.resolve("bundles").resolve("dev.polis." + name + ".jar");
  }

  private void organ(String name, String needs, String metatype) throws IOException {
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", "dev.polis." + name);
    headers.putValue("Bundle-Version", version);
    headers.putValue("Bundle-Activator", TestOrgan.class.getName());
    headers.putValue("Import-Package", "org.osgi.framework,dev.polis.base.boot");
    headers.putValue(
        "Provide-Capability", "osgi.service;objectClass:List<String>=\"api." + name + "\"");
    if (!needs.isEmpty()) {
      headers.putValue(
          "Require-Capability",
          "osgi.service;filter:=\"(objectClass=api." + needs + ")\";effective:=active");
    }
    try (OutputStream out = Files.newOutputStream(bundle(name));
        JarOutputStream jar = new JarOutputStream(out, manifest)) {
      for (String simple : List.of("TestOrgan", "PinnedCarriers")) {
        String type = TestOrgan.class.getPackageName().replace('.', '/') + "/" + simple + ".class";
        jar.putNextEntry(new JarEntry(type));
        try (InputStream in = TestOrgan.class.getClassLoader().getResourceAsStream(type)) {
          in.transferTo(jar);
        }
      }
      if (!metatype.isEmpty()) {
        jar.putNextEntry(new JarEntry("OSGI-INF/metatype/cluster.xml"));
        jar.write(metatype.getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  static String metatype() {
    return """
    <?xml version="1.0" encoding="UTF-8"?>
    <metatype:MetaData xmlns:metatype="http://www.osgi.org/xmlns/metatype/v1.4.0">
      <OCD id="dev.polis.cluster" name="Cluster">
        <AD id="parameters" type="String" cardinality="0" default="" description="a file"/>
        <AD id="port" type="Integer" cardinality="0" default="1" min="1" max="65535"/>
        <AD id="quota.bytes" type="Long" cardinality="0"/>
        <AD id="strict" type="Boolean" cardinality="0"/>
        <AD id="console" type="String" cardinality="2147483647"/>
      </OCD>
      <Designate pid="dev.polis.cluster">
        <Object ocdref="dev.polis.cluster"/>
      </Designate>
    </metatype:MetaData>
    """;
  }

  private static Path configAdmin() {
    try {
      return Path.of(
          PersistenceManager.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
