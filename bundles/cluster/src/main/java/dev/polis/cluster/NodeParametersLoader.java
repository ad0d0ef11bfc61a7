package dev.polis.cluster;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.util.JsonFormat;
import dev.polis.api.curator.DomainNames;
import dev.polis.api.network.TimeServers;
import dev.polis.cluster.NodeParameterSource.Found;
import dev.polis.logtree.Log;
import dev.polis.pki.Identity;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.wire.UnknownFields;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.api.NodeParameters.ClusterRegister;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Finds and reads the node parameters. The first source that has any wins, and a warning names the
 * others; a wrong value always fails, with a message that names the file and the field.
 */
final class NodeParametersLoader {

  private static final int OWNER_KEY_BYTES = 32;

  /** The name of Java's exception that the parser puts before a reason. */
  private static final Pattern JAVA_CLASS = Pattern.compile("^([a-z]+\\.)+\\w+: ");

  /** Holds checked parameters. */
  record Loaded(NodeParameters parameters, NodeParameterSource source) {}

  private final List<NodeParameterSource> sources;
  private final Log log;

  /**
   * Creates a loader.
   *
   * @param sources the places to read, the most important first
   */
  NodeParametersLoader(List<NodeParameterSource> sources, Log log) {
    this.sources = List.copyOf(sources);
    this.log = log;
  }

  /**
   * Loads the parameters.
   *
   * @throws NodeParametersException if they are missing or wrong
   */
  Loaded load() {
    List<Found> found = new ArrayList<>();
    for (NodeParameterSource source : sources) {
      source.read().ifPresent(found::add);
    }
    if (found.isEmpty()) {
      throw new NodeParametersException(
          "no node parameters found at %s; write one of them, for example with"
                  .formatted(String.join(", ", sources.stream().map(Object::toString).toList()))
              + " './polis ctl params make'");
    }
    Found first = found.getFirst();
    found
        .subList(1, found.size())
        .forEach(
            other ->
                log.warning(
                    "the node ignores the node parameters of %s: those of %s come first",
                    other.source(), first.source()));
    NodeParameters parameters = parse(first);
    check(parameters, first.source());
    return new Loaded(parameters, first.source());
  }

  /**
   * Logs the parameters that the node ignores because it is already a member.
   *
   * @return true if the operator gave some at this start
   */
  boolean reportUnread() {
    boolean given = false;
    for (NodeParameterSource source : sources) {
      if (Files.exists(source.file())) {
        log.info(
            "the node does not read the node parameters of %s: it is already a member, and they"
                + " only say how a node becomes one",
            source);
      }
      given |= source.required();
    }
    return given;
  }

  private static NodeParameters parse(Found found) {
    if (found.content().length == 0) {
      throw wrong(found.source(), "the file is empty");
    }
    return found.source().form() == NodeParameterSource.Form.JSON
        ? parseJson(found)
        : parseBinary(found);
  }

  private static NodeParameters parseJson(Found found) {
    NodeParameters.Builder parameters = NodeParameters.newBuilder();
    try {
      JsonFormat.parser().merge(new String(found.content(), StandardCharsets.UTF_8), parameters);
      return parameters.build();
    } catch (InvalidProtocolBufferException e) {
      throw wrong(
          found.source(),
          "not NodeParameters in JSON: %s; correct the file, or write another one with './polis ctl params make'"
              .formatted(reason(e)));
    }
  }

  private static NodeParameters parseBinary(Found found) {
    try {
      // A parser silently keeps the last of two values of a choice, so this check precedes it.
      Map<Integer, UnknownFieldSet.Field> fields =
          UnknownFieldSet.parseFrom(found.content()).asMap();
      if (fields.containsKey(NodeParameters.CLUSTER_BOOTSTRAP_FIELD_NUMBER)
          && fields.containsKey(NodeParameters.CLUSTER_REGISTER_FIELD_NUMBER)) {
        throw wrong(
            found.source(),
            "both cluster_bootstrap and cluster_register are set; remove one of them");
      }
      NodeParameters parameters = NodeParameters.parseFrom(found.content());
      refuseUnknown(parameters, found.source());
      return parameters;
    } catch (InvalidProtocolBufferException e) {
      throw wrong(found.source(), "truncated, or not a NodeParameters message: " + e.getMessage());
    }
  }

  private static void refuseUnknown(NodeParameters parameters, NodeParameterSource source) {
    List<String> unknown = UnknownFields.of(parameters);
    if (!unknown.isEmpty()) {
      throw wrong(
          source,
          "unknown fields: %s; the file is for another version"
              .formatted(String.join(", ", unknown)));
    }
  }

