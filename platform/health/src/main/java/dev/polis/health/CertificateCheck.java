package dev.polis.health;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Compares the node's certificates with the node's clock. TLS reports an invalid certificate
 * without the file and without the clock.
 */
public final class CertificateCheck implements SelfCheck.Look {
  private static final String INVALID = "certificate-invalid";
  private static final String ENDS_SOON = "certificate-ends-soon";

  /**
   * The part of a life that is left when this check reports a certificate. A renewal comes when a
   * third is left; half of that third later, something is wrong. For an authority's ten years this
   * would be months.
   */
  private static final int LAST_PART = 6;

  private static final Duration SOON = Duration.ofDays(30);

  /**
   * Names a certificate in a file.
   *
   * @param name its name for people, such as {@code the node's certificate}
   * @param file its PEM file; a missing file is not checked
   * @param remedy the remedy at its end, if the clock is right
   */
  public record Watched(String name, Path file, String remedy) {}

  /** Holds the fault of one certificate, and its end. */
  private record Finding(HealthCondition condition, Instant end) {}

  private static final Comparator<Finding> WORST_FIRST =
      Comparator.comparing((Finding each) -> each.condition().level())
          .reversed()
          .thenComparing(Finding::end);

  private final String organ;
  private final InstantSource clock;
  private final List<Watched> certificates;

  /**
   * Creates a check.
   *
   * @param organ the owner of the certificates, the root of their faults
   * @param clock the node's clock
   * @param certificates the checked certificates
   */
  public CertificateCheck(String organ, InstantSource clock, List<Watched> certificates) {
    this.organ = organ;
    this.clock = clock;
    this.certificates = List.copyOf(certificates);
  }

  @Override
  public Optional<HealthCondition> look() throws IOException {
    Instant now = clock.instant().truncatedTo(ChronoUnit.SECONDS);
    List<Finding> found = new ArrayList<>();
    for (Watched each : certificates) {
      read(each.file()).flatMap(certificate -> judge(each, certificate, now)).ifPresent(found::add);
    }
    return found.stream().min(WORST_FIRST).map(worst -> worst.condition().dueTo(organ));
  }

  private static Optional<X509Certificate> read(Path file) throws IOException {
    try (InputStream pem = Files.newInputStream(file)) {
      return Optional.of(
          (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(pem));
    } catch (NoSuchFileException notThere) {
      return Optional.empty();
    } catch (CertificateException broken) {
      // The organ of this certificate refuses it, and names the remedy.
      return Optional.empty();
    }
  }

  private static Optional<Finding> judge(
      Watched watched, X509Certificate certificate, Instant now) {
    Instant begin = certificate.getNotBefore().toInstant();
    Instant end = certificate.getNotAfter().toInstant();
    String name =
        "%s (%s, %s)"
            .formatted(
                watched.name(), certificate.getSubjectX500Principal().getName(), watched.file());
    if (now.isBefore(begin)) {
      return Optional.of(
          new Finding(
              HealthCondition.down(
                  INVALID,
                  "this machine's clock shows %s, but %s begins at %s".formatted(now, name, begin),
                  ClockRemedy.SET),
              end));
    }
    String remedy =
        "if the clock is wrong, set it: %s; if it is right: %s"
            .formatted(ClockRemedy.WAYS, watched.remedy());
    if (now.isAfter(end)) {
      return Optional.of(
          new Finding(
              HealthCondition.down(
                  INVALID,
                  "%s ended at %s; this machine's clock shows %s".formatted(name, end, now),
                  remedy),
              end));
    }
    return now.isAfter(end.minus(soon(begin, end)))
        ? Optional.of(
            new Finding(
                HealthCondition.degraded(
                    ENDS_SOON,
                    "%s ends at %s and was not renewed; this machine's clock shows %s"
                        .formatted(name, end, now),
                    remedy),
                end))
        : Optional.empty();
  }

  private static Duration soon(Instant begin, Instant end) {
    Duration part = Duration.between(begin, end).dividedBy(LAST_PART);
    return part.compareTo(SOON) < 0 ? part : SOON;
  }
}
