package dev.polis.curator.api;

import com.google.protobuf.FieldMask;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import dev.polis.api.curator.DomainNames;
import dev.polis.curator.filter.NodeFilterLimits;
import dev.polis.curator.record.Refusal;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.Kubernetes;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import java.util.List;
import java.util.Set;

/**
 * Checks cluster configurations and merges an operator's change into one. Regular expressions have
 * RE2 syntax, as existing clients write them. An RE2 expression takes time in proportion to its
 * input, so no operator can stall a curator with one.
 */
public final class ConfigurationRules {

  /** The labels that Kubernetes' nodes get, one of the fields that an operator can change. */
  public static final String LABELS_TO_SYNCHRONIZE = "kubernetes.node_labels_to_synchronize";

  /** What the cluster demands of machines, the other one; it is changed as a whole. */
  public static final String ATTESTATION = "attestation";

  private static final Set<String> CHANGEABLE = Set.of(LABELS_TO_SYNCHRONIZE, ATTESTATION);

  private ConfigurationRules() {}

  /**
   * Checks a whole configuration.
   *
   * @throws dev.polis.rpc.RpcException with INVALID_ARGUMENT naming the field
   */
  public static void check(ClusterConfiguration configuration) {
    if (unset(
        configuration.getTpmModeValue(), configuration.getTpmMode() == TPMMode.UNRECOGNIZED)) {
      throw Refusal.invalid(
          "tpm_mode %d is not one of TPM_MODE_REQUIRED, TPM_MODE_BEST_EFFORT and TPM_MODE_DISABLED",
          configuration.getTpmModeValue());
    }
    if (unset(
        configuration.getStorageSecurityPolicyValue(),
        configuration.getStorageSecurityPolicy() == StorageSecurityPolicy.UNRECOGNIZED)) {
      throw Refusal.invalid(
          "storage_security_policy %d is not one of the STORAGE_SECURITY_POLICY_ values",
          configuration.getStorageSecurityPolicyValue());
    }
    checkDomain(configuration.getClusterDomain());
    checkExpressions(configuration);
    AttestationRules.check(configuration.getAttestation());
  }

  private static boolean unset(int number, boolean unrecognized) {
    return number == 0 || unrecognized;
  }

  private static void checkDomain(String domain) {
    DomainNames.problemOfCluster(domain)
        .ifPresent(
            problem -> {
              throw Refusal.invalid("cluster_domain \"%s\" %s", domain, problem);
            });
  }

  private static void checkExpressions(ClusterConfiguration configuration) {
    for (Kubernetes.NodeLabelsToSynchronize entry :
        configuration.getKubernetes().getNodeLabelsToSynchronizeList()) {
      NodeFilterLimits.problemOfPattern(entry.getRegexp())
          .ifPresent(
              problem -> {
                throw Refusal.invalid("%s: %s", LABELS_TO_SYNCHRONIZE, problem);
              });
      try {
        Pattern.compile(entry.getRegexp());
      } catch (PatternSyntaxException e) {
        throw Refusal.invalid(
            "%s: \"%s\" is not a regular expression in RE2 syntax: %s",
            LABELS_TO_SYNCHRONIZE, entry.getRegexp(), e.getDescription());
      }
    }
  }

  /**
   * Merges an operator's change into the stored configuration.
   *
   * @param existing the stored configuration
   * @param base the configuration that the operator read before; ignored unless {@code hasBase}
   * @param hasBase true if the operator sent it
   * @param wanted the new values
   * @param mask the fields to take from {@code wanted}
   * @return the new configuration; {@code existing} itself when the mask is empty
   */
  static ClusterConfiguration merge(
      ClusterConfiguration existing,
      ClusterConfiguration base,
      boolean hasBase,
      ClusterConfiguration wanted,
      FieldMask mask) {
    ClusterConfiguration merged = existing;
    for (String path : mask.getPathsList()) {
      requireKnown(path);
      requireSet(wanted, path, "new_config");
      if (hasBase) {
        requireSet(base, path, "base_config");
        requireSame(existing, base, path);
      }
      merged =
          path.equals(ATTESTATION)
              ? merged.toBuilder().setAttestation(wanted.getAttestation()).build()
              : withLabels(merged, wanted);
    }
    check(merged);
    return merged;
  }

  private static void requireKnown(String path) {
    if (!CHANGEABLE.contains(path)) {
      throw Refusal.invalid(
          "update_mask names \"%s\", which is not changeable; name only %s or %s",
          path, LABELS_TO_SYNCHRONIZE, ATTESTATION);
    }
  }

  private static void requireSet(ClusterConfiguration configuration, String path, String where) {
    boolean set =
        path.equals(ATTESTATION) ? configuration.hasAttestation() : configuration.hasKubernetes();
    if (!set) {
      throw Refusal.invalid(
          "update_mask names \"%s\", but %s does not set it; set it, also to remove all entries",
          path, where);
    }
  }

  private static void requireSame(
      ClusterConfiguration existing, ClusterConfiguration base, String path) {
    if (path.equals(ATTESTATION)) {
      if (!existing.getAttestation().equals(base.getAttestation())) {
        throw Refusal.precondition(
            "another client has changed %s since base_config was read; read it again", path);
      }
      return;
    }
    List<Kubernetes.NodeLabelsToSynchronize> stored = labels(existing);
    if (!stored.equals(labels(base))) {
      throw Refusal.precondition(
          "another client has changed %s: base_config has %s, the cluster has %s; read it again",
          path, expressions(labels(base)), expressions(stored));
    }
  }

  private static ClusterConfiguration withLabels(
      ClusterConfiguration into, ClusterConfiguration from) {
    Kubernetes kubernetes =
        into.getKubernetes().toBuilder()
            .clearNodeLabelsToSynchronize()
            .addAllNodeLabelsToSynchronize(labels(from))
            .build();
    return into.toBuilder().setKubernetes(kubernetes).build();
  }

  private static List<Kubernetes.NodeLabelsToSynchronize> labels(ClusterConfiguration of) {
    return of.getKubernetes().getNodeLabelsToSynchronizeList();
  }

  private static List<String> expressions(List<Kubernetes.NodeLabelsToSynchronize> entries) {
    return entries.stream().map(Kubernetes.NodeLabelsToSynchronize::getRegexp).toList();
  }
}
