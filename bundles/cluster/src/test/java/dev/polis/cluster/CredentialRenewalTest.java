package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.logtree.LogTree;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.Pem;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CredentialRenewalTest {

  @TempDir Path directory;

  private final CertificateAuthority authority = CertificateAuthority.create("test cluster");
  private final KeyPair pair = Ed25519.generate();
  private final TestContext context = new TestContext(LogTree.create().log("renewal"));
  private final List<NodeCredentials> published = new ArrayList<>();
  private Instant now = Instant.now();

  private CredentialRenewal renewal(RecordingOrgans recording) {
    NodeCredentials first =
        new NodeCredentials(
            pair.getPrivate(), authority.issueNode(pair.getPublic()), authority.certificate());
    recording.renewals = () -> authority.issueNode(pair.getPublic());
    InstantSource clock = () -> now;
    return new CredentialRenewal(
        recording.organs(Duration.ofSeconds(1)), first, published::add, clock);
  }

  @Test
  void givenYoungCertificate_thenItWaitsAnHourAtMost() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    assertEquals(Duration.ofHours(1), renewal(recording).step(context));
    assertEquals(List.of(), recording.calls);
  }

  @Test
  void givenTwoThirdsOfItsLifeGone_thenItIsRenewedSavedAndPresented() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    CredentialRenewal renewal = renewal(recording);
    now = now.plus(CertificateTemplate.NODE_LIFETIME.multipliedBy(2).dividedBy(3));
    assertEquals(Duration.ZERO, renewal.step(context));
    assertEquals(List.of("renew", "identify"), recording.calls);
    assertEquals(1, published.size());
    Path saved = recording.root().data().node().credentials().certificate().path();
    assertEquals(published.getFirst().certificate(), Pem.certificate(Files.readString(saved)));
  }

  @Test
  @DisplayName(
      "the node trusts a new CA on its disk, renews its certificate once that CA issues, and forgets the former one")
  void rotationOfTheCa() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    CredentialRenewal renewal = renewal(recording);
    CertificateAuthority next = CertificateAuthority.create("test cluster");
    recording.renewals = () -> next.issueNode(pair.getPublic());
    X509Certificate former = authority.certificate();
    Path saved = recording.root().data().node().credentials().clusterCa().path();

    recording.authorities.set(new CaBundle(List.of(former, next.certificate())));
    assertEquals(Duration.ofHours(1), renewal.step(context));
    assertEquals(List.of(), recording.calls, "the present CA issues");
    assertEquals(List.of(former, next.certificate()), published.getLast().ca().certificates());

    CaBundle issuing = new CaBundle(List.of(next.certificate(), former));
    recording.authorities.set(issuing);
    assertEquals(Duration.ZERO, renewal.step(context));
    assertTrue(issuing.isCurrent(published.getLast().certificate()));
    assertEquals(issuing, CaBundle.fromPem(Files.readString(saved)));

    CaBundle last = CaBundle.of(next.certificate());
    recording.authorities.set(last);
    assertEquals(Duration.ofHours(1), renewal.step(context));
    assertEquals(last, published.getLast().ca());
    assertEquals(last, CaBundle.fromPem(Files.readString(saved)));
  }

  @Test
  void givenCuratorThatCannot_thenItIsTriedAgainWithinAMinute() throws Exception {
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    CredentialRenewal renewal = renewal(recording);
    recording.renewals =
        () -> {
          throw new dev.polis.api.curator.CuratorException("no leader");
        };
    now = now.plus(CertificateTemplate.NODE_LIFETIME);
    assertTrue(renewal.step(context).compareTo(Duration.ofMinutes(1)) <= 0);
    assertEquals(List.of(), published);
  }
}
