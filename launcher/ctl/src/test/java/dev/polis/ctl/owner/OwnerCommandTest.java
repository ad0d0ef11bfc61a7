package dev.polis.ctl.owner;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
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
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Crl;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.OwnerKey;
import dev.polis.pki.OwnerRotation;
import dev.polis.pki.Pem;
import dev.polis.pki.RecoveryKey;
import dev.polis.pki.RecoveryProof;
import dev.polis.pki.UserCredentials;
import dev.polis.rpc.LocalRpcHost;
import dev.polis.rpc.RpcException;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcPeer;
import dev.polis.rpc.RpcSettings;
import dev.polis.wire.cluster.GetRecoveryChallengeRequest;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.cluster.GetRevocationsRequest;
import dev.polis.wire.cluster.GetRevocationsResponse;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.cluster.OwnerKeysGrpc;
import dev.polis.wire.cluster.RecoverOwnerKeyRequest;
import dev.polis.wire.cluster.RecoverOwnerKeyResponse;
import dev.polis.wire.cluster.RotateOwnerKeyRequest;
import dev.polis.wire.cluster.RotateOwnerKeyResponse;
import dev.polis.wire.cluster.SetRecoveryKeyRequest;
import dev.polis.wire.cluster.SetRecoveryKeyResponse;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
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

/**
 * Rotates and recovers the owner's key of a cluster that this test plays, and interrupts it at each
 * step.
 */
class OwnerCommandTest {

  private static final String ADDRESS =
      "127.82.%d.%d"
          .formatted(
              ProcessHandle.current().pid() / 250 % 250, 1 + ProcessHandle.current().pid() % 250);

  private static final CertificateAuthority CLUSTER = CertificateAuthority.create("this cluster");

  private static final String RECOVERY_KEY = RecoveryKey.generate();
  private static final ByteString CHALLENGE = ByteString.copyFromUtf8("a challenge");
  private static final ByteString ANSWER =
      ByteString.copyFromUtf8("the answer of 32 bytes, any 32 b");

  @TempDir Path elsewhere;
  @TempDir Path state;
  private Path owner;
  private final KeyPair first = Ed25519.generate();
  private final Cluster cluster = new Cluster();
  private volatile List<X509Certificate> succession = List.of();
  private volatile List<BigInteger> retired = List.of();
  private volatile boolean hidesRevocations;
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
    private volatile byte[] recoveryKey = RecoveryKey.publicKey(RECOVERY_KEY);

    @Override
    public void getRecoveryChallenge(
        GetRecoveryChallengeRequest request, StreamObserver<GetRecoveryChallengeResponse> caller) {
      if (recoveryKey.length == 0) {
        throw new RpcException(Status.Code.FAILED_PRECONDITION, "knows no recovery key");
      }
      RecoveryKey.Sealed sealed =
          RecoveryKey.seal(RecoveryKey.Use.CHALLENGE, recoveryKey, ANSWER.toByteArray());
      caller.onNext(
          GetRecoveryChallengeResponse.newBuilder()
              .setChallenge(CHALLENGE.concat(request.getNewKey()))
              .setEncapsulatedKey(ByteString.copyFrom(sealed.encapsulatedKey()))
              .setCiphertext(ByteString.copyFrom(sealed.ciphertext()))
              .build());
      caller.onCompleted();
    }

