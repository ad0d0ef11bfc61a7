package dev.polis.health;

import dev.polis.files.FilePlacement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Notices that a file has a mode with more rights than the node gave it. */
public final class ModeCheck implements SelfCheck.Look {
  private static final String OPEN = "file-open";

  private final String organ;
  private final List<FilePlacement> files;

  /**
   * Creates a check.
   *
   * @param organ the owner of the files, the root of their faults
   * @param files the files; a missing one has no mode, and no fault here
   */
  public ModeCheck(String organ, List<FilePlacement> files) {
    this.organ = organ;
    this.files = List.copyOf(files);
  }

  @Override
  public Optional<HealthCondition> look() {
    return files.stream().flatMap(file -> look(file).stream()).findFirst();
  }

  private Optional<HealthCondition> look(FilePlacement file) {
    try {
      Set<PosixFilePermission> allowed = Files.getPosixFilePermissions(file.path());
      return file.mode().permissions().containsAll(allowed)
          ? Optional.empty()
          : Optional.of(open(file, allowed));
    } catch (IOException missing) {
      // FileCheck reports a file that is missing or unreadable.
      return Optional.empty();
    }
  }

  private HealthCondition open(FilePlacement file, Set<PosixFilePermission> allowed) {
    return HealthCondition.degraded(
            OPEN,
            "%s has the mode %s instead of %s: only the folders above can keep other accounts from it"
                .formatted(
                    file,
                    PosixFilePermissions.toString(allowed),
                    PosixFilePermissions.toString(file.mode().permissions())),
            "chmod %o %s; 'namei -l %s' shows whether the folders let other accounts pass, and 'polisctl explain %s' what to do if they did"
                .formatted(number(file.mode().permissions()), file, file, OPEN))
        .dueTo(organ);
  }

  /** Returns a mode as the number that chmod takes. */
  private static int number(Set<PosixFilePermission> permissions) {
    // The constants stand in the order of the bits, the highest first.
    return permissions.stream()
        .mapToInt(
            permission -> 1 << (PosixFilePermission.values().length - 1 - permission.ordinal()))
        .sum();
  }
}
