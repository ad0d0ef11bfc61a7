package dev.polis.api.curator;

import dev.polis.api.contract.Followed;
import dev.polis.base.values.Value;
import dev.polis.logtree.Secret;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import java.security.cert.X509Certificate;
import java.util.Set;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The local curator: it keeps the records on a node that runs consensus, and follows those that do
 * on any other. All methods may be called from any thread.
 */
@Followed
@ProviderType
public interface Curator {

  /**
   * Creates the first records of a cluster: its certificate authority, its configuration, its
   * initial owner and this node, which is UP at once. One transaction writes all records, and only
   * if they are absent. So a repeated call with the same request, such as after a crash, changes
   * nothing and returns the same certificates.
   *
   * @param request the first node and its owner
   * @return the cluster's CA certificate and this node's certificate
   * @throws CuratorException if the records exist and belong to another node or owner, or if etcd
   *     cannot be reached; the message names the cause
   * @throws InterruptedException if the caller was interrupted while waiting for etcd
   */
  BootstrapOutcome bootstrap(BootstrapRequest request) throws InterruptedException;

  /**
   * Begins to serve: campaigns for leadership and registers the curator's services with the RPC
   * host. It uses only the node's id and the cluster's CA, which stay when a certificate is
   * renewed. So a second call for the same node and cluster changes nothing, and interrupts neither
   * leadership nor calls. A curator that follows begins to serve, and keeps its streams.
   *
   * @param credentials this node's credentials
   * @throws CuratorException if the curator already serves for another node or another cluster
   */
  void serve(NodeCredentials credentials);

  /**
   * Begins to follow the curators of other nodes, on a node that keeps no records: finds the
   * leader, names it to the clients of this node, and keeps this node's revocation list and trusted
   * keys up to date. {@link #status()} is then never {@link CuratorStatus.Leading}. A second call
   * for the same node and cluster changes nothing. A curator that serves gives up its leadership
   * first, and another one leads at once.
   *
   * @param credentials this node's credentials
   * @param curators curators of the cluster, at least one; the curator calls no other node at their
   *     addresses
   * @throws CuratorException if the curator already serves for another node or another cluster
   */
  void follow(NodeCredentials credentials, Set<NodeEndpoint> curators);

  /**
   * Ends the work for a cluster that has removed this node: the curator calls no node, and serves
   * no call, until it serves or follows again. A further call changes nothing. It returns when the
   * running tasks have ended.
   */
  void leave();

  /**
   * Issues this node's certificate again, once no more than a third of its life is left; before,
   * the present one is returned. Needs a leader.
   *
   * @param credentials this node's credentials
   * @return the certificate for the same key
   * @throws CuratorException if no certificate can be issued now; try again later
   * @throws InterruptedException if the caller was interrupted while waiting for leadership
   */
  X509Certificate renew(NodeCredentials credentials) throws InterruptedException;

  /**
   * Reads the cluster's half of this node's volume key from the node's record. Needs a leader.
   *
   * @param credentials this node's credentials
   * @return the half, which the caller closes
   * @throws CuratorException if the record holds none, or cannot be read now
   * @throws InterruptedException if the caller was interrupted while waiting for leadership
   */
  Secret clusterUnlockKey(NodeCredentials credentials) throws InterruptedException;

  /**
   * Returns the state of this curator.
   *
   * @return a value that is never empty
   */
  Value<CuratorStatus> status();
}
