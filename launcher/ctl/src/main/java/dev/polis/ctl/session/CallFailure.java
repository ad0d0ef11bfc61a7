package dev.polis.ctl.session;

import dev.polis.base.posix.Machine;
import dev.polis.pki.WrongNodeException;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.Reach;
import dev.polis.rpc.RpcException;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.ssl.NotSslRecordException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;

/**
 * Explains why a call failed, in a sentence with the address and what to do. What the node itself
 * said is kept; what the libraries of this program say of a broken connection is not shown.
 *
 * @param failure how the call ended
 * @param address where it was to go
 * @param sent whether it left this machine
 * @param target whose address that is
 * @param timeout how many seconds an answer was waited for
 * @param takeOwnership what to type to get a new certificate
 */
record CallFailure(
    StatusException failure,
    InetSocketAddress address,
    boolean sent,
    CtlTarget target,
    int timeout,
    String takeOwnership) {

  /** Codes with which gRPC itself ends calls; with others, only the other side does. */
  private static final Set<Status.Code> LOCAL =
      EnumSet.of(
          Status.Code.UNAVAILABLE,
          Status.Code.DEADLINE_EXCEEDED,
          Status.Code.CANCELLED,
          Status.Code.INTERNAL,
          Status.Code.UNKNOWN,
          Status.Code.UNIMPLEMENTED);

  private static final Metadata.Key<String> CONTENT_TYPE =
      Metadata.Key.of("content-type", Metadata.ASCII_STRING_MARSHALLER);

  /**
   * Begins the description, without a cause, that gRPC gives of a peer that closes during the
   * handshake.
   */
  private static final String CLOSED_IN_HANDSHAKE = "Connection closed while performing TLS";

  /** The time for a connection after a call without an answer; a machine that is up needs ms. */
  private static final Duration PROBE = Duration.ofSeconds(1);

  /** The words of {@link dev.polis.pki.Identity} about a certificate of another CA. */
  private static final Pattern OTHER_CA =
      Pattern.compile("is issued by .*, not by|is not signed by");

  /** The words of {@link dev.polis.pki.TlsTrust} about a revoked certificate. */
  private static final String REVOKED = "is revoked";

  private static final String ALERT = "Received fatal alert: ";

  /** Returns what the operator reads. */
  CtlException explain() {
    return saidByNode()
        ? refusal()
        : stopped().or(this::elsewhere).or(this::changed).orElseGet(this::connection);
  }

  /** Refuses a node on this machine whose process a signal has stopped. */
  private Optional<CtlException> stopped() {
    return target
        .stoppedAt(address)
        .map(
            node ->
                unreachable(
                    "%1$s does not answer: the process %2$d of the node on %3$s is held by a signal; 'kill -CONT %2$d' lets it run",
                    node.process(), CtlName.quoted(node.state())));
  }

  /**
   * Refuses an address at which the node on this machine listens and which the machine no longer
   * has: another node answers there.
   */
  private Optional<CtlException> elsewhere() {
    InetAddress where = address.getAddress();
    if (where == null || !target.listenersNow().has(address) || isHere(where)) {
      return Optional.empty();
    }
    return Optional.of(
        unreachable(
            "the node on %2$s listens at %1$s, which is not an address of this machine now: give it back to an interface that is up (ip addr add ADDRESS dev NAME), and the node continues by itself",
            CtlName.quoted(target.name())));
  }

  /** Refuses a node on this machine that can not load the rest of its program. */
  private Optional<CtlException> changed() {
    if (!target.listenersNow().has(address)) {
      return Optional.empty();
    }
    return target
        .changedProgram()
        .map(
            jars ->
                unreachable(
                    "%1$s did not complete the call, and the node's program has changed on the disk since its process started: %3$s; copy the release, or build the checkout, whole again if that is not done; then './polis down --state %2$s' and './polis up --state %2$s' start the node with it; its data are unharmed",
                    CtlName.quoted(target.name()), jars));
  }

  private boolean isCutOffHere() {
    InetAddress where = address.getAddress();
    try {
      return where != null && isHere(where) && !Machine.loopbackIsUp();
    } catch (IOException unknown) {
      return false; // nothing is said that may be wrong
    }
  }

  private static boolean isHere(InetAddress where) {
    return where.isAnyLocalAddress() || where.isLoopbackAddress() || isOnInterface(where);
  }

  private static boolean isOnInterface(InetAddress where) {
    try {
      return NetworkInterface.getByInetAddress(where) != null;
    } catch (SocketException unknown) {
      return true; // nothing is said that may be wrong
    }
  }

  /** Returns whether the call cannot have reached a node: there was no connection to send it on. */
  boolean wasNeverSent() {
    return has(ConnectException.class) || !sent && wasCutOff();
  }

  /**
   * Returns whether the peer left in the handshake. The JDK and Netty have an exception for each of
   * the moments at which it may do so; a refusal has an alert, or a cause of its own.
   */
  private boolean wasClosedInHandshake() {
    return description().startsWith(CLOSED_IN_HANDSHAKE)
        || !sent
            && has(SSLException.class)
            && !has(CertificateException.class)
            && !has(NotSslRecordException.class)
            && alert().isEmpty();
  }

  /** Returns whether the node did nothing, and asks for the same call again. */
  boolean asksAgain() {
    return code() == Status.Code.UNAVAILABLE
        && failure.getTrailers() != null
        && failure.getTrailers().containsKey(RpcException.RETRY_DELAY);
  }

  /** Returns whether the leader does not know the outcome, and asks for the same change again. */
  boolean isUndecided() {
    return code() == Status.Code.UNKNOWN
        && failure.getTrailers() != null
        && failure.getTrailers().containsKey(RpcException.RETRY_DELAY);
  }

  /** Returns whether the node has not decided about the call, or not been reached. */
  boolean leavesOutcomeOpen() {
    return !saidByNode() || isUndecided() || asksAgain();
  }

  /** Returns whether the connection ended while the call was on its way, whatever became of it. */
  boolean wasCutOff() {
    return (code() == Status.Code.UNAVAILABLE || has(ClosedChannelException.class) || wasReset())
        && !saidByNode()
        && (tls().isEmpty() || wasClosedInHandshake());
  }

  /**
   * Returns whether the peer reset the call's stream, as a server does that ends at once. gRPC has
   * the same code for a caller that is no longer interested.
   */
  private boolean wasReset() {
    return code() == Status.Code.CANCELLED
        && failure.getStatus().getCause() == null
        && !Context.current().isCancelled();
  }

  /** Returns whether the time of the call was over. */
  boolean isLate() {
    return code() == Status.Code.DEADLINE_EXCEEDED;
  }

  private String description() {
    return Objects.requireNonNullElse(failure.getStatus().getDescription(), "no reason given");
  }

  private Status.Code code() {
    return failure.getStatus().getCode();
  }

  /** Returns whether the answer came over the wire, in gRPC's form. */
  boolean saidByNode() {
    if (failure.getStatus().getCause() != null) {
      return false;
    }
    Metadata trailers = failure.getTrailers() == null ? new Metadata() : failure.getTrailers();
    String type = trailers.get(CONTENT_TYPE);
    if (type != null && !type.startsWith("application/grpc")) {
      return false;
    }
    return !trailers.keys().isEmpty() || !LOCAL.contains(code());
  }

  private CtlException refusal() {
    String why = description();
    return switch (code()) {
      case UNAVAILABLE -> unreachable("%s cannot answer now: %s", why);
      case NOT_FOUND -> new CtlException(ExitCode.NOT_FOUND, why, failure);
      case UNAUTHENTICATED ->
          new CtlException(
              "%s does not accept the certificate in %s: %s; take ownership again: %s"
                  .formatted(HostPort.of(address), target.folder(), why, takeOwnership),
              failure);
      default -> new CtlException(code() + ": " + why, failure);
    };
  }

  private CtlException connection() {
    if (says("Cannot assign requested address")) {
      return sourceless();
    }
    if (isCutOffHere()) {
      return unreachable(
          "the interface lo of this machine is down, and the node at %s is reached through it; 'ip link set lo up' lets the node continue");
    }
    if (code() == Status.Code.DEADLINE_EXCEEDED || has(ConnectTimeoutException.class)) {
      return late();
    }
    if (has(NoRouteToHostException.class) || says("Network is unreachable")) {
      return unreachable("this machine has no route to %s: check the address and the network");
    }
    // The kernel's answers to a route of type blackhole or prohibit, and to a rule of the firewall.
    if (Stream.of("Invalid argument", "Permission denied", "Operation not permitted")
        .anyMatch(this::says)) {
      return unreachable(
          "a route or a firewall rule of this machine refuses connections to %s: 'ip route get %s', 'ip rule' and 'nft list ruleset' show it; remove it",
          address.getHostString());
    }
    if (has(ConnectException.class)) {
      return unreachable("%s does not answer: nothing listens there; %s", absence());
    }
    return tls().orElseGet(this::stranger);
  }

  /** Refuses a call for which this machine has no address, or no port, of its own. */
  private CtlException sourceless() {
    if (address.getAddress() instanceof Inet6Address where && !isOnInterface(where)) {
      return unreachable(
          "this machine has no IPv6 address for a connection to %s, or no local port left: give --endpoint an IPv4 address, or switch IPv6 on (sysctl -w net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.lo.disable_ipv6=0, as root); 'ip -6 address' and 'ss -tanp' show what is there");
    }
    return unreachable(
        "this machine has no local port left for a connection to %s: give it more (sysctl -w net.ipv4.ip_local_port_range='32768 60999', as root), or end what has them ('ss -tanp' shows it; ports of ended connections come back after a minute)");
  }

  /** Refuses a call without an answer in time, and tells how far a connection gets now. */
  private CtlException late() {
    return unreachable(
        "%s has not answered within %d s: %s; --timeout waits longer",
        timeout, late(address, Reach.of(address, PROBE)));
  }

  /** Says in a clause what is known of a server that is late, the likely before the rare. */
  static String late(InetSocketAddress address, Reach reach) {
    String remedy = reach.remedy(address);
    return switch (reach) {
      case ANSWERS ->
          "it takes connections, so the node is busy: try again"
              + (isHere(address.getAddress())
                  ? ""
                  : "; if that ends in the same way, the path loses packets, or drops large ones (path MTU): "
                      + remedy);
      case LOST -> "%s, or the address is wrong; to do: %s".formatted(reach.text(), remedy);
      default -> "%s; to do: %s".formatted(reach.text(), remedy);
    };
  }

  /** Returns why nothing listens, as far as the state directory of a node on this machine tells. */
  private String absence() {
    CtlListeners now = target.listenersNow();
    if (now.nodeIsDown()) {
      String state = CtlName.quoted(now.state());
      if (target.isRunning() && target.lacksFilesOfRun()) {
        return "the folder ephemeral of %1$s is gone while the node's process runs, and without it the process can neither answer nor start its programs; './polis down --state %1$s' and './polis up --state %1$s' make it again"
            .formatted(state);
      }
      if (target.isRunning()) {
        return "the node's process on %1$s has opened no listener: it is starting or ending, or hangs; './polis up --state %1$s' shows which"
            .formatted(state);
      }
      return target
          .lastCrash()
          .map(why -> ended(now.state(), why))
          .or(
              () ->
                  target
                      .killed()
                      .map(
                          how ->
                              "no node runs on %1$s: %2$s; './polis up --state %1$s' starts it again"
                                  .formatted(state, how)))
          .orElseGet(
              () -> "no node runs on %1$s; './polis up --state %1$s' starts it".formatted(state));
    }
    Optional<CtlListeners.Listener> listener = now.atPort(address.getPort());
    if (listener.isPresent() && !listener.get().open()) {
      return "the node's listener '%s' is not open: %s. '%s debug logs' shows the node's log"
          .formatted(listener.get().name(), listener.get().detail(), CtlName.called());
    }
    return "is the node up, and is it a member of its cluster already? './polis up' starts one here";
  }

  /** Returns why a node has ended, and the command that starts it. */
  static String ended(String state, String why) {
    return "no node runs on %1$s: its last run ended with: %2$s; repair that, then './polis up --state %1$s' starts it"
        .formatted(CtlName.quoted(state), why);
  }

  private Optional<CtlException> tls() {
    Optional<WrongNodeException> another = find(WrongNodeException.class);
    if (another.isPresent()) {
      return Optional.of(another(another.get()));
    }
    Optional<CertificateException> distrust = find(CertificateException.class);
    if (distrust.isPresent()) {
      return Optional.of(distrust(distrust.get().getMessage()));
    }
    if (has(NotSslRecordException.class)) {
      return Optional.of(
          unreachable(
              "the server at %s does not use TLS, so it is not a node of a cluster: check the address"));
    }
    if (wasClosedInHandshake()) {
      return Optional.of(
          unreachable(
              "%s closed the connection during the TLS handshake: the node may be stopping, or be no node of this cluster; check the address, and try again"));
    }
    return find(SSLException.class).map(_ -> broken());
  }

  /** Refuses another node of the cluster at the address of the one that is meant. */
  private CtlException another(WrongNodeException wrong) {
    String remembered =
        target
            .knownNodes()
            .fileOf(target.endpoint(), wrong.expected())
            .map(
                "; %s says which node answered there before: remove it if the machine was replaced"
                    ::formatted)
            .orElse("");
    return new CtlException(
        "%s answers, but not as the node that is meant: %s%s"
            .formatted(HostPort.of(address), wrong.getMessage(), remembered),
        failure);
  }

  private CtlException distrust(String why) {
    if (why.endsWith(REVOKED)) {
      return new CtlException(
          "%s answers with a certificate that your cluster has revoked, so the machine there is no node of it any more: %s; ask another node, or end what runs there"
              .formatted(HostPort.of(address), why),
          failure);
    }
    boolean known =
        isOfAnother()
            || target.node().isPresent()
            || target.knownNodes().at(target.endpoint()).isPresent();
    if (known && OTHER_CA.matcher(why).find()) {
      return new CtlException(
          "a server of another cluster has the address %s, at which your cluster has a node: %s; end that server or give it another address, and start the node; only if your cluster was made anew there, move ca.pem out of %s and take ownership again: %s"
              .formatted(HostPort.of(address), why, target.folder(), takeOwnership),
          failure);
    }
    return new CtlException(
        "%s is there, but it and the files in %s do not trust each other: %s; check the address: a node of another cluster may have it now; only if your cluster was made anew there, move ca.pem out of that folder and take ownership again: %s"
            .formatted(HostPort.of(address), target.folder(), why, takeOwnership),
        failure);
  }

  /** Returns whether the call went to another node than the target's, of which the cluster told. */
  private boolean isOfAnother() {
    // An address has several forms, and a name several addresses.
    return !address.getHostString().equals(target.endpoint())
        && !address.equals(new InetSocketAddress(target.endpoint(), address.getPort()));
  }

  /** Returns the alert of TLS with which the peer refused the handshake. */
  private Optional<String> alert() {
    return find(SSLException.class)
        .map(Throwable::getMessage)
        .filter(message -> message.contains(ALERT))
        .map(message -> message.substring(message.indexOf(ALERT) + ALERT.length()));
  }

  private CtlException broken() {
    return alert()
        .map(
            alert ->
                unreachable(
                    "%s refused the TLS handshake with the alert %s: is it a node of a cluster? check the address",
                    alert))
        .orElseGet(
            () ->
                unreachable(
                    "the TLS connection to %s broke: the node may be stopping, or a device in between changes the data; try again"));
  }

  private CtlException stranger() {
    boolean http = failure.getTrailers() != null && failure.getTrailers().containsKey(CONTENT_TYPE);
    if (http || has(Http2Exception.class)) {
      return unreachable(
          "the server at %s does not speak the protocol of a node (gRPC): check the address");
    }
    if (code() == Status.Code.UNIMPLEMENTED || code() == Status.Code.INTERNAL) {
      return new CtlException(
          "%s ended the call with %s and did not say why".formatted(HostPort.of(address), code()),
          failure);
    }
    return unreachable(
        "%s closed the connection before it answered: the node may be stopping, or have too many connections; try again");
  }

  /**
   * Makes a sentence about the address.
   *
   * @param more what the sentence says besides, behind the address
   */
  private CtlException unreachable(String sentence, Object... more) {
    Object[] words = Stream.concat(Stream.of(HostPort.of(address)), Stream.of(more)).toArray();
    return new CtlException(ExitCode.UNREACHABLE, sentence.formatted(words), failure);
  }

  private boolean has(Class<? extends Throwable> type) {
    return find(type).isPresent();
  }

  private boolean says(String words) {
    return causes().stream()
        .anyMatch(cause -> cause.getMessage() != null && cause.getMessage().contains(words));
  }

  private <T extends Throwable> Optional<T> find(Class<T> type) {
    return causes().stream().filter(type::isInstance).map(type::cast).findFirst();
  }

  private List<Throwable> causes() {
    return Stream.iterate(failure.getStatus().getCause(), Objects::nonNull, Throwable::getCause)
        .toList();
  }
}
