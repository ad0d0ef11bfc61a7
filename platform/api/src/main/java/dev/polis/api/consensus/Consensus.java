package dev.polis.api.consensus;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.etcd.EtcdAccess;
import dev.polis.pki.NodeId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Controls the local member of consensus. All methods may be called from any thread. The running
 * member survives the service; the service's successor adopts it at its own start.
 */
@Followed
@ProviderType
public interface Consensus {

  /**
   * Begins to make this node the first member of a new cluster. It returns once the disk has been
   * examined; {@link #status()} reports the rest. A repeated call with the same identity, also
   * after the machine was switched off in the middle, ends in the same place; if the member is
   * complete already, this is {@link #startExisting}.
   *
   * @param identity the identity of this node; its key becomes the key of the member's certificate
   * @throws ConsensusException if the disk holds another node's member, or one without its data or
   *     keys: a member is never initialised twice
   */
  void startNew(ConsensusIdentity identity);

  /**
   * Starts or adopts the existing member of this node. It returns like {@link #startNew}; a member
   * that runs already stays as it is. The process of a complete member may have been started
   * before, when the data volume was opened; it is adopted then. A learner starts too, and serves
   * once it has a vote.
   *
   * @param identity the identity of this node
   * @throws ConsensusException if there is no member of this node on the disk, or only an
   *     interrupted bootstrap
   */
  void startExisting(ConsensusIdentity identity);

  /**
   * Begins to make this node a member of an existing cluster, as a learner that another member has
   * invited. It returns once the disk has the record of the member; {@link #status()} is then
   * {@link ConsensusStatus.Starting} until the member has a vote. After an interruption {@link
   * #startExisting} continues it. A repeated call with the same invitation lets the start continue.
   *
   * @param identity the identity of this node
   * @param invitation the data for its first start
   * @throws ConsensusException if the disk has a member already
   */
  void join(ConsensusIdentity identity, ConsensusInvitation invitation);

  /**
   * Ends the member of this node for good: stops its process and moves its data and keys into a
   * folder of removed members, from which no member starts. It does nothing if the disk has no
   * member. Call it only after etcd has removed the member.
   *
   * @throws InterruptedException if interrupted while waiting for the process to end
   */
  void discard() throws InterruptedException;

  /**
   * Ends the member of this node for good, and erases its data and keys, and those of removed
   * members. It does nothing if the disk has none; a repeated call continues an interrupted one.
   * Call it only after the cluster has removed the node, whose role has ended before.
   *
   * @throws ConsensusException if the data volume is not open, or its disk refuses
   * @throws InterruptedException if interrupted while waiting for the process to end
   */
  void erase() throws InterruptedException;

  /**
   * Returns the member on this node's disk; empty if there is none, also because etcd has removed
   * it.
   *
   * @throws ConsensusException if the record of the member cannot be read
   */
  Optional<LocalMember> localMember();

  /**
   * Describes this node for the leader, which gives it a place in etcd.
   *
   * @throws ConsensusException if this node has no address, or its record cannot be read
   */
  ConsensusCandidate candidate();

  /**
   * Brings another node one step closer to a vote: adds a learner for it, or promotes its learner
   * that has caught up. Each step can be repeated. Only one member at a time can be without a vote.
   *
   * @param node the other node
   * @param candidate its description of itself
   * @return its standing after the step
   * @throws ConsensusException if the step is not possible now; the message names the obstacle
   * @throws InterruptedException if interrupted while waiting for etcd
   */
  ConsensusStanding admit(NodeId node, ConsensusCandidate candidate) throws InterruptedException;

  /**
   * Removes a member from etcd; does nothing if etcd does not know it.
   *
   * @param memberId its id, 1 to 16 hexadecimal digits
   * @throws ConsensusException if etcd refuses, since the others would have no quorum
   * @throws InterruptedException if interrupted while waiting for etcd
   */
  void expel(String memberId) throws InterruptedException;

  /**
   * Asks each member with a vote whether it is up.
   *
   * @return the voters, ordered by name
   * @throws ConsensusException if the local member is not running or does not answer
   * @throws InterruptedException if interrupted while waiting for an answer
   */
  List<ConsensusVoter> voters() throws InterruptedException;

  /**
   * Returns the CA of etcd, and how far a rotation of it is.
   *
   * @throws ConsensusException if the local member is not running or does not answer
   * @throws InterruptedException if interrupted while waiting for an answer
   */
  ConsensusCa ca() throws InterruptedException;

  /**
   * Begins or continues a rotation of etcd's CA: makes a new CA, or lets it issue once each member
   * trusts it. It changes nothing while a member waits for the present step.
   *
   * @return the state after the call
   * @throws ConsensusException if the local member is not running or does not answer
   * @throws InterruptedException if interrupted while waiting for an answer
   */
  ConsensusCa rotateCa() throws InterruptedException;

  /**
   * Ends the trust in the former CA of etcd. It changes nothing unless each member has a
   * certificate of the new one.
   *
   * @return the state after the call, in which members wait until their etcd has started again
   * @throws ConsensusException if the local member is not running or does not answer
   * @throws InterruptedException if interrupted while waiting for an answer
   */
  ConsensusCa retireCa() throws InterruptedException;

  /**
   * Stops the member and its process, also one that an earlier instance left running: leadership
   * first moves to another member that can take it. The data of the member stays.
   *
   * @throws InterruptedException if interrupted while waiting for the process to end
   */
  void stop() throws InterruptedException;

  /**
   * Returns the state of the member.
   *
   * @return a value that is never empty; the first is {@link ConsensusStatus.Stopped}
   */
  Value<ConsensusStatus> status();

  /**
   * Returns the access to etcd for one user, limited to the namespace of that user. {@code
   * kube-apiserver} has no namespace, and can use only the keys of an API server. It stays valid
   * over restarts of etcd, and its connections take a renewed certificate, or the CAs of a
   * rotation, at their next handshake. When this node's address changes, {@link
   * ConsensusStatus.Running} is published again; a consumer that keeps an access asks again then.
   *
   * @param user {@code curator}, {@code kubernetes} or {@code kube-apiserver}
   * @throws ConsensusException if there is no such user (the message names the users), or no member
   *     has run on this disk
   */
  EtcdAccess access(String user);

  /**
   * Returns the member of this node.
   *
   * @throws ConsensusException if the member is not running
   */
  ConsensusMember memberInfo();

  /**
   * Returns etcd's own status: members, leader, sizes, alarms. The figures come from the local
   * member at the time of the call.
   *
   * @throws ConsensusException if the member is not running or does not answer
   * @throws InterruptedException if interrupted while waiting for the answer
   */
  ConsensusOverview overview() throws InterruptedException;

  /**
   * Waits until the member runs.
   *
   * @param within the longest wait
   * @return the status of the running member
   * @throws ConsensusException if the start failed, with its reason, or takes too long, with the
   *     event that it waits for
   * @throws InterruptedException if interrupted while waiting
   */
  default ConsensusStatus.Running awaitRunning(Duration within) throws InterruptedException {
    try (Watcher<ConsensusStatus> watcher = status().watch()) {
      ConsensusStatus end =
          watcher.get(
              status ->
                  status instanceof ConsensusStatus.Running
                      || status instanceof ConsensusStatus.Failed,
              within);
      return switch (end) {
        case ConsensusStatus.Running running -> running;
        case ConsensusStatus other -> throw new ConsensusException(other.text());
      };
    } catch (TimeoutException late) {
      String last = status().peek().map(ConsensusStatus::text).orElse("no status");
      throw new ConsensusException(
          "consensus is not running after " + within.toSeconds() + " s: " + last, late);
    }
  }
}
