package dev.polis.cluster;

import com.google.protobuf.ByteString;
import dev.polis.api.cluster.EnrolmentException;
import dev.polis.base.backoff.Backoff;
import dev.polis.base.boot.Wait;
import dev.polis.logtree.Log;
import dev.polis.pki.CaBundle;
import dev.polis.pki.IdentityException;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.HostPort;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.rpc.resolver.LeaderResolver;
import dev.polis.wire.curator.CuratorGrpc;
import dev.polis.wire.curator.CuratorGrpc.CuratorBlockingV2Stub;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.AbstractStub;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Calls the leader of a cluster with a self-signed certificate of one of this node's keys, for a
 * node that has no certificate of the cluster, or cannot read it yet. For one thread.
 */
final class ClusterCalls implements AutoCloseable {

  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final Duration FIRST_PAUSE = Duration.ofMillis(250);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  /** A call with one of these outcomes may succeed later without any change by a person. */
  private static final Set<Status.Code> TEMPORARY =
      Set.of(
          Status.Code.UNAVAILABLE,
          Status.Code.DEADLINE_EXCEEDED,
          Status.Code.RESOURCE_EXHAUSTED,
          Status.Code.ABORTED,
          Status.Code.CANCELLED,
          Status.Code.UNKNOWN,
          Status.Code.INTERNAL);

  /** Makes one call. */
  @FunctionalInterface
  interface Call<T> {
    T make(CuratorBlockingV2Stub leader) throws StatusException;
  }

  private final Set<NodeEndpoint> curators;
  private volatile CaBundle ca;
  private final LeaderResolver resolver;
  private final ManagedChannel channel;

  /**
   * Begins to look for the leader.
   *
   * @param key what this node proves
   * @param ca the CA of the cluster
   * @param curators some of its curators, at least one
   */
  ClusterCalls(KeyPair key, CaBundle ca, Set<NodeEndpoint> curators, Log log) {
    this.curators = curators;
    this.ca = ca;
    this.resolver =
        LeaderResolver.fixed(
            curators, RpcClients.ephemeral(key, RpcTrust.cluster(this::authorities)), log);
    this.channel = resolver.channel();
  }

  /** Returns the CAs of the cluster, with a newer one that the curators have proved. */
  CaBundle authorities() {
    return ca;
  }

  /** Returns the CA that issues now, if a curator names it and it is a trusted one. */
  Optional<X509Certificate> issuing() {
    for (InetSocketAddress curator : addresses()) {
      try {
        return Optional.of(askForCa(curator)).filter(each -> ca.contains(each));
      } catch (PkiException | StatusException noAnswer) {
        // The next one may answer; without any the node trusts what it knows.
      }
    }
    return Optional.empty();
  }

  private void learn(List<X509Certificate> succession) {
    try {
      ca = ca.learn(succession);
    } catch (IdentityException foreign) {
      // The CA itself, which the caller compares, shows that this is another cluster.
    }
  }

  private static X509Certificate certificate(ByteString der) {
    return Pem.certificate(der.toByteArray());
  }

  /** Holds the answers of all curators to the question of their CA. */
  private record Replies(boolean found, List<String> foreign, List<String> silent) {}

  /**
   * Waits until a curator of the cluster answers.
   *
   * @throws EnrolmentException if each address belongs to another cluster
   */
  String awaitCluster(Wait wait) throws InterruptedException {
    Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    while (true) {
      Replies replies = askAll();
      if (replies.found()) {
        return "at " + CuratorAddresses.text(curators);
      }
      if (replies.silent().isEmpty()) {
        throw new EnrolmentException(
            "the curators belong to another cluster than ca_certificate of the parameters (CA %s): %s;"
                    .formatted(ca.issuing().getSerialNumber(), String.join(", ", replies.foreign()))
                + " make new node parameters in the right cluster: polisctl params make --register");
      }
      wait.detail("no answer yet: " + String.join("; ", replies.silent()));
      backoff.pause();
    }
  }

  private Replies askAll() {
    boolean found = false;
    List<String> foreign = new ArrayList<>();
    List<String> silent = new ArrayList<>();
    for (InetSocketAddress curator : addresses()) {
      try {
        X509Certificate theirs = askForCa(curator);
        found |= ca.contains(theirs);
        foreign.add("%s has CA %s".formatted(HostPort.of(curator), theirs.getSerialNumber()));
      } catch (PkiException garbage) {
        // Another program may have the address by now, and must not end the search.
        foreign.add("%s: %s".formatted(HostPort.of(curator), garbage.getMessage()));
      } catch (StatusException noAnswer) {
        silent.add("%s: %s".formatted(HostPort.of(curator), noAnswer.getMessage()));
      }
    }
    return new Replies(found, foreign, silent);
  }

  private List<InetSocketAddress> addresses() {
    return curators.stream().map(NodeEndpoint::address).toList();
  }

  private X509Certificate askForCa(InetSocketAddress curator) throws StatusException {
    ManagedChannel stranger = RpcClients.anonymous(RpcTrust.anybody()).dial(curator);
    try {
      GetCACertificateResponse answer =
          limited(CuratorLocalGrpc.newBlockingV2Stub(stranger))
              .getCACertificate(GetCACertificateRequest.getDefaultInstance());
      learn(answer.getCaSuccessionList().stream().map(ClusterCalls::certificate).toList());
      return certificate(answer.getIdentityCaCertificate());
    } finally {
      stranger.shutdownNow();
    }
  }

  /**
   * Makes a call, again and again while only time or another node keeps it from succeeding.
   *
   * @throws StatusException if the leader refuses it for good
   */
  <T> T call(Wait wait, Call<T> call) throws StatusException, InterruptedException {
    return call(wait, "", call);
  }

  /**
   * Makes a call in the same way.
   *
   * @param remedy ends the text of the wait: what an operator does if no leader comes
   */
  <T> T call(Wait wait, String remedy, Call<T> call) throws StatusException, InterruptedException {
    Backoff backoff = new Backoff(FIRST_PAUSE, LONGEST_PAUSE);
    while (true) {
      try {
        return call.make(limited(CuratorGrpc.newBlockingV2Stub(channel)));
      } catch (StatusException e) {
        if (!TEMPORARY.contains(e.getStatus().getCode())) {
          throw e;
        }
        // The nodes may have certificates of a CA that is newer than those this node knows.
        askAll();
        wait.detail(
            "no leader answers at %s yet: %s%s"
                .formatted(CuratorAddresses.text(curators), e.getMessage(), remedy));
      }
      backoff.pause();
    }
  }

  /**
   * Makes a call once, and waits {@link #LIMIT} for a leader and its answer.
   *
   * @throws StatusException if no leader answers, or the leader refuses it
   */
  <T> T once(Call<T> call) throws StatusException {
    return call.make(limited(CuratorGrpc.newBlockingV2Stub(channel)));
  }

  /** Returns a stub whose calls end {@link #LIMIT} from now. */
  static <S extends AbstractStub<S>> S limited(S stub) {
    return stub.withDeadlineAfter(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    resolver.close();
  }
}
