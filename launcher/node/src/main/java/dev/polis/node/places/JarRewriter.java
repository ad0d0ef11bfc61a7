package dev.polis.node.places;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Rewrites the classes of jars, in place. A jar that is rewritten once more stays as it is, and so
 * does its time of change, by which others know whether it is another one.
 *
 * @param classes rewrites a class
 */
record JarRewriter(ClassRewriter classes) {
  /**
   * Rewrites a jar.
   *
   * @return how many classes were changed
   * @throws IOException if it can not be read or replaced
   */
  int rewrite(Path jar) throws IOException {
    Map<String, byte[]> changed = new LinkedHashMap<>();
    try (ZipFile from = new ZipFile(jar.toFile())) {
      for (Enumeration<? extends ZipEntry> all = from.entries(); all.hasMoreElements(); ) {
        ZipEntry entry = all.nextElement();
        if (entry.getName().endsWith(".class")) {
          Optional<byte[]> with = classes.rewrite(content(from, entry));
          with.ifPresent(bytes -> changed.put(entry.getName(), bytes));
        }
      }
      if (changed.isEmpty()) {
        return 0;
      }
      replace(jar, from, changed);
    }
    return changed.size();
  }

  private static void replace(Path jar, ZipFile from, Map<String, byte[]> changed)
      throws IOException {
    FileTime time = Files.getLastModifiedTime(jar);
    Path next = jar.resolveSibling(jar.getFileName() + ".new");
    try (OutputStream file = Files.newOutputStream(next);
        ZipOutputStream to = new ZipOutputStream(file)) {
      for (Enumeration<? extends ZipEntry> all = from.entries(); all.hasMoreElements(); ) {
        ZipEntry entry = all.nextElement();
        ZipEntry copy = new ZipEntry(entry.getName());
        copy.setTimeLocal(entry.getTimeLocal());
        to.putNextEntry(copy);
        byte[] now = changed.get(entry.getName());
        to.write(now == null ? content(from, entry) : now);
      }
    }
    Files.setLastModifiedTime(next, time);
    Files.move(next, jar, StandardCopyOption.REPLACE_EXISTING);
  }

  private static byte[] content(ZipFile jar, ZipEntry entry) throws IOException {
    return jar.getInputStream(entry).readAllBytes();
  }
}
