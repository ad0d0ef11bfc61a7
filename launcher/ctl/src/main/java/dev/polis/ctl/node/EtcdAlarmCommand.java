package dev.polis.ctl.node;

import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.cluster.Alarm;
import dev.polis.wire.cluster.AlarmsRequest;
import dev.polis.wire.cluster.DisarmRequest;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Groups the commands for the alarms of etcd. */
@Command(name = "alarm", description = "Lists and clears the alarms of etcd.")
@Subcommands({EtcdAlarmCommand.ListCommand.class, EtcdAlarmCommand.Disarm.class})
final class EtcdAlarmCommand {

  private static final Rows<Alarm> ROWS =
      new Rows<Alarm>()
          .column("KIND", "kind", Alarm::getKind)
          .column("MEMBER", "memberId", alarm -> EtcdCommand.hex(alarm.getMemberId()))
          .column("NAME", "name", Alarm::getMemberName)
          .column("TO DO", "remedy", Alarm::getRemedy);

  /** The alarms. */
  @Command(name = "list", description = "Lists the raised alarms, and what to do about each.")
  static final class ListCommand extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      List<Alarm> alarms =
          session
              .call(() -> session.etcd().alarms(AlarmsRequest.getDefaultInstance()))
              .getAlarmsList();
      if (alarms.isEmpty() && options().output.isForPeople()) {
        out().println("etcd has raised no alarm");
        return ExitCode.OK;
      }
      return print(ROWS.document(alarms));
    }
  }

  /** Clears alarms. */
  @Command(
      name = "disarm",
      description = {
        "Clears the alarm NOSPACE, so that etcd accepts writes again.",
        "First make room: delete keys that are not needed, then 'etcd defrag'. The node refuses while"
            + " the database of a member is as large as its quota. It clears the alarm by itself"
            + " within a minute once there is room."
      })
  static final class Disarm extends SessionCommand {
    @Option(
        names = "--corrupt",
        description =
            "also clears CORRUPT; first take the role ConsensusMember from the node whose records"
                + " differ, and give it again")
    boolean corrupt;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      DisarmRequest request = DisarmRequest.newBuilder().setCorrupt(corrupt).build();
      List<Alarm> cleared = session.call(() -> session.etcd().disarm(request)).getClearedList();
      if (!options().output.isForPeople()) {
        return print(ROWS.document(cleared));
      }
      if (cleared.isEmpty()) {
        out().println("there was nothing to clear");
      }
      cleared.forEach(
          alarm -> out().printf("cleared %s of %s%n", alarm.getKind(), alarm.getMemberName()));
      return ExitCode.OK;
    }
  }
}
