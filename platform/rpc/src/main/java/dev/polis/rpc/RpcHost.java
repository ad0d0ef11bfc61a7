package dev.polis.rpc;

import dev.polis.base.values.Value;
import dev.polis.pki.CaBundle;
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
   * Gives the host the node's credentials, or renews them. The first call opens the TLS listeners;
   * later calls change the certificate for new connections and the accepted CA, and close nothing.
   *
   * @throws RpcListenException if a port cannot be opened; the message names it and the process
   *     that has it
   */
  void identify(NodeCredentials credentials);

  /**
   * Gives the host the credentials of a former member, with its revocation list, and opens the TLS
   * listeners. The list applies from the first connection; while it is unknown, the host accepts no
   * certificate of the cluster.
   *
   * @throws RpcListenException as {@link #identify(NodeCredentials)}
   * @throws dev.polis.pki.IdentityException if the list is not signed by the CA of the credentials
   */
  void identify(NodeCredentials credentials, RpcRevocations revocations);

  /** Removes the credentials and closes the TLS listeners, for a node that has left its cluster. */
  void forget();

  /**
   * Replaces the list of revoked certificates. Running calls of the holders end at once with
   * UNAUTHENTICATED, and the host refuses their later calls, also on open connections.
   *
   * @throws dev.polis.pki.IdentityException if the list is not signed by the CA of the credentials;
   *     the old list stays
   */
  void revoke(Crl list);

  /**
   * Replaces the CAs by others of the same cluster. A revocation list of the newest CA then retires
   * the former one if it names the former one's serial number: its certificates end as revoked
   * ones.
   *
   * @throws dev.polis.pki.IdentityException if none of them is a CA that this node trusts
   */
  void trust(CaBundle authorities);

  /** Returns the CAs that this node trusts, with each change; none before its credentials. */
  Value<CaBundle> authorities();

  /**
   * Replaces the list of operators. Running calls for which an operator has no permission any more
   * end at once, and the host decides by the list about later calls, also on open connections.
   * Before the first list, and after a change of the CA, the owner is the only user.
   */
  void admit(RpcOperators operators);

  /**
   * Returns the revocation list in force, for organs with a listener of their own. It is empty
   * before the first revocation.
   *
   * @throws dev.polis.pki.IdentityException if the list is unknown; then no peer is accepted
   */
  Optional<Crl> revoked();

  /** Returns the state of the revocation list, with each change. */
  Value<RpcRevocations> revocations();

  /**
   * Serves a service outside the service registry, for tests and programs without one.
   *
   * @param listener name of the listener
   * @return its close ends the service in the same way as an organ's unregistration
   * @throws IllegalArgumentException if there is no such listener, naming those there are
   */
  RpcRegistration serve(String listener, BindableService service);

  /**
   * Returns the status of the listeners in the order of their names, and of other ports while
   * strangers flood them.
   */
  Value<List<RpcListenerStatus>> listeners();

  /** Returns the counts since the host started. */
  RpcStatistics statistics();

  /** Returns the threads on which organs compute for calls; the host closes them. */
  ComputingThreads computing();

  /**
   * Returns the audit log of this node. The storage organ chooses the directory of its files; other
   * organs may add a note.
   */
  AuditLog audit();
}
