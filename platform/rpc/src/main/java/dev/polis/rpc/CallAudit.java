package dev.polis.rpc;

import dev.polis.rpc.audit.AuditFullException;
import dev.polis.rpc.audit.AuditLog;
import io.grpc.Status;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Decides which calls the audit log keeps. Changes by peers with a certificate are kept one by one;
 * refusals of strangers and nodes' reports about themselves are counted.
 */
final class CallAudit {
  /** The length of an IPv6 prefix that a site gets: one site has 2^64 addresses. */
  private static final int SITE_BYTES = 8;

  /**
   * Methods that strangers may call and that do something, such as loading an image by the debug
   * port, are kept one by one, ten of them at once and one more each minute; the rest is counted.
   * As many refused ones are kept, each once.
   */
  private static final int BURST = 10;

  private static final Duration INTERVAL = Duration.ofMinutes(1);

  /** Some hours of refusals, by their budget, in some tens of KiB. */
  private static final int MOST_TOLD = 256;

  private final AuditLog log;
  private final LogBudget strangers = new LogBudget(BURST, INTERVAL, System::nanoTime);
  private final LogBudget refusals = new LogBudget(BURST, INTERVAL, System::nanoTime);
  private final Set<String> told = ConcurrentHashMap.newKeySet();

  CallAudit(AuditLog log) {
    this.log = log;
  }

  /** Returns whether a call of this peer is written before its handler is asked. */
  static boolean announces(CallRule rule, RpcPeer peer) {
    return rule.mutating() && !rule.selfReport() && !stranger(peer);
  }

  /** Returns whether the audit log keeps or counts the end of a call. */
  static boolean records(CallRule rule, RpcPeer peer, Status status) {
    return rule.mutating() || stranger(peer) && !status.isOk();
  }

  private static boolean stranger(RpcPeer peer) {
    return peer instanceof RpcPeer.Unauthenticated;
  }

  /**
   * Records that a call begins.
   *
   * @return a ticket for {@link #await}
   * @throws RpcException UNAVAILABLE if the audit log cannot take another record
   */
  long begin(String id, CallRule rule, RpcPeer peer, String said) {
    try {
      return log.begin(id, peer.identity(), rule.method(), said);
    } catch (AuditFullException full) {
      throw RpcException.unavailable(full.getMessage(), full.retryAfter());
    }
  }

  /**
   * Records that a call ended.
   *
   * @param begun whether the audit log has a BEGIN record of the call
   * @param said the request, redacted
   * @param source the address of the caller
   * @return a ticket for {@link #await}
   */
  long finished(
      String id,
      CallRule rule,
      RpcPeer peer,
      boolean begun,
      String outcome,
      Status status,
      String said,
      SocketAddress source) {
    if (begun) {
      log.end(id, peer.identity(), rule.method(), outcome);
      return 0;
    }
    if (peer instanceof RpcPeer.Unauthenticated stranger
        && (status.isOk() ? crowd(stranger) : !reasoned(rule, stranger, status))) {
      log.refused(place(source), status.getCode() + " " + rule.method());
      return 0;
    }
    if (rule.selfReport()) {
      log.reported(peer.identity(), rule.method(), status.getCode().name());
      return 0;
    }
    return rule.mutating()
        ? log.call(id, peer.identity(), rule.method(), outcome + "; " + said)
        : 0;
  }

  /** Returns whether callers that proved no key have used up the budget of records. */
  private boolean crowd(RpcPeer.Unauthenticated peer) {
    return peer.publicKey().isEmpty() && strangers.take().isEmpty();
  }

  /**
   * Returns whether the refusal of a machine that has proved a key gets a record with its reason: a
   * wrong ticket is seen on the machine and here. The same refusal again is counted.
   */
  private boolean reasoned(CallRule rule, RpcPeer.Unauthenticated peer, Status status) {
    if (!rule.mutating()
        || peer.publicKey().isEmpty()
        || status.getCode() == Status.Code.UNAUTHENTICATED) {
      return false;
    }
    String refusal = String.join(" ", peer.identity(), rule.method(), status.getDescription());
    if (told.contains(refusal) || refusals.take().isEmpty()) {
      return false;
    }
    if (told.size() >= MOST_TOLD) {
      told.clear();
    }
    return told.add(refusal);
  }

  /** Waits until a record is on the disk, or held because there is no disk for it. */
  void await(long ticket) throws InterruptedException {
    if (ticket > 0) {
      log.await(ticket);
    }
  }

  /** Returns the address of a peer without its port, and only the site of an IPv6 address. */
  static String place(SocketAddress source) {
    if (!(source instanceof InetSocketAddress address) || address.getAddress() == null) {
      return "an unknown address";
    }
    if (!(address.getAddress() instanceof Inet6Address wide)) {
      return address.getAddress().getHostAddress();
    }
    try {
      byte[] site = Arrays.copyOf(Arrays.copyOf(wide.getAddress(), SITE_BYTES), 16);
      return InetAddress.getByAddress(site).getHostAddress() + "/64";
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address of 16 bytes was refused", e);
    }
  }
}
