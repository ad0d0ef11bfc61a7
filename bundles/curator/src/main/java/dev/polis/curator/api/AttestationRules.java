package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import dev.polis.curator.attest.BootEvidence;
import dev.polis.curator.attest.EndorsementCertificate;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.cluster.AllowedImage;
import dev.polis.wire.cluster.AttestationPolicy;
import dev.polis.wire.cluster.AttestedMachine;
import dev.polis.wire.curator.stored.Node;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Checks what the cluster demands of machines, and whether a machine satisfies it. */
final class AttestationRules {

  private static final int DIGEST_BYTES = 32;

  /** The number of images that a refusal names, so that it stays readable. */
  private static final int NAMED = 3;

  private AttestationRules() {}

  /**
   * Checks demands.
   *
   * @throws dev.polis.rpc.RpcException with INVALID_ARGUMENT naming the field
   */
  static void check(AttestationPolicy policy) {
    Set<String> names = new HashSet<>();
    for (AllowedImage image : policy.getImagesList()) {
      if (image.getName().isBlank() || !names.add(image.getName())) {
        throw Refusal.invalid(
            "attestation.images: the name \"%s\" is empty or there twice", image.getName());
      }
      boolean sound =
          image.getProgramsCount() > 0
              && Stream.of(image.getProgramsList(), image.getOptionsList())
                  .flatMap(List::stream)
                  .allMatch(each -> each.size() == DIGEST_BYTES);
      if (!sound) {
        throw Refusal.invalid(
            "attestation.images: image \"%s\" needs the SHA-256 of each program of its boot, %d"
                + " bytes each, as \"image build\" prints them",
            image.getName(), DIGEST_BYTES);
      }
    }
    authorities(policy);
  }

  private static List<X509Certificate> authorities(AttestationPolicy policy) {
    List<X509Certificate> authorities = new ArrayList<>();
    for (ByteString der : policy.getTpmAuthoritiesList()) {
      authorities.add(certificate("attestation.tpm_authorities", der));
    }
    return authorities;
  }

  private static X509Certificate certificate(String where, ByteString der) {
    try {
      return EndorsementCertificate.read(der.toByteArray());
    } catch (CertificateException e) {
      throw Refusal.invalid("%s has no certificate in DER: %s", where, e.getMessage());
    }
  }

  /** Refuses a node whose machine does not satisfy the demands, and names the measurement. */
  static void requireApprovable(Node node, AttestationPolicy policy) {
    if (!policy.getRequired()) {
      return;
    }
    if (!node.hasAttestation()) {
      throw refused(
          node,
          "it has proved nothing of its machine: it has no TPM, or its log says why the TPM did not"
              + " answer");
    }
    AttestedMachine machine = node.getAttestation();
    for (int pcr : machine.getUnexplainedPcrsList()) {
      if (BootEvidence.DECISIVE.contains(pcr)) {
        throw refused(
            node,
            "PCR %d: not measured, since the firmware's log has no event of it; update the firmware, or switch its log on"
                .formatted(pcr));
      }
    }
    requireImage(node, machine, policy.getImagesList());
    List<Integer> changed = new ArrayList<>(machine.getChangedPcrsList());
    if (hasOptionsOf(policy.getImagesList(), machine)) {
      changed.remove((Integer) BootEvidence.OPTIONS);
    }
    for (int pcr : changed) {
      throw refused(
          node,
          "PCR %d (%s): expected no measurement but those of an allowed image, found %s; remove others from the ESP and from the"
                  .formatted(
                      pcr,
                      BootEvidence.beside(pcr),
                      pcr == BootEvidence.OPTIONS ? hex(machine.getOptionsList()) : "some")
              + " firmware's boot options");
    }
    requireAuthority(node, machine, authorities(policy));
  }

  /** Returns whether the options of the boot are those of an allowed image; of any, if none is. */
  private static boolean hasOptionsOf(List<AllowedImage> images, AttestedMachine machine) {
    return images.isEmpty()
        || images.stream()
            .anyMatch(
                each ->
                    each.getProgramsList().equals(machine.getProgramsList())
                        && each.getOptionsCount() > 0
                        && each.getOptionsList().equals(machine.getOptionsList()));
  }

  private static void requireImage(Node node, AttestedMachine machine, List<AllowedImage> images) {
    if (images.isEmpty()
        || images.stream()
            .anyMatch(each -> each.getProgramsList().equals(machine.getProgramsList()))) {
      return;
    }
    String expected =
        images.stream()
            .limit(NAMED)
            .map(each -> "%s of image %s".formatted(hex(each.getProgramsList()), each.getName()))
            .collect(Collectors.joining(", or "));
    int others = images.size() - NAMED;
    throw refused(
        node,
        "PCR 4 (the programs that the firmware has started): found %s, expected %s%s; boot an"
                .formatted(
                    hex(machine.getProgramsList()),
                    expected,
                    others > 0 ? ", or one of %d others".formatted(others) : "")
            + " allowed image, or allow this one (polisctl cluster attestation allow NAME DIGEST...)");
  }

  private static void requireAuthority(
      Node node, AttestedMachine machine, List<X509Certificate> authorities) {
    if (authorities.isEmpty()) {
      return;
    }
    String named =
        authorities.stream()
            .map(each -> each.getSubjectX500Principal().getName())
            .collect(Collectors.joining("\", \""));
    if (machine.getEndorsementCertificate().isEmpty()) {
      throw refused(
          node,
          "its TPM has shown no certificate of its endorsement key, expected one by \"%s\""
              .formatted(named));
    }
    X509Certificate certificate =
        certificate("the record's attestation", machine.getEndorsementCertificate());
    if (authorities.stream()
        .noneMatch(each -> EndorsementCertificate.isIssuedBy(certificate, each))) {
      throw refused(
          node,
          "the certificate of its TPM's endorsement key: found one by \"%s\", expected one by \"%s\""
              .formatted(certificate.getIssuerX500Principal().getName(), named));
    }
  }

  private static String hex(List<ByteString> digests) {
    return digests.stream()
        .map(each -> HexFormat.of().formatHex(each.toByteArray()))
        .collect(Collectors.joining(" ", "[", "]"));
  }

  private static RuntimeException refused(Node node, String why) {
    return Refusal.precondition(
        "node %s is not approved, because this cluster demands an attestation: %s; nothing was"
            + " changed",
        node.getId(), why);
  }
}
