package dev.polis.ctl.node;

import com.google.gson.JsonPrimitive;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.cluster.CredentialHint;
import dev.polis.wire.cluster.Endpoint;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.cluster.MembersResponse;
import dev.polis.wire.cluster.StatusRequest;
import dev.polis.wire.cluster.StatusResponse;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import picocli.CommandLine.Command;

/** Groups the commands for etcd. */
@Command(
    name = "etcd",
    description = {
      "Shows, saves and maintains the etcd that keeps the cluster's records.",
      "The asked node answers through its own member, also while etcd has no quorum."
    })
@Subcommands({
  EtcdCommand.Members.class,
  EtcdCommand.Status.class,
  EtcdSnapshotCommand.class,
  EtcdCheckCommand.class,
  EtcdDefragCommand.class,
  EtcdAlarmCommand.class
})
public final class EtcdCommand {

  /** Returns an id in the form of etcd's own tools. */
  static String hex(long id) {
    return Long.toHexString(id);
  }

  /** The members. */
  @Command(
      name = "members",
      description = {
        "Lists the members of etcd, the leader, and how far each member is.",
        "A member that does not answer within 2 s is named. LAG counts the entries that another"
            + " member has committed and this one's records lack."
      })
  static final class Members extends SessionCommand {
    private static Rows<Member> rows(String cluster) {
      return new Rows<Member>()
          .column("ID", "id", member -> hex(member.getId()))
          .column("NAME", "name", Member::getName)
          .column("ROLE", "role", member -> member.getLearner() ? "learner" : "voter")
          .column("LEADER", "leader", answered(Member::getLeader))
          .column("TERM", "raftTerm", answered(Member::getRaftTerm))
          .column("INDEX", "raftIndex", answered(Member::getRaftIndex))
          .column("LAG", "lag", answered(Member::getLag))
          .wide("APPLIED", "raftAppliedIndex", answered(Member::getRaftAppliedIndex))
          .wide("CLIENTS", "clientUrls", Member::getClientUrlsList)
          .column("PEERS", "peerUrls", Member::getPeerUrlsList)
          .field("error", Member::getError)
          .field("clusterId", _ -> cluster);
    }

    private static Function<Member, Optional<JsonPrimitive>> answered(Function<Member, ?> value) {
      return member ->
          member.getError().isEmpty()
              ? Optional.of(Rows.element(value.apply(member)).getAsJsonPrimitive())
              : Optional.empty();
    }

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      MembersResponse response =
          session.call(() -> session.etcd().members(MembersRequest.getDefaultInstance()));
      String cluster = hex(response.getClusterId());
      print(rows(cluster).document(response.getMembersList()));
      if (options().output.isForPeople()) {
        out().printf("%nThis is etcd's cluster %s.%n", cluster);
      }
      response.getMembersList().stream()
          .filter(member -> !member.getError().isEmpty())
          .forEach(member -> remark(name(member) + ": " + member.getError()));
      lostQuorum(response, cluster).ifPresent(this::remark);
      return ExitCode.OK;
    }

    private static String name(Member member) {
      return member.getName().isEmpty() ? "member " + hex(member.getId()) : member.getName();
    }

    private Optional<String> lostQuorum(MembersResponse response, String cluster) {
      List<Member> voters =
          response.getMembersList().stream().filter(member -> !member.getLearner()).toList();
      long up = voters.stream().filter(member -> member.getError().isEmpty()).count();
      int needed = voters.size() / 2 + 1;
      return up >= needed
          ? Optional.empty()
          : Optional.of(
              "%d of %d voters answer, and etcd needs %d: the cluster keeps no records until another one is back; if the others are lost for ever: ./polis down, then ./polis up --force-new-cluster %s at one node that is left"
                  .formatted(up, voters.size(), needed, cluster));
    }
  }

  /** Sizes, leader, and how to use etcdctl. */
  @Command(
      name = "status",
      description =
          "Shows the database, the progress and the alarms of each member, and the credentials for"
              + " etcdctl.")
  static final class Status extends SessionCommand {

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      StatusResponse status =
          session.call(() -> session.etcd().status(StatusRequest.getDefaultInstance()));
      print(rows(commandLine(status)).document(status.getEndpointsList()));
      if (options().output.isForPeople()) {
        out().printf("%nOn that node, etcdctl can look inside with:%n  %s%n", commandLine(status));
      }
      status.getEndpointsList().stream()
          .filter(endpoint -> !endpoint.getError().isEmpty())
          .forEach(endpoint -> remark(endpoint.getName() + ": " + endpoint.getError()));
      return ExitCode.OK;
    }

    private static Rows<Endpoint> rows(String etcdctl) {
      return new Rows<Endpoint>()
          .column("ENDPOINT", "endpoint", Endpoint::getUrl)
          .field("id", endpoint -> hex(endpoint.getId()))
          .field("name", Endpoint::getName)
          .column("VERSION", "version", Endpoint::getVersion)
          .column("LEADER", "leader", answered(endpoint -> hex(endpoint.getLeader())))
          .column("REVISION", "revision", answered(Endpoint::getRevision))
          .column("DB BYTES", "dbBytes", answered(Endpoint::getDbSize))
          .column("IN USE", "dbBytesInUse", answered(Endpoint::getDbSizeInUse))
          .column(
              "QUOTA",
              "quotaBytes",
              endpoint ->
                  Optional.of(new JsonPrimitive(endpoint.getQuota()))
                      .filter(_ -> endpoint.getQuota() > 0))
          .wide("TERM", "raftTerm", answered(Endpoint::getRaftTerm))
          .column("INDEX", "raftIndex", answered(Endpoint::getRaftIndex))
          .column("APPLIED", "raftAppliedIndex", answered(Endpoint::getRaftAppliedIndex))
          .column("ALARMS", "alarms", Endpoint::getAlarmsList)
          .field("error", Endpoint::getError)
          .field("etcdctl", _ -> etcdctl);
    }

    private static Function<Endpoint, Optional<JsonPrimitive>> answered(
        Function<Endpoint, ?> value) {
      return endpoint ->
          endpoint.getError().isEmpty()
              ? Optional.of(Rows.element(value.apply(endpoint)).getAsJsonPrimitive())
              : Optional.empty();
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
