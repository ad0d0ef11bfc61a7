package dev.polis.plugins.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.polis.plugins.swap.organs.Marked;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.wiring.FrameworkWiring;

/** Loads the classes of a bundle in a real framework. */
@Timeout(60)
final class ClassPreloadTest {
  private static final String FOLDER = "dev/polis/plugins/swap/organs/";

  @Test
  @DisplayName(
      "the classes below a bundle's name are loaded, none of their code runs, and a broken one is"
          + " left to the activation")
  void classesAreLoaded(@TempDir Path folder) throws Exception {
    SwapFixture node = SwapFixture.start(folder);
    try {
      Bundle bundle = node.context().installBundle("preloaded", new ByteArrayInputStream(jar()));
      assertEquals(0, ClassPreload.load(bundle), "it is not resolved");
      node.context().getBundle(0).adapt(FrameworkWiring.class).resolveBundles(List.of(bundle));

      assertEquals(1, ClassPreload.load(bundle));

      assertNull(System.getProperty(Marked.PROPERTY));
      assertEquals(Bundle.RESOLVED, bundle.getState());
    } finally {
      node.close();
    }
  }

  /** Returns a bundle with a class, a file that is no class, and a class from another package. */
  private static byte[] jar() throws Exception {
    Manifest manifest = new Manifest();
    Attributes headers = manifest.getMainAttributes();
    headers.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    headers.putValue("Bundle-ManifestVersion", "2");
    headers.putValue("Bundle-SymbolicName", "dev.polis.plugins.swap.organs");
    headers.putValue("Bundle-Version", "1.0.0");
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JarOutputStream jar = new JarOutputStream(bytes, manifest)) {
      jar.putNextEntry(new JarEntry(FOLDER + "Marked.class"));
      copy(FOLDER + "Marked.class", jar);
      jar.putNextEntry(new JarEntry(FOLDER + "Broken.class"));
      jar.write(1);
      jar.putNextEntry(new JarEntry("dev/polis/plugins/swap/SwapFixture.class"));
      copy("dev/polis/plugins/swap/SwapFixture.class", jar);
    }
    return bytes.toByteArray();
  }

  private static void copy(String resource, JarOutputStream jar) throws Exception {
    try (InputStream in = ClassPreloadTest.class.getClassLoader().getResourceAsStream(resource)) {
      in.transferTo(jar);
    }
  }
}
