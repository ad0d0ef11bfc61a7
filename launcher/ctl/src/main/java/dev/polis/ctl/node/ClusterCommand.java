package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.ctl.owner.OwnerCertificate;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.pki.Fingerprint;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.common.ClusterDirectory;
import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;

/** Groups the commands for the whole cluster. */
@Command(
    name = "cluster",
    description = "Shows the cluster, and changes its ticket and its demands of machines.")
@Subcommands({
  ClusterCommand.InfoCommand.class,
  ClusterTicketCommand.class,
  ClusterAttestationCommand.class
})
public final class ClusterCommand {

  /** Configuration, certificate and directory. */
  @Command(
      name = "info",
      description = "Shows the cluster's configuration, certificate and directory.")
  static final class InfoCommand extends SessionCommand {
    private static final Rows<ClusterDirectory.Node> NODES =
        new Rows<ClusterDirectory.Node>()
            .field("id", ClusterDirectory.Node::getId)
            .field("addresses", InfoCommand::addresses);

    private static final Rows<GetClusterInfoResponse> ROWS =
        new Rows<GetClusterInfoResponse>()
            .column("DOMAIN", "domain", info -> info.getClusterConfiguration().getClusterDomain())
            .column("TPM", "tpmMode", info -> info.getClusterConfiguration().getTpmMode())
            .column(
                "STORAGE",
                "storageSecurityPolicy",
                info -> info.getClusterConfiguration().getStorageSecurityPolicy())
            .column(
                "CA",
                "caFingerprint",
                info -> Fingerprint.of(OwnerCertificate.answered(info.getCaCertificate())).hex())
            .field("directory", info -> NODES.json(info.getClusterDirectory().getNodesList()))
            .column(new Column("CURATORS", InfoCommand::curators, false));

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      GetClusterInfoRequest request = GetClusterInfoRequest.getDefaultInstance();
      return print(ROWS.single(session.call(() -> session.management().getClusterInfo(request))));
    }

    private static List<String> addresses(ClusterDirectory.Node node) {
      return node.getAddressesList().stream().map(ClusterDirectory.Node.Address::getHost).toList();
    }

    private static String curators(JsonObject row) {
      return row.getAsJsonArray("directory").asList().stream()
          .map(node -> Document.plain(node.getAsJsonObject().get("addresses")))
          .collect(Collectors.joining(","));
    }
  }
}
