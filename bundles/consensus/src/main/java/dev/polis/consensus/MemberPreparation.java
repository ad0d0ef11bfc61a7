package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.process.ChildOwner;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/** Prepares the disk for a start of etcd: the member record, keys, certificates, directories. */
final class MemberPreparation {

  /** Allows a start, as a bootstrap or as an existing member, or refuses it. */
  interface Admission {
    ConsensusRecord admit() throws FileException;
  }

  private static final String KEY_MADE = "etcd-key-made-anew";

  private final MemberParts parts;
  private final ConsensusIdentity identity;
  private final Admission admission;

  MemberPreparation(MemberParts parts, ConsensusIdentity identity, Admission admission) {
    this.parts = parts;
    this.identity = identity;
    this.admission = admission;
  }

  /** Records that the cluster has other members, for later starts. */
  synchronized void severalMembers() throws FileException {
    admission.admit().withAlone(false).write(parts.files().member());
  }

  /** Records the other members of a complete member, if they have changed. */
  synchronized void peers(List<String> now) throws FileException {
    ConsensusRecord record = admission.admit();
    if (!record.peers().equals(now)) {
      record.withPeers(now).write(parts.files().member());
    }
  }

  /** Prepares a start at this address, see {@link #prepare(InetAddress, Optional)}. */
  PreparedMember prepare(InetAddress address) throws IOException, InterruptedException {
    return prepare(address, Optional.empty());
  }

  /**
   * Prepares a start at this address. A second call changes no fitting file.
   *
   * @param read the CA, if it has just been read
   */
  PreparedMember prepare(InetAddress address, Optional<ConsensusPki> read)
      throws IOException, InterruptedException {
    ConsensusRecord record = admission.admit();
    ConsensusDisk disk = new ConsensusDisk(parts.files());
    if (!parts.processes().lives(EtcdProcess.NAME)) {
      disk.removeUnfinishedData(record);
    }
    boolean mayCreateAuthority = record.stage() == Stage.BOOTSTRAPPING && !disk.hasData();
    ConsensusPki pki =
        read.isPresent()
            ? read.get()
            : ConsensusPki.open(parts.files(), mayCreateAuthority, parts.clock());
    ConsensusHealth.requireAuthority(parts.files(), parts.clock());
    EtcdBinary binary = EtcdBinary.find(parts.settings().etcd(), parts.files().version());
    // This comes first, so that etcd can read each file as soon as it exists.
    ChildOwner owner = EtcdOwner.prepare(parts, binary);
    pki.ensureMember(identity, address);
    pki.replaced()
        .ifPresent(
            why ->
                parts
                    .health()
                    .set(HealthCondition.up(KEY_MADE, why + "; this start made a new one")));
    pki.ensureOperator();
    EtcdCommandLine line =
        new EtcdCommandLine(
            binary,
            identity.node().text(),
            pki.token(),
            address,
            parts.settings(),
            parts.files().etcd(),
            record.alone(),
            record.others());
    return new PreparedMember(identity, address, record, pki, line, owner);
  }
}