    @Override
    public void recoverOwnerKey(
        RecoverOwnerKeyRequest request, StreamObserver<RecoverOwnerKeyResponse> caller) {
      PublicKey next = RpcPeer.current().requireKey();
      byte[] challenge = CHALLENGE.concat(ByteString.copyFrom(Ed25519.raw(next))).toByteArray();
      keyWasOnDisk.add(Files.exists(next()) && Ed25519.match(OwnerKeyFile.read(next(), ""), next));
      if (fault == Fault.REFUSED) {
        throw new RpcException(Status.Code.RESOURCE_EXHAUSTED, "no room for a record");
      }
      RecoveryProof wanted =
          RecoveryProof.ofOwner(CLUSTER.certificate().getPublicKey(), next, challenge);
      if (!request.getChallenge().equals(ByteString.copyFrom(challenge))
          || !wanted.isBy(ANSWER.toByteArray(), request.getProof().toByteArray())) {
        throw new RpcException(Status.Code.PERMISSION_DENIED, "not by the recovery key");
      }
      accepted = next;
      if (fault == Fault.ANSWER_LOST) {
        throw RpcException.unauthenticated("the connection ended");
      }
      caller.onNext(
          RecoverOwnerKeyResponse.newBuilder()
              .setOwnerCertificate(ByteString.copyFrom(Pem.der(CLUSTER.issueUser("owner", next))))
              .build());
      caller.onCompleted();
    }

    @Override
    public void setRecoveryKey(
        SetRecoveryKeyRequest request, StreamObserver<SetRecoveryKeyResponse> caller) {
      byte[] wanted = request.getRecoveryPublicKey().toByteArray();
      if (recoveryKey.length > 0) {
        RecoveryProof proof =
            RecoveryProof.ofRecoveryKey(
                CLUSTER.certificate().getPublicKey(), wanted, request.getChallenge().toByteArray());
        if (!proof.isBy(ANSWER.toByteArray(), request.getProof().toByteArray())) {
          throw new RpcException(
              Status.Code.FAILED_PRECONDITION, "the cluster has another recovery key");
        }
      }
      recoveryKey = wanted;
      caller.onNext(SetRecoveryKeyResponse.getDefaultInstance());
      caller.onCompleted();
    }

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

  /** Shows the cluster's certificate to strangers. */
  private final class Local extends CuratorLocalGrpc.CuratorLocalImplBase {
    @Override
    public void getCACertificate(
        GetCACertificateRequest request, StreamObserver<GetCACertificateResponse> caller) {
      caller.onNext(
          GetCACertificateResponse.newBuilder()
              .setIdentityCaCertificate(ByteString.copyFrom(Pem.der(CLUSTER.certificate())))
              .addAllCaSuccession(
                  succession.stream().map(each -> ByteString.copyFrom(Pem.der(each))).toList())
              .build());
      caller.onCompleted();
    }
  }

