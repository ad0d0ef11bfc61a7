package dev.polis.node;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.regex.Pattern;

/**
 * Copies a library to the class path, without its signature: the class loader would check it at
 * each start, and the AOT cache takes nothing out of a signed archive. Whether the files are the
 * right ones is the build's to check, by the digests of its repository.
 */
final class ClassPathJar {
  private static final Pattern SIGNATURE = Pattern.compile("META-INF/[^/]+\\.(SF|RSA|DSA|EC)");

  private ClassPathJar() {}

  static void copy(Path from, Path to) throws IOException {
    try (JarFile jar = new JarFile(from.toFile(), false)) {
      boolean signed = jar.stream().anyMatch(entry -> isSignature(entry.getName()));
      if (signed) {
        copyUnsigned(jar, to);
        Files.setLastModifiedTime(to, Files.getLastModifiedTime(from));
        return;
      }
    }
    Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
  }

  private static void copyUnsigned(JarFile jar, Path to) throws IOException {
    Manifest manifest = new Manifest();
    // Its other sections are the digests that the signature vouches for.
    manifest.getMainAttributes().putAll(jar.getManifest().getMainAttributes());
    try (OutputStream file = Files.newOutputStream(to);
        JarOutputStream out = new JarOutputStream(file, manifest)) {
      for (JarEntry entry : (Iterable<JarEntry>) jar.stream()::iterator) {
        if (entry.getName().equals(JarFile.MANIFEST_NAME) || isSignature(entry.getName())) {
          continue;
        }
        JarEntry copy = new JarEntry(entry.getName());
        copy.setTime(entry.getTime());
        out.putNextEntry(copy);
        jar.getInputStream(entry).transferTo(out);
      }
    }
  }

  private static boolean isSignature(String name) {
    return SIGNATURE.matcher(name).matches();
  }
}
