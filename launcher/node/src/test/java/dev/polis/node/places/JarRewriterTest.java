package dev.polis.node.places;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.Log;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogPlaces;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rewrites a jar with a class that logs in every way, and runs it. */
class JarRewriterTest {
  private static final String SAMPLE = "dev/polis/node/places/Sample.class";
  private static final byte[] RESOURCE = "text".getBytes(StandardCharsets.UTF_8);

  @TempDir Path folder;
  private final JarRewriter rewriter =
      new JarRewriter(new ClassRewriter(JarRewriterTest.class.getClassLoader()));
  private Path jar;

  @BeforeEach
  void pack() throws IOException {
    jar = folder.resolve("sample.jar");
    try (OutputStream file = Files.newOutputStream(jar);
        ZipOutputStream zip = new ZipOutputStream(file)) {
      zip.putNextEntry(new ZipEntry("META-INF/resource"));
      zip.write(RESOURCE);
      zip.putNextEntry(new ZipEntry(SAMPLE));
      zip.write(compiled());
    }
  }

  @Test
  @DisplayName("Rewritten code logs the same entries and places as code that walks the stack")
  void samePlaces() throws Exception {
    assertEquals(1, rewriter.rewrite(jar));

    List<String> walked = logged(new Sample());
    List<String> placed = rewritten();

    assertEquals(11, walked.size(), walked::toString);
    assertEquals(walked, placed);
  }

  @Test
  @DisplayName("No unrewritten log call is left, so that none walks the stack")
  void noneIsLeft() throws Exception {
    rewriter.rewrite(jar);
    byte[] now = entry(SAMPLE);

    assertTrue(text(now).contains("dev/polis/logtree/LogPlaces"));
    assertTrue(new ClassRewriter(getClass().getClassLoader()).rewrite(now).isEmpty());
    assertFalse(text(compiled()).contains("dev/polis/logtree/LogPlaces"), "it is the rewriter's");
  }

  @Test
  @DisplayName(
      "The class that takes places stays unchanged: otherwise it would call itself for ever")
  void notItself() throws Exception {
    try (InputStream in = LogPlaces.class.getResourceAsStream("LogPlaces.class")) {
      assertTrue(
          new ClassRewriter(getClass().getClassLoader()).rewrite(in.readAllBytes()).isEmpty());
    }
  }

  @Test
  @DisplayName("Other entries of a jar stay; a second run changes nothing, and times are kept")
  void onlyOnce() throws Exception {
    FileTime time = FileTime.from(Instant.parse("2026-01-02T03:04:05Z"));
    Files.setLastModifiedTime(jar, time);
    rewriter.rewrite(jar);
    byte[] once = Files.readAllBytes(jar);

    assertEquals(0, rewriter.rewrite(jar));

    assertArrayEquals(once, Files.readAllBytes(jar));
    assertArrayEquals(RESOURCE, entry("META-INF/resource"));
    assertEquals(time, Files.getLastModifiedTime(jar));
  }

  private List<String> rewritten() throws Exception {
    ClassLoader others =
        new ClassLoader(getClass().getClassLoader()) {
          @Override
          protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals(Sample.class.getName())) {
              throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
          }
        };
    try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, others)) {
      Class<?> type = loader.loadClass(Sample.class.getName());
      assertNotSame(Sample.class, type);
      @SuppressWarnings("unchecked")
      Consumer<Log> sample = (Consumer<Log>) type.getDeclaredConstructor().newInstance();
      return logged(sample);
    }
  }

  private static List<String> logged(Consumer<Log> sample) {
    LogTree tree = LogTree.create();
    sample.accept(tree.log("sample"));
    try (LogReader reader = tree.read(LogQuery.of("sample").backlogAll())) {
      return reader.backlog().stream().map(JarRewriterTest::line).toList();
    }
  }

  private static String line(LogEntry entry) {
    LogPayload.Leveled leveled = (LogPayload.Leveled) entry.payload();
    return leveled.severity() + " " + leveled.location() + " " + leveled.message();
  }

  private static byte[] compiled() throws IOException {
    try (InputStream in = Sample.class.getResourceAsStream("Sample.class")) {
      return in.readAllBytes();
    }
  }

  private byte[] entry(String name) throws IOException {
    try (ZipFile zip = new ZipFile(jar.toFile())) {
      return zip.getInputStream(zip.getEntry(name)).readAllBytes();
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }
}
