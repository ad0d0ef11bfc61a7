package dev.polis.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Finds the jars of a running JVM that were changed, replaced or removed since it began to read
 * them. The JVM then fails to load further classes from them, while what it has loaded works on.
 * Belongs to one thread.
 */
public final class ProgramFiles {

  private static final String JAR = ".jar";
  private static final String GONE = "is gone";
  private static final String CHANGED = "has changed";

  private final Path process;

  /** The attributes of each jar when it was first seen. */
  private final Map<Path, String> seen = new TreeMap<>();

  /**
   * @param process the folder of the JVM's process below {@code /proc}
   */
  public ProgramFiles(Path process) {
    this.process = process;
  }

  /**
   * Returns the jars that have changed since this method first saw them, such as {@code
   * /srv/polis/lib/x.jar has changed}.
   *
   * @throws IOException if the command line of the process cannot be read
   */
  public List<String> changed() throws IOException {
    List<Path> all = new ArrayList<>(classPath());
    // The file of a bundle that a swap has replaced is no more the process's.
    OpenFiles.of(process).stream().map(Path::of).filter(ProgramFiles::isJar).forEach(all::add);
    seen.keySet().retainAll(all);
    List<String> changed = new ArrayList<>();
    for (Path jar : all.stream().distinct().sorted().toList()) {
      String now = attributes(jar);
      if (!seen.computeIfAbsent(jar, _ -> now).equals(now)) {
        changed.add("%s %s".formatted(jar, now.equals(GONE) ? GONE : CHANGED));
      }
    }
    return changed;
  }

  /**
   * Returns the jars of the class path that have changed since a moment, in the same words.
   *
   * @throws IOException if the command line of the process cannot be read
   */
  public List<String> changedSince(FileTime start) throws IOException {
    List<String> changed = new ArrayList<>();
    for (Path jar : classPath()) {
      if (!Files.exists(jar)) {
        changed.add(jar + " " + GONE);
      } else if (((FileTime) Files.getAttribute(jar, "unix:ctime")).compareTo(start) > 0) {
        changed.add(jar + " " + CHANGED);
      }
    }
    return changed;
  }

  /** Names the first of the changed jars and counts the others. */
  public static String text(List<String> changed) {
    return changed.size() == 1
        ? changed.getFirst()
        : "%s, and %d more".formatted(changed.getFirst(), changed.size() - 1);
  }

  /** Returns the jars that the command line names one by one. */
  private List<Path> classPath() throws IOException {
    String line =
        new String(Files.readAllBytes(process.resolve("cmdline")), StandardCharsets.UTF_8);
    List<String> words = List.of(line.split("\0"));
    int option = words.indexOf("-cp");
    return option < 0 || option + 1 == words.size()
        ? List.of()
        : List.of(words.get(option + 1).split(":")).stream()
            .map(Path::of)
            .filter(ProgramFiles::isJar)
            .toList();
  }

  private static boolean isJar(Path file) {
    return file.toString().endsWith(JAR) && file.isAbsolute();
  }

  private static String attributes(Path jar) {
    try {
      Map<String, Object> now = Files.readAttributes(jar, "unix:ino,size,lastModifiedTime");
      return new TreeMap<>(now).toString();
    } catch (IOException gone) {
      return GONE;
    }
  }
}
