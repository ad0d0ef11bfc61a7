package dev.polis.rpc;

import java.security.PublicKey;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Describes a node's knowledge of the cluster's operators. */
public sealed interface RpcOperators {

  /**
   * Is an operator.
   *
   * @param key the key of the operator's certificates
   * @param role the operator's permissions
   */
  record Operator(PublicKey key, RpcRole role) {
    /** Refuses the role of the owner, which no list gives. */
    public Operator {
      if (role == RpcRole.OWNER) {
        throw new IllegalArgumentException(
            "an operator has the role viewer or operator; the owner's key alone has the role owner");
      }
    }
  }

  /** Means that this node has not got the list yet. It accepts the owner as its only user. */
  record Unknown() implements RpcOperators {}

  /**
   * Holds the present list.
   *
   * @param operators the operators by name
   */
  record Known(Map<String, Operator> operators) implements RpcOperators {
    /** Copies the map. */
    public Known {
      operators = Map.copyOf(operators);
    }
  }

  /**
   * Returns the role of the holder of a certificate that the cluster's CA has signed; empty if it
   * has none.
   *
   * @param name the name in the certificate
   * @param key the key of the certificate
   */
  default Optional<RpcRole> role(String name, PublicKey key) {
    if (name.equals(RpcRole.OWNER_NAME)) {
      return Optional.of(RpcRole.OWNER);
    }
    return this instanceof Known known
        ? Optional.ofNullable(known.operators().get(name))
            .filter(operator -> operator.key().equals(key))
            .map(Operator::role)
        : Optional.empty();
  }

  /** Returns the names and roles for the log. */
  default String describe() {
    return switch (this) {
      case Unknown unknown -> "not known";
      case Known known when known.operators().isEmpty() -> "none";
      case Known known ->
          known.operators().entrySet().stream()
              .map(each -> each.getKey() + " (" + each.getValue().role().text() + ")")
              .sorted()
              .collect(Collectors.joining(", "));
    };
  }

  /** Returns the reason why a user has no role. */
  default String refusal(String name) {
    return switch (this) {
      case Unknown unknown ->
          "this node has not got the cluster's list of operators yet, so it accepts only the owner; it gets the list from the leader, call again then";
      case Known known when known.operators().containsKey(name) ->
          "the operator \"%s\" has another key; get a certificate of that key (polisctl operator take)"
              .formatted(name);
      case Known known ->
          "the cluster has no operator \"%s\"; the owner adds one (polisctl operator add), and each node knows it within a second"
              .formatted(name);
    };
  }
}
