package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.health.CertificateCheck.Watched;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.CertificateTemplate;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CertificateCheckTest {
  private static final Instant NOON = Instant.parse("2026-05-01T12:00:00Z");

  @TempDir private Path folder;
  private Instant now = NOON;
  private final CertificateAuthority authority =
      CertificateAuthority.create(CertificateTemplate.authority("Test CA"), () -> NOON);
  private final X509Certificate certificate =
      authority.issue(
          CertificateTemplate.client("a-node").withLifetime(Duration.ofDays(30)),
          Ed25519.generate().getPublic());

  private Watched watched(String name, X509Certificate which) throws IOException {
    Path file = Files.writeString(folder.resolve(name + ".pem"), Pem.encode(which));
    return new Watched("the " + name, file, "renew it by hand");
  }

  private Optional<HealthCondition> look(Watched... certificates) throws IOException {
    return new CertificateCheck("cluster", () -> now, List.of(certificates)).look();
  }

  private HealthCondition found(String code, HealthLevel level, Watched... certificates)
      throws IOException {
    HealthCondition condition = look(certificates).orElseThrow();
    assertEquals(code, condition.code());
    assertEquals(level, condition.level());
    assertEquals(Set.of("cluster"), condition.dueTo(), "another organ would be blamed");
    return condition;
  }

  @Test
  @DisplayName(
      "for a certificate that is not valid yet, the condition names the clock, the file and the begin")
  void notYet() throws Exception {
    Watched watched = watched("certificate", certificate);
    now = Instant.parse("1970-01-01T00:02:03.456Z");

    HealthCondition condition = found("certificate-invalid", HealthLevel.DOWN, watched);

    assertEquals(
        "this machine's clock shows 1970-01-01T00:02:03Z, but the certificate (CN=a-node, %s) begins at %s"
            .formatted(watched.file(), certificate.getNotBefore().toInstant()),
        condition.reason());
    assertTrue(condition.remedy().startsWith("set the clock: timedatectl"), condition::remedy);
  }

  @Test
  @DisplayName(
      "for an expired certificate, the condition names the end, the clock, and the remedy if the clock is right")
  void ended() throws Exception {
    Watched watched = watched("certificate", certificate);
    Instant end = certificate.getNotAfter().toInstant();
    now = end.plusSeconds(1);

    HealthCondition condition = found("certificate-invalid", HealthLevel.DOWN, watched);

    assertEquals(
        "the certificate (CN=a-node, %s) ended at %s; this machine's clock shows %s"
            .formatted(watched.file(), end, now),
        condition.reason());
    assertTrue(condition.remedy().startsWith("if the clock is wrong, set it"), condition::remedy);
    assertTrue(condition.remedy().endsWith("if it is right: renew it by hand"), condition::remedy);
  }

  @Test
  @DisplayName("a certificate whose renewal is long overdue is named before it ends")
  void soon() throws Exception {
    Watched watched = watched("certificate", certificate);
    now = certificate.getNotAfter().toInstant().minus(Duration.ofDays(6));
    assertEquals(Optional.empty(), look(watched));

    now = now.plus(Duration.ofDays(2));
    String reason = found("certificate-ends-soon", HealthLevel.DEGRADED, watched).reason();
    assertTrue(reason.contains(" ends at " + certificate.getNotAfter().toInstant()), reason);
  }

  @Test
  @DisplayName("an authority of ten years is named in its last month, not in its last year")
  void authority() throws Exception {
    Watched watched = watched("CA", authority.certificate());
    now = authority.certificate().getNotAfter().toInstant().minus(Duration.ofDays(31));
    assertEquals(Optional.empty(), look(watched));

    now = now.plus(Duration.ofDays(2));
    found("certificate-ends-soon", HealthLevel.DEGRADED, watched);
  }

  @Test
  @DisplayName("an invalid certificate is named before one that ends soon")
  void worst() throws Exception {
    Watched other =
        watched(
            "other",
            authority.issue(
                CertificateTemplate.client("other").withLifetime(Duration.ofDays(28)),
                Ed25519.generate().getPublic()));
    Watched first = watched("certificate", certificate);
    now = certificate.getNotAfter().toInstant().minus(Duration.ofDays(1));

    String reason = found("certificate-invalid", HealthLevel.DOWN, first, other).reason();
    assertTrue(reason.startsWith("the other (CN=other"), reason);
  }

  @Test
  @DisplayName("a missing file, or one without a certificate, is left to the organ that reads it")
  void noCertificate() throws Exception {
    Path broken = Files.writeString(folder.resolve("broken.pem"), "nothing");
    assertEquals(
        Optional.empty(),
        look(
            new Watched("one", folder.resolve("missing.pem"), ""),
            new Watched("other", broken, "")));
  }
}
