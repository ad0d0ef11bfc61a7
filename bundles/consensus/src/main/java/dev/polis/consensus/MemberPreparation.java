package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.files.FileException;
import java.net.InetAddress;

/** Makes the disk ready for a start of etcd: the member record, keys, certificates, directories. */
final class MemberPreparation {

  /** Allows a start, as a bootstrap or as a member that is there already; or refuses it. */
  interface Admission {
    ConsensusRecord admit() throws FileException;
  }

  private final MemberParts parts;
  private final ConsensusIdentity identity;
  private final Admission admission;

  MemberPreparation(MemberParts parts, ConsensusIdentity identity, Admission admission) {
    this.parts = parts;
    this.identity = identity;
    this.admission = admission;
  }

  /** Prepares a start at this address. Repeating it changes nothing that still fits. */
  PreparedMember prepare(InetAddress address) throws FileException, InterruptedException {
    ConsensusRecord record = admission.admit();
    ConsensusDisk disk = new ConsensusDisk(parts.files());
    if (!parts.processes().lives(EtcdProcess.NAME)) {
      disk.removeUnfinishedData(record);
    }
    boolean mayCreateAuthority = record.stage() == Stage.BOOTSTRAPPING && !disk.hasData();
    ConsensusPki pki = ConsensusPki.open(parts.files(), mayCreateAuthority, parts.clock());
    pki.ensureMember(identity, address);
    pki.ensureOperator();
    parts.files().etcd().data().create();
    parts.files().sockets().create();
    EtcdCommandLine line =
        new EtcdCommandLine(
            EtcdBinary.find(parts.settings().etcd(), parts.files().version()),
            identity.node().text(),
            pki.token(),
            address,
            parts.settings(),
            parts.files().etcd());
    return new PreparedMember(identity, address, record, pki, line);
  }
}
