package dev.polis.ctl.node;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlRoot;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.cluster.CredentialHint;
import dev.polis.wire.cluster.Endpoint;
import dev.polis.wire.cluster.MembersRequest;
import dev.polis.wire.cluster.MembersResponse;
import dev.polis.wire.cluster.StatusRequest;
import dev.polis.wire.cluster.StatusResponse;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Groups the commands for etcd. */
@Command(name = "etcd", description = "Shows the cluster's etcd.", mixinStandardHelpOptions = true)
@Subcommands({EtcdCommand.Members.class, EtcdCommand.Status.class})
public final class EtcdCommand {

  @ParentCommand CtlRoot ctl;

  /** The members. */
  @Command(
      name = "members",
      description = "Lists the members of etcd.",
      mixinStandardHelpOptions = true)
  static final class Members implements Callable<Integer> {
    @ParentCommand EtcdCommand etcd;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(etcd.ctl.options)) {
        MembersResponse members =
            session.call(() -> session.etcd().members(MembersRequest.getDefaultInstance()));
        JsonArray rows = new JsonArray();
        members
            .getMembersList()
            .forEach(
                member -> {
                  JsonObject row = new JsonObject();
                  row.addProperty("id", Long.toHexString(member.getId()));
                  row.addProperty("name", member.getName());
                  row.addProperty("role", member.getLearner() ? "learner" : "voter");
                  row.add("clientUrls", array(member.getClientUrlsList()));
                  row.add("peerUrls", array(member.getPeerUrlsList()));
                  rows.add(row);
                });
        etcd.ctl.options.output.print(
            Document.rows(
                rows,
                Column.of("ID", "id"),
                Column.of("NAME", "name"),
                Column.of("ROLE", "role"),
                Column.of("CLIENTS", "clientUrls"),
                Column.of("PEERS", "peerUrls")),
            spec.commandLine().getOut());
        return ExitCode.OK.code();
      }
    }

    private static JsonArray array(Iterable<String> texts) {
      JsonArray array = new JsonArray();
      texts.forEach(array::add);
      return array;
    }
  }

  /** Sizes, leader, and how to use etcdctl. */
  @Command(
      name = "status",
      description = "Shows etcd's leader and sizes, and the credentials for etcdctl.",
      mixinStandardHelpOptions = true)
  static final class Status implements Callable<Integer> {
    @ParentCommand EtcdCommand etcd;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(etcd.ctl.options)) {
        StatusResponse status =
            session.call(() -> session.etcd().status(StatusRequest.getDefaultInstance()));
        Output output = etcd.ctl.options.output;
        output.print(document(status), spec.commandLine().getOut());
        if (output == Output.table || output == Output.wide) {
          spec.commandLine().getOut().println();
          spec.commandLine().getOut().println("On that node, etcdctl can look inside with:");
          spec.commandLine().getOut().println("  " + commandLine(status));
        }
        return ExitCode.OK.code();
      }
    }

    private static Document document(StatusResponse status) {
      JsonArray rows = new JsonArray();
      for (Endpoint endpoint : status.getEndpointsList()) {
        JsonObject row = new JsonObject();
        row.addProperty("endpoint", endpoint.getUrl());
        row.addProperty("name", endpoint.getName());
        row.addProperty("version", endpoint.getVersion());
        row.addProperty("leader", Long.toHexString(endpoint.getLeader()));
        row.addProperty("revision", endpoint.getRevision());
        row.addProperty("dbBytes", endpoint.getDbSize());
        row.addProperty("dbBytesInUse", endpoint.getDbSizeInUse());
        row.addProperty("raftTerm", endpoint.getRaftTerm());
        row.addProperty("raftIndex", endpoint.getRaftIndex());
        row.addProperty("error", endpoint.getError());
        row.addProperty("etcdctl", commandLine(status));
        rows.add(row);
      }
      return Document.rows(
          rows,
          Column.of("ENDPOINT", "endpoint"),
          Column.of("VERSION", "version"),
          Column.of("LEADER", "leader"),
          Column.of("REVISION", "revision"),
          Column.of("DB BYTES", "dbBytes"),
          Column.of("IN USE", "dbBytesInUse"),
          Column.wide("TERM", "raftTerm"),
          Column.wide("INDEX", "raftIndex"),
          Column.of("ERROR", "error"));
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
