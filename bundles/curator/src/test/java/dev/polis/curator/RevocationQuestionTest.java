package dev.polis.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import dev.polis.base.values.MutableValue;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.supervision.SupervisionTree;
import dev.polis.wire.cluster.GetRevocationsRequest;
import dev.polis.wire.cluster.GetRevocationsResponse;
import dev.polis.wire.cluster.MembershipGrpc;
import io.grpc.stub.StreamObserver;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.KeyPair;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Answers the question of a node about its own revocation, as curators and as liars do. */
@Timeout(60)
class RevocationQuestionTest {

  private static final int PORT = 7835;

  private final CertificateAuthority authority = CertificateAuthority.create("cluster");
  private final List<Crl> revoked = new CopyOnWriteArrayList<>();
  private final LogTree logs = LogTree.create();

  /** Counts the questions, and answers them with the present list. */
  private static final class Curator extends MembershipGrpc.MembershipImplBase {
    private final AtomicInteger asked = new AtomicInteger();
    private volatile byte[] list;

    Curator(byte[] first) {
      this.list = first;
    }

    @Override
    public void getRevocations(
        GetRevocationsRequest request, StreamObserver<GetRevocationsResponse> caller) {
      asked.incrementAndGet();
      caller.onNext(
          GetRevocationsResponse.newBuilder().setRevocations(ByteString.copyFrom(list)).build());
      caller.onCompleted();
    }

    /** Answers with a list from now on, and waits until the node has asked for it. */
    void answers(byte[] next) throws Exception {
      int before = asked.get();
      list = next;
      // One of the calls may have taken the former list.
      Await.until(
          CuratorFixture.SOON, "two more questions", () -> asked.get() >= before + 2, asked::get);
    }
  }

  private NodeCredentials credentials() {
    KeyPair key = Ed25519.generate();
    return new NodeCredentials(
        key.getPrivate(), authority.issueNode(key.getPublic()), authority.certificate());
  }

  private static InetAddress ownAddress() {
    long process = ProcessHandle.current().pid();
    return InetAddress.ofLiteral("127.%d.%d.1".formatted(160 + process / 250 % 40, process % 250));
  }

  private LocalTrust trust() {
    RpcHost rpc =
        (RpcHost)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {RpcHost.class},
                (self, method, arguments) -> {
                  if (!method.getName().equals("revoke")) {
                    throw new AssertionError("the fake host does not support " + method);
                  }
                  revoked.add((Crl) arguments[0]);
                  return null;
                });
    return new LocalTrust(rpc, keys -> {});
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "a list that does not revoke this node, or that another CA has signed, changes nothing")
  void onlyTheOwnAuthority() throws Exception {
    NodeCredentials own = credentials();
    BigInteger serial = own.certificate().getSerialNumber();
    Crl others = authority.revocationList(BigInteger.ONE, List.of(BigInteger.TEN));
    Crl forged =
        CertificateAuthority.create("cluster").revocationList(BigInteger.TWO, List.of(serial));
    Crl real = authority.revocationList(BigInteger.TWO, List.of(BigInteger.TEN, serial));
    Curator curator = new Curator(others.der());
    InetSocketAddress address = new InetSocketAddress(ownAddress(), PORT);
    MutableValue<Boolean> silence = new MutableValue<>(false);
    try (LocalRpcHost host =
            new LocalRpcHost(
                new RpcSettings(
                    List.of(new RpcSettings.Listener(RpcHost.CURATOR, address, true)),
                    RpcSettings.Limits.DEFAULT),
                logs);
        SupervisionTree tree = SupervisionTree.open(logs)) {
      NodeCredentials leader = credentials();
      host.identify(leader);
      host.serve(RpcHost.CURATOR, curator);
      tree.organ("curator")
          .run(
              "revocation",
              new RevocationQuestion(
                      silence, Set.of(new NodeEndpoint(leader.id(), address)), () -> own, trust())
                  ::run);

      silence.set(true);
      curator.answers(others.der());
      curator.answers(forged.der());
      curator.answers(new byte[] {1, 2, 3});
      assertEquals(List.of(), revoked);

      curator.list = real.der();
      Await.until(CuratorFixture.SOON, "the node to be revoked", () -> !revoked.isEmpty());
      assertEquals(List.of(real), revoked);
    }
  }
}
