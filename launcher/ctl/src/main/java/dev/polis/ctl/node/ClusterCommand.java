package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.owner.OwnerCertificate;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.pki.Fingerprint;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Groups the commands for the whole cluster. */
@Command(name = "cluster", description = "Shows the cluster.", mixinStandardHelpOptions = true)
@Subcommands(ClusterCommand.InfoCommand.class)
public final class ClusterCommand {

  @ParentCommand CtlRoot ctl;

  /** Configuration, certificate and directory. */
  @Command(
      name = "info",
      description = "Shows the cluster's configuration, certificate and directory.",
      mixinStandardHelpOptions = true)
  static final class InfoCommand implements Callable<Integer> {
    @ParentCommand ClusterCommand cluster;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(cluster.ctl.options)) {
        GetClusterInfoResponse info =
            session.call(
                () ->
                    session
                        .management()
                        .getClusterInfo(GetClusterInfoRequest.getDefaultInstance()));
        cluster.ctl.options.output.print(document(info), spec.commandLine().getOut());
        return ExitCode.OK.code();
      }
    }

    private static String curators(JsonObject row) {
      return row.getAsJsonArray("directory").asList().stream()
          .map(node -> Document.plain(node.getAsJsonObject().get("addresses")))
          .collect(Collectors.joining(","));
    }

    static Document document(GetClusterInfoResponse info) {
      var configuration = info.getClusterConfiguration();
      JsonObject row = new JsonObject();
      row.addProperty("domain", configuration.getClusterDomain());
      row.addProperty("tpmMode", configuration.getTpmMode().name());
      row.addProperty("storageSecurityPolicy", configuration.getStorageSecurityPolicy().name());
      row.addProperty(
          "caFingerprint",
          Fingerprint.of(OwnerCertificate.answered(info.getCaCertificate())).hex());
      JsonArray nodes = new JsonArray();
      info.getClusterDirectory()
          .getNodesList()
          .forEach(
              node -> {
                JsonObject entry = new JsonObject();
                entry.addProperty("id", node.getId());
                JsonArray addresses = new JsonArray();
                node.getAddressesList().forEach(address -> addresses.add(address.getHost()));
                entry.add("addresses", addresses);
                nodes.add(entry);
              });
      row.add("directory", nodes);
      return Document.single(
          row,
          Column.of("DOMAIN", "domain"),
          Column.of("TPM", "tpmMode"),
          Column.of("STORAGE", "storageSecurityPolicy"),
          Column.of("CA", "caFingerprint"),
          new Column("CURATORS", InfoCommand::curators, false));
    }
  }
}
