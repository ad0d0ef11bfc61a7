package dev.polis.ctl;

import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.ManagementGrpc;
import dev.polis.wire.api.NodeDebugServiceGrpc;
import dev.polis.wire.api.NodeManagementGrpc;
import dev.polis.wire.cluster.EtcdGrpc;
import dev.polis.wire.debug.DebugGrpc;
import dev.polis.wire.plugins.PluginsGrpc;
import dev.polis.wire.recovery.RecoveryGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.AbstractStub;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;

/** The channels of one command. */
final class Session implements AutoCloseable {

  static final int CURATOR_PORT = 7835;
  static final int DEBUG_PORT = 7837;
  static final int MANAGEMENT_PORT = 7839;

  /** A call. */
  @FunctionalInterface
  interface Call<T> {
    T run() throws StatusException, InterruptedException;
  }

  private final CtlTarget target;
  private final int timeout;
  private final List<ManagedChannel> channels = new ArrayList<>();

  /** What to type, for a refusal that it would help against. */
  private final String takeOwnership;

  private Session(CtlOptions options) {
    this.target = options.target();
    this.timeout = options.timeout;
    this.takeOwnership = options.command("takeownership");
  }

  static Session open(CtlOptions options) {
    CtlOptions.requireAtLeast(1, options.timeout, "--timeout");
    return new Session(options);
  }

  CtlTarget target() {
    return target;
  }

  ManagementGrpc.ManagementBlockingV2Stub management() {
    return limited(ManagementGrpc.newBlockingV2Stub(asOwner(CURATOR_PORT)));
  }

  EtcdGrpc.EtcdBlockingV2Stub etcd() {
    return limited(EtcdGrpc.newBlockingV2Stub(asOwner(CURATOR_PORT)));
  }

  PluginsGrpc.PluginsBlockingV2Stub bundles() {
    return limited(PluginsGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT)));
  }

  RecoveryGrpc.RecoveryBlockingV2Stub recovery() {
    return limited(RecoveryGrpc.newBlockingV2Stub(asOwner(MANAGEMENT_PORT)));
  }

  /** Without a deadline: a log that is followed has no end. */
  NodeManagementGrpc.NodeManagementBlockingV2Stub node(String address) {
    return NodeManagementGrpc.newBlockingV2Stub(
        keep(owner().dial(resolved(address, MANAGEMENT_PORT))));
  }

  DebugGrpc.DebugBlockingV2Stub debug() {
    return limited(DebugGrpc.newBlockingV2Stub(plaintext()));
  }

  NodeDebugServiceGrpc.NodeDebugServiceBlockingV2Stub nodeDebug() {
    return NodeDebugServiceGrpc.newBlockingV2Stub(plaintext());
  }

  private ManagedChannel plaintext() {
    return keep(RpcClients.plaintext(address(DEBUG_PORT)));
  }

  private <S extends AbstractStub<S>> S limited(S stub) {
    return stub.withDeadlineAfter(timeout, TimeUnit.SECONDS);
  }

  private ManagedChannel asOwner(int port) {
    return keep(owner().dial(address(port)));
  }

  String host() {
    return target.endpoint();
  }

  InetSocketAddress address(int port) {
    return resolved(host(), port);
  }

  private static InetSocketAddress resolved(String host, int port) {
    InetSocketAddress address = new InetSocketAddress(host, port);
    if (address.isUnresolved()) {
      throw new CtlException(
          ExitCode.UNREACHABLE,
          "no address is known for \"%s\"; give an IP address, or a name that resolves, without a port"
              .formatted(host));
    }
    return address;
  }

  ManagedChannel keep(ManagedChannel channel) {
    channels.add(channel);
    return channel;
  }

  private RpcClients owner() {
    UserCredentials credentials = credentials();
    return RpcClients.authenticated(credentials.tls(), RpcTrust.cluster(credentials.ca()));
  }

  private UserCredentials credentials() {
    String remedy = "take ownership first: " + takeOwnership;
    String key = CtlFiles.read(target.ownerKey(), remedy);
    String certificate = CtlFiles.read(target.ownerCertificate(), remedy);
    String ca = CtlFiles.read(target.clusterCa(), remedy);
    try {
      return UserCredentials.fromPem(key, certificate, ca);
    } catch (PkiException e) {
      throw new CtlException(
          ExitCode.FAILED,
          "the owner's files in %s do not fit together: %s; %s"
              .formatted(target.folder(), e.getMessage(), remedy),
          e);
    }
  }

  /** Makes a call and turns its refusal into the line that the operator reads. */
  <T> T call(Call<T> call) throws InterruptedException {
    try {
      return call.run();
    } catch (StatusException e) {
      throw refusal(e.getStatus());
    }
  }

  private CtlException refusal(Status status) {
    String why = status.getDescription() == null ? "no reason given" : status.getDescription();
    Optional<Throwable> distrust = causes(status).filter(Session::isDistrust).findFirst();
    if (distrust.isPresent()) {
      return new CtlException(
          ExitCode.FAILED,
          "%s is there, but it and the files in %s do not trust each other: %s; if it is the right"
                  .formatted(host(), target.folder(), distrust.get().getMessage())
              + " cluster, remove ca.pem there and take ownership again: "
              + takeOwnership,
          status.getCause());
    }
    if (status.getCode() == Status.Code.UNAVAILABLE && status.getCause() == null) {
      // What cannot be reached has a cause on this side; without one the node itself has said so.
      return new CtlException(
          ExitCode.UNREACHABLE, "%s cannot answer now: %s".formatted(host(), why));
    }
    return switch (status.getCode()) {
      case UNAVAILABLE, DEADLINE_EXCEEDED ->
          new CtlException(
              ExitCode.UNREACHABLE,
              "%s does not answer (%s: %s%s); is the node up? './polis up' starts one here"
                  .formatted(host(), status.getCode(), why, cause(status)));
      case NOT_FOUND -> new CtlException(ExitCode.NOT_FOUND, why);
      default -> new CtlException(ExitCode.FAILED, status.getCode() + ": " + why);
    };
  }

  private static String cause(Status status) {
    return status.getCause() == null ? "" : ", " + status.getCause().getMessage();
  }

  private static Stream<Throwable> causes(Status status) {
    return Stream.iterate(status.getCause(), Objects::nonNull, Throwable::getCause);
  }

  private static boolean isDistrust(Throwable cause) {
    return cause instanceof SSLException || cause instanceof CertificateException;
  }

  /** Reads a certificate that was written by this tool or by a node. */
  static X509Certificate certificate(Path file, String remedy) {
    try {
      return Pem.certificate(CtlFiles.read(file, remedy));
    } catch (PkiException e) {
      throw new CtlException(
          ExitCode.FAILED, file + " is no certificate: " + e.getMessage() + "; " + remedy, e);
    }
  }

  @Override
  public void close() {
    channels.forEach(ManagedChannel::shutdownNow);
  }
}
