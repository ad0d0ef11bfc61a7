package dev.polis.process;

import dev.polis.files.AtomicFile;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Path;
import java.util.List;

/** Records child processes, which end with the power; their records must not prevent a start. */
final class RecordScenario implements PowerScenario {

  @Override
  public List<Step> steps() {
    return List.of(
        root -> {
          files(root).create();
          AtomicFile.force(root);
        },
        root -> files(root).write(record("etcd", ProcessRecord.State.INTENT)),
        root -> files(root).write(record("etcd", ProcessRecord.State.STARTED)));
  }

  private static ProcessFiles files(Path root) {
    return new ProcessFiles(root.resolve("processes"));
  }

  private static ProcessRecord record(String name, ProcessRecord.State state) {
    return new ProcessRecord(
        name, "digest", "token", state, 1, 1, "another boot", 1, 1, List.of(name), StopSignal.TERM);
  }

  @Override
  public String observe(Path root) {
    return files(root).readAll().stream()
        .map(each -> each.name() + " " + each.state())
        .toList()
        .toString();
  }
}
