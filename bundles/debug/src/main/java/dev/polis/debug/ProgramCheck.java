package dev.polis.debug;

import dev.polis.health.HealthCondition;
import dev.polis.process.ProgramFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Reports that jars of the node's program are no more those with which its process started: it can
 * then load no more classes from them. Nothing tells damage from a new build, so it blames none.
 */
final class ProgramCheck {
  private static final String CHANGED = "program-changed";

  private final ProgramFiles files;

  /**
   * @param process the folder of the process below {@code /proc}
   */
  ProgramCheck(Path process) {
    this.files = new ProgramFiles(process);
  }

  /** Reports jars that have changed since the first look. */
  Optional<HealthCondition> look() throws IOException {
    List<String> changed = files.changed();
    return changed.isEmpty() ? Optional.empty() : Optional.of(condition(changed));
  }

  private static HealthCondition condition(List<String> changed) {
    return HealthCondition.degraded(
        CHANGED,
        "the node's program has changed on the disk since its process started: %s; the process works on with what it has loaded, and can fail where it needs more of it"
            .formatted(ProgramFiles.text(changed)),
        "copy the release, or build the checkout, whole again if that is not done; then './polis down' and './polis up' start the node with it; its data are unharmed");
  }
}
