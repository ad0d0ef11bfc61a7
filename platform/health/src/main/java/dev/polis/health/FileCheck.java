package dev.polis.health;

import dev.polis.files.Stored;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Notices that a file of a working organ is missing, damaged or unreadable. The organ has read the
 * file and continues, but its next start reads it again.
 */
public final class FileCheck implements SelfCheck.Look {
  private static final String LOST = "file-lost";

  private static final String RESTORE = "restore it from a copy of this disk";

  private final String organ;
  private final Supplier<List<Stored<?>>> files;

  /** The files that were whole at an earlier look. */
  private final Set<Path> seen = new HashSet<>();

  private record Fault(String what, String remedy) {}

  /**
   * Creates a check.
   *
   * @param organ the owner of the files, the root of their faults
   * @param files reads the files that the next start needs, once they were written
   */
  public FileCheck(String organ, Supplier<List<Stored<?>>> files) {
    this.organ = organ;
    this.files = files;
  }

  @Override
  public Optional<HealthCondition> look() {
    List<Fault> faults = new ArrayList<>();
    for (Stored<?> file : files.get()) {
      Optional<Fault> fault = fault(file);
      if (fault.isEmpty()) {
        seen.add(file.path());
      } else if (seen.contains(file.path())) {
        faults.add(fault.get());
      }
    }
    return faults.isEmpty() ? Optional.empty() : Optional.of(condition(faults));
  }

  private static Optional<Fault> fault(Stored<?> file) {
    return switch (file) {
      case Stored.Present<?> _ -> Optional.empty();
      case Stored.None<?>(Path path) -> Optional.of(new Fault(path + " is not there", RESTORE));
      case Stored.Corrupted<?>(Path path, String reason) ->
          Optional.of(new Fault("%s is damaged (%s)".formatted(path, reason), RESTORE));
      case Stored.Unreadable<?>(Path _, String reason, var cause) ->
          Optional.of(new Fault(reason, cause.remedy()));
    };
  }

  private HealthCondition condition(List<Fault> faults) {
    return HealthCondition.degraded(
            LOST,
            "the node keeps running, but its next start fails: "
                + faults.stream().map(Fault::what).collect(Collectors.joining(", ")),
            String.join("; ", new LinkedHashSet<>(faults.stream().map(Fault::remedy).toList()))
                + ", before the node stops; find out which program changed it")
        .dueTo(organ);
  }
}
