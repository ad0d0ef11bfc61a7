package org.example.nightly;

import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.files.FilePlacement;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.process.ProcessManager;
import dev.polis.process.ProcessSpec;
import dev.polis.process.ProcessTask;
import dev.polis.process.ReadyProbe;
import dev.polis.supervision.Context;
import java.nio.charset.StandardCharsets;

/** Runs a program that waits for the night, with a folder of its own. */
public final class NightlyBackup implements RolePlugin {

  private static final OrganFolder FOLDER =
      new OrganFolder("nightly-backup", Mode.PRIVATE_DIRECTORY);

  private Storage storage;
  private ProcessManager processes;

  /** Declarative Services calls this. */
  void bindStorage(Storage service) {
    storage = service;
  }

  /** Declarative Services calls this. */
  void bindProcesses(ProcessManager service) {
    processes = service;
  }

  @Override
  public void run(Context context) throws Exception {
    FolderPlacement folder = storage.folder(FOLDER);
    FilePlacement journal = folder.declareFile("journal.txt", Mode.SECRET);
    journal.write("started\n".getBytes(StandardCharsets.UTF_8));
    context.run(
        "waiter",
        new ProcessTask(
            processes,
            ProcessSpec.of("nightly-backup", "/bin/sleep", "100000"),
            ReadyProbe.running(),
            LineConverter.raw()));
    context.healthy();
    try {
      context.awaitCancelled();
    } finally {
      String reason = context.stopReason().map(Enum::name).orElse("RESTARTED");
      journal.write((reason + "\n").getBytes(StandardCharsets.UTF_8));
    }
  }
}
