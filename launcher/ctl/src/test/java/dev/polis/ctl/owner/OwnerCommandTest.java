package dev.polis.ctl.owner;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.polis.ctl.CtlRun;
import dev.polis.ctl.Ownership;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Session;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.OwnerKey;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.Pem;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import dev.polis.wire.cluster.RotateOwnerKeyResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rotates the owner's key of a cluster that this test plays, and interrupts it at each step. */
class OwnerCommandTest {

  private static final String ADDRESS =
      "127.82.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");

  @TempDir Path state;
  private Path owner;
  private final KeyPair first = Ed25519.generate();
  private final Cluster cluster = new Cluster();
  private LocalRpcHost host;

  /** Ends the next rotation so, after the cluster has made it or before. */
  private enum Fault {
    NONE,
    REFUSED,
    ANSWER_LOST
  }

  /** Plays the cluster: it accepts one owner's key. */
  private final class Cluster extends OwnerKeysGrpc.OwnerKeysImplBase {
    private final List<Boolean> keyWasOnDisk = new ArrayList<>();
    private volatile PublicKey accepted = first.getPublic();
    private volatile Fault fault = Fault.NONE;

    @Override
    public void rotateOwnerKey(
        RotateOwnerKeyRequest request, StreamObserver<RotateOwnerKeyResponse> caller) {
      PublicKey present = Ed25519.publicKey(request.getPresentPublicKey().toByteArray());
      PublicKey next = Ed25519.publicKey(request.getNewPublicKey().toByteArray());
      OwnerRotation rotation =
          new OwnerRotation(CLUSTER.certificate().getPublicKey(), present, next);
      keyWasOnDisk.add(Files.exists(next()) && Ed25519.match(OwnerKeyFile.read(next(), ""), next));
      if (fault == Fault.REFUSED) {
        throw new RpcException(Status.Code.RESOURCE_EXHAUSTED, "no room for a record");
      }
      if (!accepted.equals(present)
          || !rotation.isSignedBy(present, request.getPresentSignature().toByteArray())
          || !rotation.isSignedBy(next, request.getNewSignature().toByteArray())) {
        throw new RpcException(Status.Code.FAILED_PRECONDITION, "not signed by the owner's key");
      }
      accepted = next;
      if (fault == Fault.ANSWER_LOST) {
        throw RpcException.unauthenticated("the certificate was revoked");
      }
      caller.onNext(
          RotateOwnerKeyResponse.newBuilder()
              .setOwnerCertificate(ByteString.copyFrom(Pem.der(CLUSTER.issueUser("owner", next))))
              .build());
      caller.onCompleted();
    }
  }

  @BeforeEach
  void anOwnedCluster() throws Exception {
    host =
        new LocalRpcHost(
            new RpcSettings(
                List.of(
                    new RpcSettings.Listener(
                        RpcHost.CURATOR,
                        new InetSocketAddress(ADDRESS, Session.CURATOR_PORT),
                        true)),
                RpcSettings.Limits.DEFAULT),
            LogTree.create());
    host.serve(RpcHost.CURATOR, cluster);
    host.serve(RpcHost.CURATOR, new Ownership(CLUSTER, key -> key.equals(cluster.accepted)));
    KeyPair node = Ed25519.generate();
    host.identify(
        new NodeCredentials(
            node.getPrivate(), CLUSTER.issueNode(node.getPublic()), CLUSTER.certificate()));
    owner = Files.createDirectories(state.resolve("owner"));
    OwnerKeyFile.write(key(), first.getPrivate(), OwnerKey.Form.METROPOLIS);
    certify(first.getPublic());
    Files.writeString(owner.resolve("ca.pem"), Pem.encode(CLUSTER.certificate()));
  }

  @AfterEach
  void close() {
    host.close();
  }

  private void certify(PublicKey key) throws Exception {
    Files.writeString(owner.resolve("owner.pem"), Pem.encode(CLUSTER.issueUser("owner", key)));
  }

  private Path key() {
    return owner.resolve("owner-key.pem");
  }

  private Path next() {
    return owner.resolve("owner-key-next.pem");
  }

  private CtlRun run(String... words) {
    List<String> line =
        new ArrayList<>(List.of("--state=" + state, "--endpoint=" + ADDRESS, "--timeout=20"));
    line.addAll(List.of(words));
    return CtlRun.of(line.toArray(String[]::new));
  }

  private List<Path> formers() throws Exception {
    try (Stream<Path> files = Files.list(owner)) {
      return files.filter(each -> each.getFileName().toString().contains("former")).toList();
    }
  }

  /** Asserts that the folder has the key that the cluster accepts, with its certificate. */
  private void assertOwned() throws Exception {
    UserCredentials credentials =
        UserCredentials.fromPem(
            Files.readString(key()),
            Files.readString(owner.resolve("owner.pem")),
            Files.readString(owner.resolve("ca.pem")));
    assertEquals(cluster.accepted, credentials.certificate().getPublicKey());
    assertFalse(Files.exists(next()), "the rotation has not ended");
  }

  private void assertFormerIsAside() throws Exception {
    List<Path> formers = formers();
    assertEquals(1, formers.size(), formers::toString);
    PrivateKey former = OwnerKeyFile.read(formers.getFirst(), "");
    assertTrue(Ed25519.match(former, first.getPublic()), "another key was set aside");
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(formers.getFirst())));
  }

  @Test
  @DisplayName(
      "a rotation has the new key on the disk before the call, and sets the former one aside")
  void rotates() throws Exception {
    CtlRun run = run("owner", "rotate");

    assertEquals(0, run.code(), run.err());
    assertEquals(List.of(true), cluster.keyWasOnDisk);
    assertNotEquals(first.getPublic(), cluster.accepted);
    assertOwned();
    assertFormerIsAside();
    assertEquals(OwnerKey.Form.METROPOLIS, OwnerKey.form(Files.readString(key())));
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(key())));
    assertTrue(run.out().contains("former key opens nothing any more; it is in"), run.out());
    assertEquals("", run.err());
  }

  @Test
  @DisplayName("a rotation erases the former key if it is asked to")
  void erases() throws Exception {
    CtlRun run = run("owner", "rotate", "--erase-former");

    assertEquals(0, run.code(), run.err());
    assertOwned();
    assertEquals(List.of(), formers());
    assertTrue(run.out().contains("it is erased"), run.out());
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  @DisplayName(
      "a rotation whose answer is lost or a refusal ends with one key that opens the cluster")
  void faults(Fault fault) throws Exception {
    cluster.fault = fault;
    CtlRun run = run("owner", "rotate");
    if (fault == Fault.REFUSED) {
      assertEquals(1, run.code(), run.out());
      assertTrue(run.err().contains("no room for a record"), run.err());
      assertTrue(Files.exists(next()), "the new key is gone");
      assertEquals(first.getPublic(), cluster.accepted);
      PrivateKey made = OwnerKeyFile.read(next(), "");
      cluster.fault = Fault.NONE;

      CtlRun again = run("owner", "rotate");

      assertEquals(0, again.code(), again.err());
      assertTrue(
          again.err().contains("interrupted before the cluster accepted the new key"), again.err());
      assertTrue(Ed25519.match(made, cluster.accepted), "another key was made");
    } else {
      assertEquals(0, run.code(), run.err());
    }
    assertOwned();
    assertFormerIsAside();
  }

  /** Names the last step before an interruption after the cluster has accepted the new key. */
  private enum Step {
    ACCEPTED,
    SET_ASIDE,
    CERTIFIED,
    OVERWRITTEN,
    ERASED
  }

  private void interruptAfter(Step step) throws Exception {
    KeyPair made = Ed25519.generate();
    OwnerKeyFile.write(next(), made.getPrivate(), OwnerKey.Form.METROPOLIS);
    cluster.accepted = made.getPublic();
    if (step == Step.SET_ASIDE || step == Step.CERTIFIED) {
      Files.copy(
          key(),
          owner.resolve(
              "owner-key-former-%s.pem"
                  .formatted(HexFormat.of().formatHex(Ed25519.raw(first.getPublic()), 0, 8))));
    }
    if (step.compareTo(Step.CERTIFIED) >= 0) {
      certify(made.getPublic());
    }
    if (step == Step.OVERWRITTEN) {
      Files.write(key(), new byte[Math.toIntExact(Files.size(key()))]);
    }
    if (step == Step.ERASED) {
      Files.delete(key());
    }
  }

  @ParameterizedTest
  @EnumSource(Step.class)
  @DisplayName(
      "a rotation that was interrupted at any step after the cluster accepted the new key is continued")
  void continued(Step step) throws Exception {
    interruptAfter(step);

    CtlRun run = run("owner", "rotate");

    assertEquals(0, run.code(), run.err());
    assertTrue(run.err().contains("the cluster accepts the new key"), run.err());
    assertEquals(List.of(), cluster.keyWasOnDisk, "the cluster was asked for another rotation");
    assertOwned();
    assertEquals(
        step.compareTo(Step.OVERWRITTEN) < 0 ? Optional.of(first.getPublic()) : Optional.empty(),
        formers().stream().findFirst().map(each -> Ed25519.publicKey(OwnerKeyFile.read(each, ""))));
  }

  @ParameterizedTest
  @EnumSource(Step.class)
  @DisplayName("taking ownership continues an interrupted rotation, too")
  void takeOwnershipContinues(Step step) throws Exception {
    interruptAfter(step);

    CtlRun run = run("takeownership");

    assertEquals(0, run.code(), run.err());
    assertTrue(run.err().contains("the cluster accepts the new key"), run.err());
    assertOwned();
  }

  @ParameterizedTest
  @ValueSource(strings = {"owner-key.pem", "owner.pem", "ca.pem"})
  @DisplayName("without the owner's present files nothing is made, and the refusal says what to do")
  void missing(String file) throws Exception {
    Files.delete(owner.resolve(file));

    CtlRun run = run("owner", "rotate");

    assertNotEquals(0, run.code(), run.out());
    assertTrue(run.err().contains(owner.resolve(file) + " does not exist"), run.err());
    assertFalse(Files.exists(next()), "a key was made");
    assertEquals(List.of(), cluster.keyWasOnDisk);
  }

  @Test
  @DisplayName("the holder of a former key is refused with the reason, and keeps all files")
  void former() throws Exception {
    cluster.accepted = Ed25519.generate().getPublic();

    CtlRun run = run("owner", "rotate");
    CtlRun taken = run("takeownership");

    assertEquals(1, run.code(), run.out());
    assertTrue(run.err().contains("FAILED_PRECONDITION"), run.err());
    assertEquals(1, taken.code(), taken.out());
    assertTrue(taken.err().contains("this key is no longer the owner's"), taken.err());
    assertTrue(
        Ed25519.match(OwnerKeyFile.read(key(), ""), first.getPublic()), "the key is another");
    assertEquals(List.of(), formers());
  }
}
