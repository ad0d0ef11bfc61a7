package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.etcd.EtcdTls;
import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Needs;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.process.Account;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConsensusPkiTest {

  private static final InetAddress HERE = InetAddress.ofLiteral("10.1.2.3");
  private static final InetAddress THERE = InetAddress.ofLiteral("10.1.2.4");

  @TempDir Path folder;
  private final ConsensusIdentity identity = ConsensusIdentity.of(Ed25519.generate().getPrivate());
  private Instant now = Instant.now();
  private ConsensusFiles files;

  @BeforeEach
  void open() {
    files = new ConsensusFiles(Root.at(folder));
  }

  @Test
  @DisplayName("the CA is made once; its key, and the operator's, are for the node alone")
  void authority() throws Exception {
    ConsensusPki first = pki(true);
    first.ensureOperator();
    byte[] made = Files.readAllBytes(files.ca().path());
    ConsensusPki second = pki(true);

    assertArrayEquals(made, Files.readAllBytes(files.ca().path()));
    assertEquals(first.token(), second.token());
    assertTrue(first.token().matches("POLIS-[0-9a-f]{16}"), first::token);
    for (FilePlacement file : List.of(files.ca(), files.caKey(), files.root(), files.rootKey())) {
      assertEquals(
          "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file.path())));
    }
  }

  @Test
  @DisplayName("half a CA is made anew only while nothing depends on it")
  void half() throws Exception {
    pki(true);
    byte[] key = Files.readAllBytes(files.caKey().path());
    files.ca().delete();

    ConsensusException refusal = assertThrows(ConsensusException.class, () -> pki(false));
    assertTrue(refusal.getMessage().startsWith(files.ca().path() + " is missing"));
    assertArrayEquals(key, Files.readAllBytes(files.caKey().path()));

    pki(true);
    assertTrue(files.ca().exists());
  }

  @Test
  @DisplayName("a CA that cannot be read is refused, and kept")
  void broken() throws Exception {
    pki(true);
    files.caKey().write("no key".getBytes(StandardCharsets.UTF_8));

    ConsensusException refusal = assertThrows(ConsensusException.class, () -> pki(true));

    assertTrue(refusal.getMessage().contains("cannot use the etcd CA"), refusal::getMessage);
    assertEquals("no key", Files.readString(files.caKey().path()));
  }

  @Test
  @DisplayName("the member shows its node id, its address and localhost, under a key of its own")
  void member() throws Exception {
    ConsensusPki pki = pki(true);

    assertTrue(pki.ensureMember(identity, HERE));
    assertFalse(pki.ensureMember(identity, HERE), "written again without need");

    X509Certificate certificate = certificate();
    assertEquals(memberKey(), certificate.getPublicKey());
    assertNotEquals(identity.publicKey(), memberKey());
    assertEquals(
        List.of(identity.node().text(), "localhost", "10.1.2.3", "127.0.0.1"),
        certificate.getSubjectAlternativeNames().stream()
            .map(name -> (String) name.get(1))
            .collect(Collectors.toList()));
  }

  @Test
  @DisplayName("a member that uses the node's key, as earlier versions did, gets another key")
  void nodeKeyIsReplaced() throws Exception {
    ConsensusPki pki = pki(true);
    pki.ensureMember(identity, HERE);
    files
        .etcd()
        .peerPki()
        .key()
        .write(Pem.encode(identity.nodeKey()).getBytes(StandardCharsets.UTF_8));

    assertTrue(pki.ensureMember(identity, HERE));

    assertNotEquals(identity.publicKey(), memberKey());
    assertEquals(memberKey(), certificate().getPublicKey());
  }

  @Test
  @DisplayName("a key of etcd's that is cut off is made anew, and the file is named")
  void damagedKeyIsNamed() throws Exception {
    ConsensusPki pki = pki(true);
    pki.ensureMember(identity, HERE);
    assertTrue(pki.replaced().isEmpty(), "a first key replaces none");
    FilePlacement key = files.etcd().peerPki().key();
    key.write("-----BEGIN".getBytes(StandardCharsets.UTF_8));

    assertTrue(pki.ensureMember(identity, HERE));

    assertTrue(pki.replaced().orElseThrow().startsWith(key.path() + " held no key"));
  }

  @Test
  @DisplayName("a renewed certificate belongs to the same account as the one before")
  void renewedForTheAccount() throws Exception {
    Needs.root("giving a file to another account");
    ConsensusPki pki = pki(true);
    FilePlacement file = files.etcd().peerPki().certificate();
    file.giveTo(Account.ETCD.number());
    pki.ensureMember(identity, HERE);
    assertEquals(Account.ETCD.number(), Files.getAttribute(file.path(), "unix:uid"));

    assertTrue(pki.ensureMember(identity, THERE));

    assertEquals(Account.ETCD.number(), Files.getAttribute(file.path(), "unix:uid"));
    assertEquals(
        "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file.path())));
  }

  @Test
  @DisplayName("a new address gets a new certificate under the same CA")
  void moved() throws Exception {
    ConsensusPki pki = pki(true);
    pki.ensureMember(identity, HERE);
    X509Certificate before = certificate();

    assertTrue(pki.ensureMember(identity, THERE));

    assertNotEquals(before, certificate());
    certificate().verify(pki.authority().certificate().getPublicKey());
  }

  @Test
  @DisplayName("certificates are renewed when a third of their validity is left")
  void renewed() throws Exception {
    ConsensusPki pki = pki(true);
    pki.ensureMember(identity, HERE);
    pki.ensureOperator();
    EtcdTls curator = pki.user(ConsensusUser.CURATOR);
    X509Certificate member = certificate();
    String operator = Files.readString(files.root().path());
    assertFalse(pki.renewUsers());

    now = now.plus(Duration.ofDays(250));

    assertTrue(pki.renewUsers());
    assertNotEquals(curator, pki.user(ConsensusUser.CURATOR));
    assertTrue(pki.ensureMember(identity, HERE));
    assertNotEquals(member, certificate());
    pki.ensureOperator();
    assertNotEquals(operator, Files.readString(files.root().path()));
  }

  @Test
  @DisplayName("a user's certificate bears its name, and its key is never printed")
  void user() throws Exception {
    EtcdTls tls = pki(true).user(ConsensusUser.KUBERNETES);

    assertEquals("CN=kubernetes", tls.chain().getFirst().getSubjectX500Principal().getName());
    assertFalse(tls.toString().contains(Pem.encode(tls.key()).lines().toList().get(1)));
  }

  private ConsensusPki pki(boolean mayCreate) throws Exception {
    return ConsensusPki.open(files, mayCreate, () -> now);
  }

  private PublicKey memberKey() throws Exception {
    return Ed25519.publicKey(Pem.privateKey(Files.readString(files.etcd().peerPki().key().path())));
  }

  private X509Certificate certificate() throws Exception {
    return Pem.certificate(Files.readString(files.etcd().peerPki().certificate().path()));
  }
}
