package dev.polis.curator.api;

import com.google.protobuf.Timestamp;
import dev.polis.base.config.DidYouMean;
import dev.polis.curator.leader.ApiCalls;
import dev.polis.curator.leader.LeaderGate;
import dev.polis.curator.leader.LeaderTerm;
import dev.polis.curator.record.CuratorPki;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.IssuedCertificate;
import dev.polis.pki.NodeId;
import dev.polis.wire.cluster.CertificatesGrpc;
import dev.polis.wire.cluster.IssuedCertificate.Kind;
import dev.polis.wire.cluster.IssuedCertificate.State;
import dev.polis.wire.cluster.ListCertificatesRequest;
import dev.polis.wire.cluster.ListCertificatesResponse;
import dev.polis.wire.cluster.RevokeCertificatesRequest;
import dev.polis.wire.cluster.RevokeCertificatesResponse;
import io.grpc.stub.StreamObserver;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Serves the Certificates API, for operators and nodes: lists the certificates of nodes and users,
 * and revokes them. Each curator follows the revocation list in etcd, so a revoked certificate is
 * refused everywhere at once.
 */
public final class CertificatesApi extends CertificatesGrpc.CertificatesImplBase {

  private static final Pattern SERIAL = Pattern.compile("[0-9a-f]{1,32}");

  private final LeaderGate gate;
  private final NodeRemoval removal;
  private final InstantSource clock;

  /**
   * @param self the node that leads, which does not revoke its own certificates
   */
  public CertificatesApi(NodeId self, LeaderGate gate, InstantSource clock) {
    this.gate = gate;
    this.removal = new NodeRemoval(self);
    this.clock = clock;
  }

  @Override
  public void listCertificates(
      ListCertificatesRequest request, StreamObserver<ListCertificatesResponse> caller) {
    ApiCalls.unary(
        gate,
        caller,
        term ->
            ListCertificatesResponse.newBuilder()
                .addAllCertificates(wire(term.pki().issued()))
                .build());
  }

  @Override
  public void revokeCertificates(
      RevokeCertificatesRequest request, StreamObserver<RevokeCertificatesResponse> caller) {
    check(request);
    ApiCalls.unary(gate, caller, term -> revoke(term, request));
  }

  private static void check(RevokeCertificatesRequest request) {
    switch (request.getTargetCase()) {
      case SERIAL -> {
        if (!SERIAL.matcher(request.getSerial()).matches()) {
          throw Refusal.invalid(
              "\"%s\" is no serial number; one has up to 32 hexadecimal digits in lower case",
              request.getSerial());
        }
      }
      case NODE, USER -> {}
      case TARGET_NOT_SET ->
          throw Refusal.invalid("name what to revoke: set one of serial, node, user");
    }
  }

  private RevokeCertificatesResponse revoke(LeaderTerm term, RevokeCertificatesRequest request)
      throws InterruptedException {
    List<IssuedCertificate> all = term.pki().issued();
    List<IssuedCertificate> chosen = all.stream().filter(target(request)).toList();
    if (chosen.isEmpty()) {
      throw unknown(request, all);
    }
    Optional<String> holder =
        chosen.stream()
            .filter(each -> each.newest() && !each.revoked())
            .map(IssuedCertificate::name)
            .findFirst();
    List<String> consequences = List.of();
    if (holder.isPresent()) {
      consequences = revokeHolder(term, holder.get(), request.getForce());
    } else {
      term.pki().revokeSerials(chosen.stream().map(IssuedCertificate::serial).toList());
    }
    Predicate<IssuedCertificate> theirs =
        holder
            .<Predicate<IssuedCertificate>>map(name -> each -> each.name().equals(name))
            .orElse(target(request));
    return RevokeCertificatesResponse.newBuilder()
        .addAllRevoked(wire(term.pki().issued().stream().filter(theirs).toList()))
        .addAllConsequences(consequences)
        .build();
  }

  private static Predicate<IssuedCertificate> target(RevokeCertificatesRequest request) {
    return each ->
        switch (request.getTargetCase()) {
          case SERIAL -> serial(each).equals(request.getSerial());
          case NODE ->
              CuratorPki.nodeOf(each.name())
                  .map(NodeId::text)
                  .equals(Optional.of(request.getNode()));
          case USER ->
              CuratorPki.nodeOf(each.name()).isEmpty() && each.name().equals(request.getUser());
          case TARGET_NOT_SET -> false;
        };
  }

