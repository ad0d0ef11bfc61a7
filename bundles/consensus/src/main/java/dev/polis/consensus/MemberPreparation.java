package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdNamespace;
import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.process.ChildOwner;
import java.io.IOException;
import java.net.InetAddress;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

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
    ConsensusRecord next = record.withPeers(now).withAlone(record.alone() && now.isEmpty());
    if (!next.equals(record)) {
      next.write(parts.files().member());
    }
  }

  /** Prepares a start at this address, see {@link #prepare(InetAddress, Optional)}. */
  PreparedMember prepare(InetAddress address) throws IOException, InterruptedException {
    return prepare(address, Optional.empty());
  }

  /**
   * Prepares a start at this address. A second call changes no fitting file.
   *
   * @param read the CA that the early start has read, whose etcd runs without all checks
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
    if (read.isPresent() || !parts.processes().lives(EtcdProcess.NAME)) {
      requireAlone(record, pki, address);
    }
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

  /**
   * Refuses a start while the member runs at another address: that of its last start, or the one
   * that the other members know. One of the two then runs from a copy, and both would vote.
   */
  private void requireAlone(ConsensusRecord record, ConsensusPki pki, InetAddress address)
      throws FileException, InterruptedException {
    if (record.stage() != Stage.MEMBER) {
      return;
    }
    EtcdAccess root =
        new EtcdAccess(
            List.of(endpoint(address.getHostAddress(), identity.node().text())),
            new EtcdAccess.MutualTls(() -> pki.user(ConsensusUser.ROOT)),
            EtcdNamespace.ROOT);
    Set<String> hosts = new LinkedHashSet<>();
    ConsensusPki.formerAddress(parts.files(), address)
        .ifPresent(former -> hosts.add(former.getHostAddress()));
    hosts.addAll(knownHosts(record, root));
    hosts.remove(address.getHostAddress());
    for (String host : hosts) {
      requireAlone(
          parts,
          root.through(List.of(endpoint(host, identity.node().text()))),
          record.memberId(),
          address);
    }
  }

  /** Returns where another member knows this one; empty if none answers. */
  private List<String> knownHosts(ConsensusRecord record, EtcdAccess root)
      throws InterruptedException {
    for (String peer : record.peers()) {
      String[] other = peer.split("=", 2); // NAME=URL
      if (!other[0].isEmpty()) {
        EtcdEndpoint at = endpoint(MemberSurvey.endpoint(other[1]).host(), other[0]);
        try (EtcdClient client = EtcdClient.connect(root.through(List.of(at)))) {
          return client.admin().members(at, MemberSurvey.PATIENCE).stream()
              .filter(member -> member.hexId().equals(record.memberId()))
              .flatMap(member -> member.peerUrls().stream())
              .map(url -> MemberSurvey.endpoint(url).host())
              .toList();
        } catch (EtcdException silent) {
          continue; // the next one may answer
        }
      }
    }
    return List.of();
  }

  private EtcdEndpoint endpoint(String host, String node) {
    return new EtcdEndpoint(host, parts.settings().clientPort(), node);
  }

  /**
   * Requires that the member does not run at another address; if it does, ends its etcd here.
   *
   * @param root root's access to the member there
   * @param here the address of this node
   * @throws ConsensusException naming both addresses
   */
  static void requireAlone(MemberParts parts, EtcdAccess root, String memberId, InetAddress here)
      throws InterruptedException {
    EtcdEndpoint there = root.endpoints().getFirst();
    try (EtcdClient client = EtcdClient.connect(root)) {
      String found =
          Long.toHexString(client.admin().status(there, MemberSurvey.PATIENCE).memberId());
      if (found.equals(memberId)) {
        parts.processes().stop(EtcdProcess.NAME);
        throw new ConsensusException(
            "the member %s of this node runs at %s already, so it does not start at %s: one of the two runs from a copy of the other's state directory; stop the one at %s if the node has moved, or else delete the copy: a further node needs an empty state directory and parameters of its own (polisctl params make)"
                .formatted(found, there, here.getHostAddress(), there.host()));
      }
    } catch (EtcdException gone) {
      return; // the usual case: the node has moved, and nothing of it answers there
    }
  }
}