  /** Shows its revocation list to strangers. */
  private final class Members extends MembershipGrpc.MembershipImplBase {
    @Override
    public void getRevocations(
        GetRevocationsRequest request, StreamObserver<GetRevocationsResponse> caller) {
      if (hidesRevocations) {
        throw new RpcException(Status.Code.UNAVAILABLE, "no list yet");
      }
      Crl list = CLUSTER.revocationList(BigInteger.TWO, retired);
      caller.onNext(
          GetRevocationsResponse.newBuilder()
              .setRevocations(ByteString.copyFrom(list.der()))
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
    host.serve(RpcHost.CURATOR, new Local());
    host.serve(RpcHost.CURATOR, new Members());
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

  @Test
  @DisplayName("taking ownership says that it could not learn the present CAs, and uses the known")
  void unknownCas() throws Exception {
    hidesRevocations = true;

    CtlRun run = run("takeownership");

    assertEquals(0, run.code(), run.err());
    assertTrue(
        run.err().contains("the present CAs of the cluster could not be learned"), run.err());
    assertTrue(run.err().contains("no list yet"), run.err());
    assertOwned();
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

  private Path recoveryKey(String pem) throws Exception {
    return Files.writeString(elsewhere.resolve("recovery-key.pem"), pem);
  }

  private CtlRun recover(String... words) throws Exception {
    List<String> line =
        new ArrayList<>(
            List.of("owner", "recover", "--recovery-key", recoveryKey(RECOVERY_KEY).toString()));
    line.addAll(List.of(words));
    return run(line.toArray(String[]::new));
  }

  @Test
  @DisplayName(
      "a recovery replaces the key of a thief, has the new key on the disk before its proof, and sets the former one aside")
  void recovers() throws Exception {
    cluster.accepted = Ed25519.generate().getPublic();

    CtlRun run = recover();

    assertEquals(0, run.code(), run.err());
    assertEquals(List.of(true), cluster.keyWasOnDisk);
    assertOwned();
    assertFormerIsAside();
    assertEquals(OwnerKey.Form.METROPOLIS, OwnerKey.form(Files.readString(key())));
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(key())));
    assertTrue(run.out().contains("former key opens nothing any more; it is in"), run.out());
    assertEquals(RECOVERY_KEY, Files.readString(elsewhere.resolve("recovery-key.pem")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"owner-key.pem", "owner.pem", "all"})
  @DisplayName("a recovery needs none of the lost files, only the cluster's certificate")
  void recoversWithoutFiles(String lost) throws Exception {
    for (String file : List.of("owner-key.pem", "owner.pem", "ca.pem")) {
      if (lost.equals("all") || lost.equals(file)) {
        Files.delete(owner.resolve(file));
      }
    }
    if (lost.equals("all")) {
      CtlRun asked = recover();
      assertNotEquals(0, asked.code(), asked.out());
      assertTrue(asked.err().contains("--accept-ca"), asked.err());
      assertFalse(Files.exists(next()), "a key was made before the cluster was known");
    }

    CtlRun run = recover("--accept-ca", Fingerprint.of(CLUSTER.certificate()).hex());

    assertEquals(0, run.code(), run.err());
    assertOwned();
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  @DisplayName(
      "a recovery whose answer is lost or that is refused ends with one key that opens the cluster")
  void faultsOfRecovery(Fault fault) throws Exception {
    cluster.fault = fault;
    CtlRun run = recover();
    if (fault == Fault.REFUSED) {
      assertEquals(1, run.code(), run.out());
      assertTrue(run.err().contains("no room for a record"), run.err());
      assertEquals(first.getPublic(), cluster.accepted);
      PrivateKey made = OwnerKeyFile.read(next(), "");
      CtlRun refusedAgain = recover();
      assertTrue(refusedAgain.err().contains("remove that file"), refusedAgain.err());
      cluster.fault = Fault.NONE;

      CtlRun again = recover();

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

  @ParameterizedTest
  @EnumSource(Step.class)
  @DisplayName(
      "a recovery that was interrupted at any step after the cluster accepted the new key is continued")
  void continuedRecovery(Step step) throws Exception {
    interruptAfter(step);

    CtlRun run = recover();

    assertEquals(0, run.code(), run.err());
    assertTrue(run.err().contains("the cluster accepts the new key"), run.err());
    assertEquals(List.of(), cluster.keyWasOnDisk, "the cluster was asked for another recovery");
    assertOwned();
  }

  @Test
  @DisplayName("a repeated recovery makes another key, and the former one is set aside")
  void recoversAgain() throws Exception {
    assertEquals(0, recover().code());
    PublicKey second = cluster.accepted;

    CtlRun run = recover();

    assertEquals(0, run.code(), run.err());
    assertNotEquals(second, cluster.accepted);
    assertOwned();
    assertEquals(2, formers().size(), () -> "former keys in " + owner);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @DisplayName(
      "a recovery from a folder of before a rotation of the CA, or of its middle, learns the new CA")
  void formerFolder(boolean knowsBoth) throws Exception {
    CertificateAuthority former = CertificateAuthority.create("this cluster");
    succession = List.of(former.link(CLUSTER.certificate()), CLUSTER.certificate());
    CaBundle known = CaBundle.of(former.certificate());
    Files.write(owner.resolve("ca.pem"), (knowsBoth ? known.learn(succession) : known).pemBytes());

    CtlRun run = recover();

    assertEquals(0, run.code(), run.err());
    assertEquals(List.of(CLUSTER.certificate(), former.certificate()), trusted());
  }

  private List<X509Certificate> trusted() throws Exception {
    return CaBundle.fromPem(Files.readString(owner.resolve("ca.pem"))).certificates();
  }

  @Test
  @DisplayName("a folder trusts a retired CA no more after the next certificate")
  void retiredCa() throws Exception {
    CertificateAuthority former = CertificateAuthority.create("this cluster");
    succession = List.of(former.link(CLUSTER.certificate()), CLUSTER.certificate());
    retired = List.of(former.certificate().getSerialNumber());
    Files.write(
        owner.resolve("ca.pem"), CaBundle.of(former.certificate()).learn(succession).pemBytes());

    CtlRun run = run("takeownership");

    assertEquals(0, run.code(), run.err());
    assertEquals(List.of(CLUSTER.certificate()), trusted());
  }

  @Test
  @DisplayName("another cluster's recovery key is refused by name, and nothing is made")
  void anotherRecoveryKey() throws Exception {
    Path other = recoveryKey(RecoveryKey.generate());

    CtlRun run = run("owner", "recover", "--recovery-key", other.toString());

    assertEquals(5, run.code(), run.out());
    assertTrue(run.err().contains(other + " is not the recovery key of this cluster"), run.err());
    assertFalse(Files.exists(next()), "a key was made");
    assertEquals(List.of(), cluster.keyWasOnDisk);
    assertEquals(first.getPublic(), cluster.accepted);
  }

  @Test
  @DisplayName("a file that is no recovery key, or none, is refused before the cluster is asked")
  void noRecoveryKey() throws Exception {
    Path wrong = recoveryKey(Pem.encode(first.getPrivate()));

    CtlRun run = run("owner", "recover", "--recovery-key", wrong.toString());
    CtlRun missing = run("owner", "recover", "--recovery-key", elsewhere + "/none.pem");
    CtlRun without = run("owner", "recover");

    assertEquals(1, run.code(), run.out());
    assertTrue(run.err().contains(wrong + " is no X25519 key"), run.err());
    assertTrue(missing.err().contains("none.pem does not exist"), missing.err());
    assertEquals(2, without.code(), without.out());
    assertFalse(Files.exists(next()), "a key was made");
  }

  @Test
  @DisplayName("a damaged owner's key is not overwritten: the refusal says to move it away")
  void damagedKey() throws Exception {
    Files.writeString(key(), "half a key");

    CtlRun run = recover();

    assertEquals(1, run.code(), run.out());
    assertTrue(run.err().contains(key() + " is no Ed25519 key"), run.err());
    assertTrue(run.err().contains("move it away"), run.err());
    assertEquals(List.of(), cluster.keyWasOnDisk);
    assertEquals("half a key", Files.readString(key()));
  }

  @Test
  @DisplayName(
      "the owner names a recovery key, which is made; another one only with the proof of the former one")
  void namesRecoveryKey() throws Exception {
    cluster.recoveryKey = new byte[0];
    CtlRun none = recover();
    assertEquals(1, none.code(), none.out());
    assertTrue(none.err().contains("knows no recovery key"), none.err());
    Path made = elsewhere.resolve("made.pem");
    Path second = elsewhere.resolve("second.pem");

    CtlRun named = run("recovery-key", "name", made.toString());

    assertEquals(0, named.code(), named.err());
    assertArrayEquals(
        RecoveryKey.publicKey(Files.readString(made)), cluster.recoveryKey, "the cluster's key");
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(made)));
    CtlRun refused = run("recovery-key", "name", second.toString());
    assertEquals(1, refused.code(), refused.out());
    assertTrue(refused.err().contains("has another recovery key"), refused.err());
    assertFalse(Files.exists(second), "a key that the cluster refused was kept");
    CtlRun wrong =
        run(
            "recovery-key",
            "name",
            second.toString(),
            "--former",
            recoveryKey(RECOVERY_KEY).toString());
    assertEquals(5, wrong.code(), wrong.out());
    assertTrue(wrong.err().contains("is not the recovery key of this cluster"), wrong.err());
    CtlRun replaced = run("recovery-key", "name", second.toString(), "--former", made.toString());
    assertEquals(0, replaced.code(), replaced.err());
    assertArrayEquals(RecoveryKey.publicKey(Files.readString(second)), cluster.recoveryKey);
  }
}
