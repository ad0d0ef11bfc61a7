package dev.polis.node;

import dev.polis.node.exit.Refusal;
import dev.polis.plugins.store.CheckedNotes;
import dev.polis.plugins.store.Digest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares the jars of the class path, {@code lib/}, with the digests that the build wrote down.
 *
 * <p>It finds damage: a jar that a disk or a copy has changed, one that is missing, and one that no
 * build put there. It does not find an attacker who may write the distribution, since he can write
 * the list, too.
 *
 * @param distribution a built one
 */
record LibraryDigests(Path distribution) {
  private static final String LIST = "libraries.list";

  /** A check that runs beside the start. */
  static final class Check implements AutoCloseable {
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private final Future<Void> result;

    private Check(LibraryDigests digests, CheckedNotes notes) {
      result =
          thread.submit(
              () -> {
                digests.check(notes);
                return null;
              });
    }

    /**
     * Waits for the end of the check.
     *
     * @throws Refusal if the libraries are not those of the build
     */
    void await() throws Refusal, IOException, InterruptedException {
      try {
        result.get();
      } catch (ExecutionException e) {
        switch (e.getCause()) {
          case Refusal damaged -> throw damaged;
          case IOException unreadable -> throw unreadable;
          default -> throw new IllegalStateException(e.getCause());
        }
      }
    }

    @Override
    public void close() {
      thread.shutdownNow();
    }
  }

  /**
   * Writes the list from what is there; a step of the build.
   *
   * @throws IOException if a jar can not be read, or the list not written
   */
  void write() throws IOException {
    List<String> lines = new ArrayList<>();
    for (Path jar : jars()) {
      lines.add(Digest.of(jar) + " " + jar.getFileName());
    }
    Files.write(distribution.resolve(LIST), lines);
  }

  /**
   * Begins a check on a thread of its own: after a build it takes a third of a second of one core,
   * later 20 ms.
   *
   * @param notes where it is remembered which files were compared
   */
  Check start(CheckedNotes notes) {
    return new Check(this, notes);
  }

  /**
   * Compares.
   *
   * @throws Refusal if a jar is damaged, missing or not of this build; it names the file
   * @throws IOException if the notes can not be written
   */
  void check(CheckedNotes notes) throws Refusal, IOException {
    Map<String, Digest> listed = Distribution.digests(distribution.resolve(LIST));
    Map<String, Digest> missing = new TreeMap<>(listed);
    for (Path jar : jars()) {
      Digest digest = missing.remove(jar.getFileName().toString());
      if (digest == null) {
        throw refusal(jar + " is not of this build", "remove it, or build the distribution again");
      }
      if (notes.agrees(digest, jar)) {
        continue;
      }
      if (!Digest.of(jar).equals(digest)) {
        throw refusal(jar + " is damaged: its digest is not the listed one", Distribution.AGAIN);
      }
      notes.note(digest, jar);
    }
    if (!missing.isEmpty()) {
      throw refusal(
          "%s lacks %s".formatted(folder(), String.join(", ", missing.keySet())),
          Distribution.AGAIN);
    }
    Set<String> digests = listed.values().stream().map(Digest::hex).collect(Collectors.toSet());
    notes.keep(digests::contains);
  }

  private List<Path> jars() throws IOException {
    if (!Files.exists(folder())) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(folder())) {
      return files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    }
  }

  private Path folder() {
    return distribution.resolve("lib");
  }

  private static Refusal refusal(String what, String next) {
    return new Refusal(what + "; " + next);
  }
}
