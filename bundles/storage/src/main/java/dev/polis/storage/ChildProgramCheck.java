package dev.polis.storage;

import dev.polis.health.HealthCondition;
import dev.polis.health.SelfCheck;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessRecord;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Reports child processes whose programs were removed: a process continues without its file, and
 * its next start fails.
 */
final class ChildProgramCheck implements SelfCheck.Look {

  private static final String GONE = "child-program-gone";

  private final ProcessManager processes;

  ChildProgramCheck(ProcessManager processes) {
    this.processes = processes;
  }

  @Override
  public Optional<HealthCondition> look() {
    String gone =
        processes.records().stream()
            .filter(record -> record.alive() && isGone(record))
            .map(record -> "%s (%s)".formatted(record.name(), record.command().getFirst()))
            .collect(Collectors.joining(", "));
    return gone.isEmpty() ? Optional.empty() : Optional.of(condition(gone));
  }

  private static boolean isGone(ProcessRecord record) {
    return record.command().stream()
        .limit(1)
        .map(Path::of)
        .anyMatch(program -> program.isAbsolute() && Files.notExists(program));
  }

  private static HealthCondition condition(String gone) {
    return HealthCondition.degraded(
        GONE,
        "the programs of these child processes were removed: %s; the processes work on, and cannot start again"
            .formatted(gone),
        "put the programs back at these paths, for example by installing their package again; for etcd: polis up --etcd DIR names another folder");
  }
}
