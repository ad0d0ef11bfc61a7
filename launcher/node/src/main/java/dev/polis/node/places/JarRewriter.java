package dev.polis.node.places;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import java.util.zip.Deflater;
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
      for (ZipEntry entry : Collections.list(from.entries())) {
        if (entry.getName().endsWith(".class")) {
          Optional<byte[]> with = classes.rewrite(content(from, entry));
          with.ifPresent(bytes -> changed.put(entry.getName(), bytes));
        }
      }
      if (changed.isEmpty()) {
        return 0;
      }
      replace(
          jar,
          from.stream(),
          Deflater.DEFAULT_COMPRESSION,
          (entry, to) -> {
            byte[] now = changed.get(entry.getName());
            to.write(now == null ? content(from, entry) : now);
          });
    }
    return changed.size();
  }

  /** Writes the content of an entry. */
  interface Writer {
    void write(ZipEntry entry, OutputStream to) throws IOException;
  }

  /** Replaces a jar by one with these entries, whose content may be another. */
  static void replace(Path jar, Stream<? extends ZipEntry> entries, int level, Writer content)
      throws IOException {
    FileTime time = Files.getLastModifiedTime(jar);
    Path next = jar.resolveSibling(jar.getFileName() + ".new");
    try (OutputStream file = Files.newOutputStream(next);
        ZipOutputStream to = new ZipOutputStream(file)) {
      to.setLevel(level);
      for (ZipEntry entry : entries.toList()) {
        ZipEntry copy = new ZipEntry(entry.getName());
        copy.setTimeLocal(entry.getTimeLocal());
        to.putNextEntry(copy);
        content.write(entry, to);
      }
    }
    Files.setLastModifiedTime(next, time);
    Files.move(next, jar, StandardCopyOption.REPLACE_EXISTING);
  }

  static byte[] content(ZipFile jar, ZipEntry entry) throws IOException {
    try (InputStream content = jar.getInputStream(entry)) {
      return content.readAllBytes();
    }
  }
}