  private static RuntimeException unknown(
      RevokeCertificatesRequest request, List<IssuedCertificate> all) {
    return switch (request.getTargetCase()) {
      case NODE ->
          Refusal.notFound(
              "the cluster has issued no certificate to a node \"%s\"%s",
              request.getNode(), DidYouMean.among(request.getNode(), holders(all, Kind.KIND_NODE)));
      case USER ->
          Refusal.notFound(
              "the cluster has issued no certificate to a user \"%s\"%s",
              request.getUser(), DidYouMean.among(request.getUser(), holders(all, Kind.KIND_USER)));
      default ->
          Refusal.notFound(
              "no certificate of the cluster has the serial number %s, or it has expired%s",
              request.getSerial(),
              DidYouMean.guess(
                  request.getSerial(), all.stream().map(CertificatesApi::serial).toList()));
    };
  }

  private static List<String> holders(List<IssuedCertificate> all, Kind kind) {
    return all.stream()
        .filter(each -> kind(each) == kind)
        .map(CertificatesApi::holder)
        .distinct()
        .toList();
  }

  /** Revokes all certificates of a holder, who gets none again, and returns the consequences. */
  private List<String> revokeHolder(LeaderTerm term, String name, boolean force)
      throws InterruptedException {
    Optional<NodeId> node = CuratorPki.nodeOf(name);
    if (node.isPresent()) {
      removal.requireRevocable(term, node.get());
    }
    List<String> consequences =
        List.of(node.map(CertificatesApi::consequence).orElseGet(() -> consequence(name)));
    if (!force) {
      throw Refusal.precondition(
          "nothing was revoked: %s; repeat the call with force to revoke it all the same",
          String.join("; ", consequences));
    }
    if (node.isPresent()) {
      removal.revoke(term, node.get());
    } else {
      term.pki().revokeUser(name);
    }
    return consequences;
  }

  private static String consequence(String user) {
    return user.equals(AaaApi.OWNER)
        ? "user \"%s\" gets no certificate again, and no operator can replace it: no command that gives access is accepted any more"
            .formatted(user)
        : "operator \"%s\" gets no certificate until the owner removes and adds it again (polisctl operator remove, polisctl operator add)"
            .formatted(user);
  }

  private static String consequence(NodeId node) {
    return "node %s leaves the cluster for good and erases its credentials; its record stays, as decommissioned, until polisctl node delete --bypass-has-roles %s"
        .formatted(node, node);
  }

  private List<dev.polis.wire.cluster.IssuedCertificate> wire(List<IssuedCertificate> all) {
    Instant now = clock.instant();
    return all.stream().map(each -> wire(each, now)).toList();
  }

  private static dev.polis.wire.cluster.IssuedCertificate wire(
      IssuedCertificate each, Instant now) {
    dev.polis.wire.cluster.IssuedCertificate.Builder wire =
        dev.polis.wire.cluster.IssuedCertificate.newBuilder()
            .setSerial(serial(each))
            .setKind(kind(each))
            .setHolder(holder(each))
            .setNotAfter(timestamp(each.notAfter()))
            .setState(state(each, now));
    each.notBefore().ifPresent(begin -> wire.setNotBefore(timestamp(begin)));
    return wire.build();
  }

  private static String serial(IssuedCertificate each) {
    return each.serial().toString(16);
  }

  private static Kind kind(IssuedCertificate each) {
    return CuratorPki.nodeOf(each.name()).isPresent() ? Kind.KIND_NODE : Kind.KIND_USER;
  }

  private static String holder(IssuedCertificate each) {
    return CuratorPki.nodeOf(each.name()).map(NodeId::text).orElse(each.name());
  }

  private static State state(IssuedCertificate each, Instant now) {
    if (each.revoked()) {
      return State.STATE_REVOKED;
    }
    if (now.isAfter(each.notAfter())) {
      return State.STATE_EXPIRED;
    }
    return each.newest() ? State.STATE_PRESENT : State.STATE_SUPERSEDED;
  }

  private static Timestamp timestamp(Instant time) {
    return Timestamp.newBuilder().setSeconds(time.getEpochSecond()).build();
  }
}
