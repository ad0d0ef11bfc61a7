package dev.polis.ctl.node;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.cluster.CredentialHint;
import dev.polis.wire.cluster.Endpoint;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.cluster.StatusRequest;
import dev.polis.wire.cluster.StatusResponse;
import picocli.CommandLine.Command;

/** Groups the commands for etcd. */
@Command(name = "etcd", description = "Shows the cluster's etcd.")
@Subcommands({EtcdCommand.Members.class, EtcdCommand.Status.class})
public final class EtcdCommand {

  /** The members. */
  @Command(name = "members", description = "Lists the members of etcd.")
  static final class Members extends SessionCommand {
    private static final Rows<Member> ROWS =
        new Rows<Member>()
            .column("ID", "id", member -> Long.toHexString(member.getId()))
            .column("NAME", "name", Member::getName)
            .column("ROLE", "role", member -> member.getLearner() ? "learner" : "voter")
            .column("CLIENTS", "clientUrls", Member::getClientUrlsList)
            .column("PEERS", "peerUrls", Member::getPeerUrlsList);

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      MembersRequest request = MembersRequest.getDefaultInstance();
      return print(
          ROWS.document(session.call(() -> session.etcd().members(request)).getMembersList()));
    }
  }

  /** Sizes, leader, and how to use etcdctl. */
  @Command(
      name = "status",
      description = "Shows etcd's leader and sizes, and the credentials for etcdctl.")
  static final class Status extends SessionCommand {

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      StatusResponse status =
          session.call(() -> session.etcd().status(StatusRequest.getDefaultInstance()));
      print(rows(commandLine(status)).document(status.getEndpointsList()));
      if (options().output.isForPeople()) {
        out().printf("%nOn that node, etcdctl can look inside with:%n  %s%n", commandLine(status));
      }
      return ExitCode.OK;
    }

    private static Rows<Endpoint> rows(String etcdctl) {
      return new Rows<Endpoint>()
          .column("ENDPOINT", "endpoint", Endpoint::getUrl)
          .field("name", Endpoint::getName)
          .column("VERSION", "version", Endpoint::getVersion)
          .column("LEADER", "leader", endpoint -> Long.toHexString(endpoint.getLeader()))
          .column("REVISION", "revision", Endpoint::getRevision)
          .column("DB BYTES", "dbBytes", Endpoint::getDbSize)
          .column("IN USE", "dbBytesInUse", Endpoint::getDbSizeInUse)
          .wide("TERM", "raftTerm", Endpoint::getRaftTerm)
          .wide("INDEX", "raftIndex", Endpoint::getRaftIndex)
          .column("ERROR", "error", Endpoint::getError)
          .field("etcdctl", _ -> etcdctl);
    }

    private static String commandLine(StatusResponse status) {
      String endpoint = status.getEndpointsCount() == 0 ? "" : status.getEndpoints(0).getUrl();
      CredentialHint hint =
          status.getCredentialsCount() == 0
              ? CredentialHint.getDefaultInstance()
              : status.getCredentials(0);
      return "etcdctl --endpoints=%s --cacert=%s --cert=%s --key=%s get --prefix --keys-only ''"
          .formatted(endpoint, hint.getCaPath(), hint.getCertificatePath(), hint.getKeyPath());
    }
  }
}
