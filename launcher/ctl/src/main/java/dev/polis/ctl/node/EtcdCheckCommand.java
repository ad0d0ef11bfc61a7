package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.ExitCode;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Checks a snapshot without a node. */
@Command(
    name = "check",
    description = {
      "Checks whether a snapshot is whole, by its hash, and prints the command that restores it.",
      "Exit code 5 if it is not. It asks no node."
    })
final class EtcdCheckCommand extends CtlCommand {

  @Parameters(paramLabel = "FILE", description = "the snapshot")
  Path file;

  @Override
  protected ExitCode run() {
    String hash = EtcdSnapshotFile.check(file);
    JsonObject result = new JsonObject();
    result.addProperty("whole", true);
    result.addProperty("sha256", hash);
    return print(
        "%s is whole (SHA-256 %s). On the one node that is to keep the records, while it is down: ./polis up --force-new-cluster ID --restore %s, with the id that 'etcd members' showed; the refusal of another id names the right one"
            .formatted(file, hash, CtlName.quoted(file)),
        result);
  }
}
