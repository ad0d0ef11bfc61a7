package dev.polis.rpc;

import dev.polis.base.values.Value;
import dev.polis.pki.Crl;
import dev.polis.pki.NodeCredentials;
import dev.polis.rpc.audit.AuditLog;
import io.grpc.BindableService;
import java.util.List;
import java.util.Optional;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Owns the node's listeners and serves the organs' methods on them. Safe for use by any thread.
 *
 * <p>Organs do not call this to serve: they register {@link BindableService}s with the property
 * {@link #LISTENER}. The cluster organ calls {@link #identify} and {@link #revoke}.
 */
@ProviderType
public interface RpcHost {
  /** Service property of a {@link BindableService}: the name of its listener, or several names. */
  String LISTENER = "polis.rpc.listener";

  /** Listener of the curator: TLS, port 7835. */
  String CURATOR = "curator";

  /** Listener of the node's own management: TLS, port 7839. */
  String MANAGEMENT = "management";

  /**
   * Listener for developers: plain text, port 7837, opened when the first service is registered for
   * it.
   */
  String DEBUG = "debug";

  /**
   * Gives the host the node's credentials, or newer ones. The first call opens the TLS listeners;
   * later calls change what is presented to new connections and whose certificates are accepted,
   * without closing anything.
   *
   * @throws RpcListenException if a port cannot be opened; the message names it and the process
   *     that has it
   */
  void identify(NodeCredentials credentials);

  /**
   * Gives the host the credentials of a node that was a member before, with what it knows of
   * revoked certificates, and opens the TLS listeners. The list counts from the first connection
   * on; while it is unknown, no certificate of the cluster is accepted.
   *
   * @throws RpcListenException as {@link #identify(NodeCredentials)}
   * @throws dev.polis.pki.IdentityException if the list is not signed by the CA of the credentials
   */
  void identify(NodeCredentials credentials, RpcRevocations revocations);

  /**
   * Takes the credentials away and closes the TLS listeners, for a node that no longer belongs to
   * its cluster.
   */
  void forget();

  /**
   * Replaces the list of revoked certificates. Their holders' calls in progress end at once with
   * UNAUTHENTICATED, and later ones are refused, also on connections that are open.
   *
   * @throws dev.polis.pki.IdentityException if the list is not signed by the CA of the credentials;
   *     the old list stays
   */
  void revoke(Crl list);

  /**
   * Returns the revocation list that is in force, for organs with a listener of their own. Empty if
   * nothing was revoked yet.
   *
   * @throws dev.polis.pki.IdentityException if the list is not known, so that no peer is accepted
   */
  Optional<Crl> revoked();

  /** Returns what is known of revoked certificates, with each change. */
  Value<RpcRevocations> revocations();

  /**
   * Serves a service that is not in the service registry, for tests and programs that have none.
   *
   * @param listener name of the listener
   * @return closing it ends the service the way an unregistered organ's is ended
   * @throws IllegalArgumentException if there is no such listener, naming those there are
   */
  RpcRegistration serve(String listener, BindableService service);

  /**
   * Returns the status of the listeners, in the order of their names, and of other ports of this
   * process, by the configuration that chose them, while strangers flood them.
   */
  Value<List<RpcListenerStatus>> listeners();

  /** Returns counts of what was served since the host started. */
  RpcStatistics statistics();

  /** Returns the threads on which organs compute for calls; the host closes them. */
  ComputingThreads computing();

  /**
   * Returns the audit log of this node. The storage organ says where its files are; others may add
   * a note.
   */
  AuditLog audit();
}
