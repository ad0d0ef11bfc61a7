package dev.polis.health;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Notices that a folder of a working organ is missing. A program with open files continues without
 * a fault, but the next start will not find its data.
 */
public final class FolderCheck implements SelfCheck.Look {
  private static final String GONE = "folder-gone";

  private final String organ;
  private final Supplier<List<Path>> folders;
  private final String ifDeleted;

  /** The folders that existed at an earlier look. */
  private final Set<Path> seen = new LinkedHashSet<>();

  /**
   * Creates a check.
   *
   * @param organ the owner of the folders, the root of their faults
   * @param folders returns the folders that must exist, once they were made
   * @param ifDeleted the remedy for a deleted one, as an imperative clause
   */
  public FolderCheck(String organ, Supplier<List<Path>> folders, String ifDeleted) {
    this.organ = organ;
    this.folders = folders;
    this.ifDeleted = ifDeleted;
  }

  @Override
  public Optional<HealthCondition> look() {
    List<Path> now = folders.get();
    seen.retainAll(now);
    now.stream().filter(Files::isDirectory).forEach(seen::add);
    String gone =
        seen.stream()
            .filter(folder -> !Files.isDirectory(folder))
            .map(Path::toString)
            .collect(Collectors.joining(", "));
    return gone.isEmpty()
        ? Optional.empty()
        : Optional.of(
            HealthCondition.degraded(
                    GONE,
                    "gone while the node runs: %s; programs with open files there keep writing, and the next start does not find those files"
                        .formatted(gone),
                    "rename it back if it was renamed: nothing is lost yet; if it was deleted: "
                        + ifDeleted)
                .dueTo(organ));
  }
}