  private static void check(NodeParameters parameters, NodeParameterSource source) {
    TimeServers.problem(parameters.getTimeServerList())
        .ifPresent(
            problem -> {
              throw wrong(source, "time_server: " + problem);
            });
    switch (parameters.getClusterCase()) {
      case CLUSTER_BOOTSTRAP -> checkBootstrap(parameters.getClusterBootstrap(), source);
      case CLUSTER_REGISTER -> checkRegister(parameters.getClusterRegister(), source);
      case CLUSTER_NOT_SET ->
          throw wrong(
              source,
              "node parameters misconfigured: neither cluster_bootstrap nor cluster_register set");
    }
  }

  private static void checkBootstrap(ClusterBootstrap bootstrap, NodeParameterSource source) {
    int length = bootstrap.getOwnerPublicKey().size();
    if (length != OWNER_KEY_BYTES) {
      throw wrong(
          source,
          "cluster_bootstrap.owner_public_key has %d bytes; an Ed25519 public key has %d"
              .formatted(length, OWNER_KEY_BYTES));
    }
    checkRecovery("cluster_bootstrap", bootstrap.getRecoveryPublicKey(), source);
    if (bootstrap.hasInitialClusterConfiguration()) {
      checkDomain(bootstrap.getInitialClusterConfiguration().getClusterDomain(), source);
    }
  }

  private static void checkRecovery(String kind, ByteString key, NodeParameterSource source) {
    if (!key.isEmpty() && key.size() != OWNER_KEY_BYTES) {
      throw wrong(
          source,
          "%s.recovery_public_key has %d bytes; an X25519 public key has %d"
              .formatted(kind, key.size(), OWNER_KEY_BYTES));
    }
  }

  private static void checkRegister(ClusterRegister register, NodeParameterSource source) {
    if (register.getRegisterTicket().isEmpty()) {
      throw wrong(
          source,
          "cluster_register.register_ticket is empty; make the parameters with polisctl params"
              + " make --register");
    }
    checkCa(register.getCaCertificate(), source);
    checkRecovery("cluster_register", register.getRecoveryPublicKey(), source);
    try {
      if (CuratorAddresses.of(register.getClusterDirectory()).isEmpty()) {
        throw wrong(
            source,
            "cluster_register.cluster_directory has %d nodes and the address of none; wait until a"
                    .formatted(register.getClusterDirectory().getNodesCount())
                + " node of the cluster reports its address, and make the parameters again");
      }
    } catch (IllegalArgumentException unusable) {
      throw wrong(
          source,
          "cluster_register.cluster_directory names a curator that this node cannot call: %s; make the parameters again: polisctl params make --register"
              .formatted(unusable.getMessage()));
    }
  }

  private static void checkCa(ByteString der, NodeParameterSource source) {
    try {
      Identity.verifyCa(Pem.certificate(der.toByteArray()));
    } catch (PkiException e) {
      throw wrong(
          source,
          "cluster_register.ca_certificate is not the certificate of a cluster's CA: "
              + e.getMessage());
    }
  }

  /** The curator refuses the same, but only after there are keys and a volume. */
  private static void checkDomain(String domain, NodeParameterSource source) {
    DomainNames.problemOfCluster(domain)
        .ifPresent(
            problem -> {
              throw wrong(
                  source,
                  "cluster_bootstrap.initial_cluster_configuration.cluster_domain \"%s\" %s"
                      .formatted(domain, problem));
            });
  }

  /** Returns the parser's reason without a class of Java and the link to the parser's manual. */
  private static String reason(InvalidProtocolBufferException failure) {
    String line = failure.getMessage().lines().findFirst().orElse("no reason given");
    return JAVA_CLASS.matcher(line).replaceFirst("");
  }

  private static NodeParametersException wrong(NodeParameterSource source, String problem) {
    return new NodeParametersException(
        "node parameters %s (%s): %s".formatted(source.file(), source.name(), problem));
  }

  /**
   * Returns the labels without malformed pairs, which it drops with a warning; the first of two
   * pairs with the same key wins.
   */
  static Map<String, String> sanitized(dev.polis.wire.common.NodeLabels labels, Log log) {
    Map<String, String> kept = new java.util.TreeMap<>();
    for (var pair : labels.getPairsList()) {
      Optional<String> problem =
          dev.polis.api.curator.NodeLabels.problemOfKey(pair.getKey())
              .or(() -> dev.polis.api.curator.NodeLabels.problemOfValue(pair.getValue()));
      if (problem.isPresent()) {
        log.warning(
            "the node ignores label %s=%s of the node parameters: %s",
            pair.getKey(), pair.getValue(), problem.get());
      } else if (kept.size() == dev.polis.api.curator.NodeLabels.MAX_COUNT) {
        log.warning(
            "the node ignores label %s=%s of the node parameters: a node has at most %d",
            pair.getKey(), pair.getValue(), dev.polis.api.curator.NodeLabels.MAX_COUNT);
      } else if (kept.putIfAbsent(pair.getKey(), pair.getValue()) != null) {
        log.warning(
            "the node ignores label %s=%s of the node parameters: an earlier label has this key",
            pair.getKey(), pair.getValue());
      }
    }
    return kept;
  }
}
