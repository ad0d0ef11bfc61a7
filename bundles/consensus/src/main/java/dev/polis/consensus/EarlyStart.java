package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.consensus.ConsensusRecord.Stage;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.process.ProcessException;
import dev.polis.supervision.Context;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Starts the etcd of a complete member as soon as the data volume is open and the node has an
 * address. No client uses it before an organ requests the member: then the run of the member makes
 * all its checks and adopts the running etcd. So etcd opens its database and elects itself while
 * the other organs start.
 *
 * <p>This class starts etcd only if all its needs are fulfilled; otherwise the run repairs a fault
 * or fails with the reason.
 */
final class EarlyStart {

  private final MemberParts parts;
  private final Value<DataStatus> data;
  private final Value<ClockStatus> clock;
  private final FilePlacement nodeKey;
  private final ReentrantLock lock = new ReentrantLock();
  // Guarded by lock.
  private boolean over;
  private ConsensusPki pki; // null before the read, and after the PKI was taken

  /**
   * @param data the status of the volume
   * @param clock the status of the machine's clock
   * @param nodeKey the file of the node's private key, which identifies the node that must own the
   *     member
   */
  EarlyStart(
      MemberParts parts, Value<DataStatus> data, Value<ClockStatus> clock, FilePlacement nodeKey) {
    this.parts = parts;
    this.data = data;
    this.clock = clock;
    this.nodeKey = nodeKey;
  }

  /**
   * Waits for the volume, an address and the machine's clock, then starts etcd. The run of the
   * member is requested after the same wait for the clock.
   */
  void run(Context context) throws InterruptedException {
    context.healthy();
    try (Watcher<DataStatus> volume = data.watch();
        Watcher<NetworkStatus> network = parts.network().watch()) {
      volume.get(DataStatus.Mounted.class::isInstance);
      NetworkStatus up = network.get(NetworkStatus.Up.class::isInstance);
      awaitClock(context.log());
      start(((NetworkStatus.Up) up).externalAddress(), context.log());
    }
    context.done();
  }

  /** Waits some seconds for a time server, if this node keeps the clock. */
  private void awaitClock(Log log) throws InterruptedException {
    try (Watcher<ClockStatus> watcher = clock.watch()) {
      watcher.get(
          now -> !(now instanceof ClockStatus.Searching(_, boolean late)) || late,
          ClockStatus.PATIENCE);
    } catch (TimeoutException silent) {
      log.info(
          "etcd starts by the machine's own clock, since no time server has answered in %d s",
          ClockStatus.PATIENCE.toSeconds());
    }
  }

  /** Prevents later starts, and waits for a running start. */
  void end() throws InterruptedException {
    lock.lockInterruptibly();
    over = true;
    lock.unlock();
  }

  /**
   * Returns the CA from the early start, with the users' certificates for a start, so that their
   * creation does not delay the run. Only the first call returns it: a later run reads the disk
   * again.
   */
  Optional<ConsensusPki> takePki() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      Optional<ConsensusPki> taken = Optional.ofNullable(pki);
      pki = null;
      return taken;
    } finally {
      lock.unlock();
    }
  }

  private void start(InetAddress address, Log log) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      Optional<ConsensusRecord> member = over ? Optional.empty() : completeMember(address);
      if (member.isPresent()) {
        if (!parts.processes().lives(EtcdProcess.NAME)) {
          EtcdCommandLine line = line(member.get(), address);
          parts
              .processes()
              .ensure(EtcdProcess.spec(parts, line, EtcdOwner.prepare(parts, line.binary())));
        }
        pki = prepared();
      }
    } catch (FileException | ConsensusException | PkiException | ProcessException refused) {
      log.info("etcd is not started before its turn: %s", refused.getMessage());
    } finally {
      lock.unlock();
    }
  }

  private ConsensusPki prepared() throws FileException {
    ConsensusPki read = ConsensusPki.open(parts.files(), false, parts.clock());
    read.user(ConsensusUser.ROOT);
    read.user(ConsensusUser.CURATOR);
    return read;
  }

  /** Returns the record of the member on the disk, if it is complete and has not moved. */
  private Optional<ConsensusRecord> completeMember(InetAddress address) throws FileException {
    return ConsensusRecord.read(parts.files().member())
                instanceof Stored.Present<ConsensusRecord>(var _, ConsensusRecord record)
            && record.stage() == Stage.MEMBER
            && !parts.settings().recovery().wants(record)
            && new ConsensusDisk(parts.files()).hasData()
            && hasKeys(record)
            && ConsensusPki.formerAddress(parts.files(), address).isEmpty()
        ? Optional.of(record)
        : Optional.empty();
  }

  private EtcdCommandLine line(ConsensusRecord record, InetAddress address)
      throws FileException, InterruptedException {
    return new EtcdCommandLine(
        EtcdBinary.find(parts.settings().etcd(), parts.files().version()),
        record.node(),
        ConsensusPki.token(parts.files()),
        address,
        parts.settings(),
        parts.files().etcd(),
        record.alone(),
        record.others());
  }

  /** Returns whether etcd has its own key and the CA's certificates for this node's member. */
  private boolean hasKeys(ConsensusRecord record) throws FileException {
    EtcdFiles.PeerPki pki = parts.files().etcd().peerPki();
    return pki.certificate().exists()
        && pki.key().exists()
        && same(pki.ca(), parts.files().ca())
        && !same(pki.key(), nodeKey)
        && nodeKey.read() instanceof Stored.Present<byte[]>(var _, byte[] key)
        && isOf(key, record.node());
  }

  private static boolean isOf(byte[] key, String node) {
    PrivateKey parsed = Pem.privateKey(new String(key, StandardCharsets.UTF_8));
    return NodeId.of(Ed25519.publicKey(parsed)).text().equals(node);
  }

  private static boolean same(FilePlacement one, FilePlacement other) throws FileException {
    return one.read() instanceof Stored.Present<byte[]>(var _, byte[] first)
        && other.read() instanceof Stored.Present<byte[]>(var _, byte[] second)
        && Arrays.equals(first, second);
  }
}
