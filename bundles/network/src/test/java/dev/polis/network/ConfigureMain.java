package dev.polis.network;

import com.google.protobuf.TextFormat;
import dev.polis.base.boot.StopReason;
import dev.polis.files.layout.Root;
import dev.polis.handover.OrganState;
import dev.polis.health.HealthTable;
import dev.polis.logtree.LogTree;
import dev.polis.process.ProcessManager;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.net.Net;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Runs the network organ once, in the network namespace of this process. */
final class ConfigureMain {
  private ConfigureMain() {}

  /**
   * Prints the status of the network, or the refusal.
   *
   * @param arguments state directory, address, true or false for manage, resolver file, and a
   *     configuration in the text format, or none, so that the organ applies the stored one
   */
  public static void main(String[] arguments) throws Exception {
    Root root = Root.at(Path.of(arguments[0]));
    root.esp().create();
    root.ephemeral().create();
    NetworkSettings settings =
        new NetworkSettings(
            arguments[1],
            Boolean.parseBoolean(arguments[2]),
            Path.of(arguments[3]),
            "",
            false,
            List.of());
    LogTree logs = LogTree.create();
    try (SupervisionTree tree = SupervisionTree.open(logs)) {
      NetworkService service =
          new NetworkService(
              settings,
              new NetworkService.Parts(
                  root,
                  tree,
                  HealthTable.open(tree),
                  ProcessManager.open(root.ephemeral().processes().path(), logs),
                  logs),
              OrganState.NONE);
      if (arguments.length > 4) {
        Net.Builder net = Net.newBuilder();
        TextFormat.merge(Files.readString(Path.of(arguments[4])), net);
        service.configure(net.build());
      }
      System.out.println(service.status().peek().orElseThrow());
      service.close(StopReason.CODE_REPLACED);
    } catch (RuntimeException refused) {
      System.out.println(refused.getMessage());
    }
  }
}
