package dev.polis.ctl.node;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.cluster.DefragmentRequest;
import dev.polis.wire.cluster.DefragmentResponse;
import dev.polis.wire.cluster.Member;
import dev.polis.wire.cluster.MembersRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Returns the free space of etcd's databases to their disks. */
@Command(
    name = "defrag",
    description = {
      "Returns the free space of etcd's database to the disk, one member after the other, the leader"
          + " last.",
      "A member serves no call meanwhile. A node does this by itself when it has little to do, so it"
          + " is rarely necessary."
    })
final class EtcdDefragCommand extends SessionCommand {

  /** One member before and after. */
  private record Done(Member member, DefragmentResponse sizes) {
    long freed() {
      return sizes.getBytesBefore() - sizes.getBytesAfter();
    }
  }

  private static final Rows<Done> ROWS =
      new Rows<Done>()
          .column("ID", "id", done -> EtcdCommand.hex(done.member.getId()))
          .column("NAME", "name", done -> done.member.getName())
          .column("BEFORE", "bytesBefore", done -> done.sizes.getBytesBefore())
          .column("AFTER", "bytesAfter", done -> done.sizes.getBytesAfter())
          .column("FREED", "bytesFreed", Done::freed);

  @Parameters(
      arity = "0..1",
      paramLabel = "NODE",
      description = "the name or id of one member; all if it is left out")
  String node;

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    List<Member> members =
        session
            .call(() -> session.etcd().members(MembersRequest.getDefaultInstance()))
            .getMembersList();
    List<Done> done = new ArrayList<>();
    for (Member member : chosen(members)) {
      DefragmentRequest request =
          DefragmentRequest.newBuilder().setMemberId(member.getId()).build();
      DefragmentResponse sizes = session.call(() -> session.etcdOrders().defragment(request));
      done.add(new Done(member, sizes));
      if (options().output.isForPeople()) {
        out()
            .printf(
                "%s: %d bytes freed, %d left%n",
                member.getName(), done.getLast().freed(), sizes.getBytesAfter())
            .flush();
      }
    }
    return options().output.isForPeople() ? ExitCode.OK : print(ROWS.document(done));
  }

  private List<Member> chosen(List<Member> members) {
    if (node == null) {
      return members.stream().sorted(Comparator.comparing(Member::getLeader)).toList();
    }
    return List.of(
        members.stream()
            .filter(
                member ->
                    member.getName().equals(node) || EtcdCommand.hex(member.getId()).equals(node))
            .findFirst()
            .orElseThrow(
                () ->
                    new CtlException(
                        ExitCode.NOT_FOUND,
                        "etcd has no member \"%s\"; the members are %s"
                            .formatted(node, members.stream().map(Member::getName).toList()))));
  }
}
