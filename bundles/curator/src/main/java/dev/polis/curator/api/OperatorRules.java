package dev.polis.curator.api;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import dev.polis.base.config.DidYouMean;
import dev.polis.curator.record.Refusal;
import dev.polis.pki.Ed25519;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcOperators;
import dev.polis.rpc.RpcRole;
import dev.polis.wire.cluster.Operator;
import dev.polis.wire.cluster.OperatorList;
import dev.polis.wire.cluster.OperatorRole;
import dev.polis.wire.curator.stored.InitialOwner;
import java.security.PublicKey;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Decides about changes of the operators. */
public final class OperatorRules {

  /**
   * The most operators. Each node has the list in memory and gets all of it at each change; a team
   * with more people shares programs that act for them.
   */
  static final int MOST = 64;

  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]{0,31}");

  private OperatorRules() {}

  /** Returns the roles by which nodes decide. It gives no rights to an operator it cannot read. */
  public static RpcOperators.Known roles(OperatorList record) {
    Map<String, RpcOperators.Operator> operators = new HashMap<>();
    for (Operator each : record.getOperatorsList()) {
      role(each.getRole())
          .ifPresent(
              role ->
                  key(each.getPublicKey())
                      .ifPresent(
                          key ->
                              operators.put(each.getName(), new RpcOperators.Operator(key, role))));
    }
    return new RpcOperators.Known(operators);
  }

  private static Optional<RpcRole> role(OperatorRole role) {
    return switch (role) {
      case OPERATOR_ROLE_VIEWER -> Optional.of(RpcRole.VIEWER);
      case OPERATOR_ROLE_OPERATOR -> Optional.of(RpcRole.OPERATOR);
      case OPERATOR_ROLE_UNSPECIFIED, UNRECOGNIZED -> Optional.empty();
    };
  }

  private static Optional<PublicKey> key(ByteString raw) {
    try {
      return Optional.of(Ed25519.publicKey(raw.toByteArray()));
    } catch (PkiException damaged) {
      return Optional.empty();
    }
  }

  /** Checks a name, a key and a role. */
  static void check(String name, ByteString key, OperatorRole role) {
    checkName(name);
    if (key.size() != Ed25519.KEY_BYTES) {
      throw Refusal.invalid(
          "public_key has %d bytes; an Ed25519 key has %d", key.size(), Ed25519.KEY_BYTES);
    }
    if (key(key).isEmpty()) {
      throw Refusal.invalid("public_key is no Ed25519 key; make one with polisctl operator key");
    }
    checkRole(role);
  }

  /** Returns whether an operator may have a name. */
  static boolean isName(String name) {
    return NAME.matcher(name).matches() && !isReserved(name);
  }

  // The certificates of nodes and of the authority have such names in the same store.
  private static boolean isReserved(String name) {
    return name.equals(RpcRole.OWNER_NAME) || name.startsWith("node-") || name.equals("cluster-ca");
  }

  private static void checkName(String name) {
    if (!NAME.matcher(name).matches()) {
      throw Refusal.invalid(
          "\"%s\" is no name of an operator; a name has up to 32 lower-case letters, digits and"
              + " hyphens, and begins with a letter",
          name);
    }
    if (isReserved(name)) {
      throw Refusal.invalid(
          "the name \"%s\" is reserved: the owner, the nodes and the cluster's CA have such names; choose another one",
          name);
    }
  }

  static void checkRole(OperatorRole role) {
    if (role(role).isEmpty()) {
      throw Refusal.invalid(
          "role must be viewer or operator; the role owner goes with the owner's key alone, which"
              + " polisctl owner rotate replaces");
    }
  }

  /** Returns the record with an additional operator; the same if it is there already. */
  static OperatorList with(OperatorList record, InitialOwner owner, Operator added) {
    for (Operator each : record.getOperatorsList()) {
      boolean sameKey = each.getPublicKey().equals(added.getPublicKey());
      if (each.getName().equals(added.getName())) {
        if (sameKey && each.getRole() == added.getRole()) {
          return record;
        }
        throw sameKey
            ? Refusal.precondition(
                "the operator %s has the role %s; give another one with polisctl operator role %s %s",
                each.getName(), text(each), each.getName(), text(added))
            : Refusal.precondition(
                "the name %s belongs to an operator with the key %s; choose another name, or remove"
                    + " that operator first",
                each.getName(), fingerprint(each.getPublicKey()));
      }
      if (sameKey) {
        throw Refusal.precondition(
            "the key %s belongs to the operator %s; each operator needs a key of its own",
            fingerprint(each.getPublicKey()), each.getName());
      }
    }
    if (owner.getPublicKey().equals(added.getPublicKey())
        || owner.getFormerPublicKeyList().contains(added.getPublicKey())) {
      throw Refusal.precondition(
          "the key %s is the owner's, or was; each operator needs a key of its own",
          fingerprint(added.getPublicKey()));
    }
    if (record.getOperatorsCount() >= MOST) {
      throw Refusal.outOfRange(
          "the cluster has %d operators, which is the limit; remove one first", MOST);
    }
    return sorted(Stream.concat(record.getOperatorsList().stream(), Stream.of(added)));
  }

  private static OperatorList sorted(Stream<Operator> operators) {
    return OperatorList.newBuilder()
        .addAllOperators(operators.sorted(Comparator.comparing(Operator::getName)).toList())
        .build();
  }

  /** Returns the record with another role of an operator; the same if that is the role already. */
  static OperatorList withRole(
      OperatorList record, String name, OperatorRole role, Timestamp since, String by) {
    Operator present = require(record, name);
    if (present.getRole() == role) {
      return record;
    }
    Operator changed = present.toBuilder().setRole(role).setSince(since).setBy(by).build();
    return sorted(
        Stream.concat(without(record, name).getOperatorsList().stream(), Stream.of(changed)));
  }

  static OperatorList without(OperatorList record, String name) {
    return sorted(record.getOperatorsList().stream().filter(each -> !each.getName().equals(name)));
  }

  static Optional<Operator> find(OperatorList record, String name) {
    return record.getOperatorsList().stream()
        .filter(each -> each.getName().equals(name))
        .findFirst();
  }

  static Operator require(OperatorList record, String name) {
    return find(record, name).orElseThrow(() -> unknown(record, name));
  }

  static RuntimeException unknown(OperatorList record, String name) {
    return Refusal.notFound(
        "no operator has the name \"%s\"%s",
        name,
        DidYouMean.among(name, record.getOperatorsList().stream().map(Operator::getName).toList()));
  }

  /** Refuses a caller that is no operator with this name and key, without a hint which is wrong. */
  static void requireKey(OperatorList record, String name, ByteString key) {
    if (find(record, name).filter(each -> each.getPublicKey().equals(key)).isEmpty()) {
      throw Refusal.denied(
          "no operator of this cluster has the name \"%s\" and the key %s; the owner adds it with:"
              + " polisctl operator add %s --key PUBLIC --role viewer|operator",
          name, fingerprint(key), name);
    }
  }

  /** Refuses to make an operator's key the owner's. */
  static void requireNoOperator(OperatorList record, ByteString key) {
    List<String> holders =
        record.getOperatorsList().stream()
            .filter(each -> each.getPublicKey().equals(key))
            .map(Operator::getName)
            .toList();
    if (!holders.isEmpty()) {
      throw Refusal.precondition(
          "the key %s belongs to the operator %s; make another one; nothing was changed",
          fingerprint(key), holders.getFirst());
    }
  }

  private static String text(Operator operator) {
    return role(operator.getRole()).map(RpcRole::text).orElse("of a newer version");
  }

  private static String fingerprint(ByteString raw) {
    return Ed25519.fingerprint(Ed25519.publicKey(raw.toByteArray()));
  }
}
