package dev.polis.cluster.it;

import dev.polis.cluster.it.organs.FaultyOrgan;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/**
 * Makes signed versions of a small organ: one works, each of the others fails in its own way.
 *
 * @param node that trusts the key
 * @param folder the folder for the versions
 * @param key that signs them
 */
record FaultyPlugins(TestNode node, Path folder, Path key) {
  /** The symbolic name that all versions share. */
  static final String NAME = "dev.polis.faulty";

  /** The behaviour of the working version. */
  static final String WELL = "well";

  /** Makes a key and adds it to the trusted keys of a node's cluster, whose ownership was taken. */
  static FaultyPlugins of(TestNode node, Path folder) throws IOException {
    Path key = Files.createDirectories(folder).resolve("faulty-key.pem");
    node.ctl("plugin", "key", "make", key.toString()).requireSuccess("no key for plugins");
    node.ctl("plugin", "trust", "add", "faulty", key + ".pub")
        .requireSuccess("the key is not trusted");
    return new FaultyPlugins(node, folder, key);
  }

  /** Returns the file whose existence ends the loops and the threads of all versions. */
  Path end() {
    return folder.resolve("end");
  }

  /**
   * Returns a signed version.
   *
   * @param behaviour how it fails; see {@link FaultyOrgan}
   * @param options further options of "plugin pack"
   */
  Path version(String version, String behaviour, String... options) throws IOException {
    return signed(unsigned(version, behaviour, ""), options);
  }

  /** Returns a signed version that imports one more package. */
  Path importing(String version, String imported) throws IOException {
    return signed(unsigned(version, WELL, "," + imported));
  }

  /** Signs a bundle again. */
  Path signed(Path jar, String... options) {
    List<String> command =
        new ArrayList<>(List.of("plugin", "pack", jar.toString(), "--key", key.toString()));
    command.addAll(List.of("--organ", "faulty"));
    command.addAll(List.of(options));
    node.ctl(command.toArray(String[]::new)).requireSuccess("cannot pack " + jar);
    return jar;
  }

  private Path unsigned(String version, String behaviour, String imported) throws IOException {
    Path jar = folder.resolve("faulty-%s-%s.jar".formatted(version, behaviour));
    if (Files.exists(jar)) {
      // A second build would have another time, and so be another bundle.
      return jar;
    }
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", NAME);
    headers.putValue("Bundle-Version", version);
    headers.putValue("Import-Package", "org.osgi.framework,dev.polis.health" + imported);
    headers.putValue("Service-Component", "OSGI-INF/component.xml");
    try (OutputStream file = Files.newOutputStream(jar);
        JarOutputStream out = new JarOutputStream(file, manifest)) {
      String type = FaultyOrgan.class.getName().replace('.', '/') + ".class";
      out.putNextEntry(new JarEntry(type));
      try (InputStream in = FaultyOrgan.class.getClassLoader().getResourceAsStream(type)) {
        in.transferTo(out);
      }
      out.putNextEntry(new JarEntry("OSGI-INF/component.xml"));
      out.write(component(behaviour).getBytes(StandardCharsets.UTF_8));
    }
    return jar;
  }

  private String component(String behaviour) {
    return """
        <scr:component xmlns:scr="http://www.osgi.org/xmlns/scr/v1.4.0" name="%s" immediate="true"
            activate="activate" deactivate="deactivate">
          <implementation class="%s"/>
          <reference name="health" interface="dev.polis.health.HealthRegistry"/>
          <property name="behaviour" value="%s"/>
          <property name="end" value="%s"/>
        </scr:component>"""
        .formatted(NAME, FaultyOrgan.class.getName(), behaviour, end());
  }

  /** Ends the loops and threads that versions left behind. */
  void endAll() {
    try {
      Files.createFile(end());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
