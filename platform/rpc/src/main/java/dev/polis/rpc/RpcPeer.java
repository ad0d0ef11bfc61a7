package dev.polis.rpc;

import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.wire.ext.Permission;
import io.grpc.Context;
import java.security.PublicKey;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;

/** Who calls. A handler asks {@link #current()}. */
public sealed interface RpcPeer {
  /** Where the peer of a call is kept. */
  Context.Key<RpcPeer> KEY = Context.key("polis-rpc-peer");

  /**
   * The peer of the call this thread works for.
   *
   * @throws IllegalStateException if it works for none, as when a handler moved to a thread that
   *     does not carry the call's context
   */
  static RpcPeer current() {
    RpcPeer peer = KEY.get();
    if (peer == null) {
      throw new IllegalStateException(
          "no call in this thread's context; wrap work for other threads with Context.current().wrap(..)");
    }
    return peer;
  }

  /** What it may do. */
  Set<Permission> permissions();

  /** How it is called in logs, without anything secret. */
  String describe();

  /**
   * The id of the calling node, for methods that only nodes may call.
   *
   * @throws RpcException PERMISSION_DENIED if it is not a node
   */
  default NodeId requireNode() {
    throw RpcException.permissionDenied(
        "only nodes may call this, the caller is "
            + describe()
            + "; call with a node's certificate");
  }

  /**
   * The key an unauthenticated caller proved by a self-signed certificate.
   *
   * @throws RpcException UNAUTHENTICATED if it proved none
   */
  default PublicKey requireKey() {
    throw RpcException.unauthenticated(
        "this needs a self-signed certificate of the caller's own key, the caller is "
            + describe()
            + "; connect with ephemeral credentials");
  }

  /**
   * A node of the cluster.
   *
   * @param id its id
   * @param permissions what it may do
   */
  record Node(NodeId id, Set<Permission> permissions) implements RpcPeer {
    /** What every node may do. */
    static final Set<Permission> ALL_NODES =
        Set.of(Permission.PERMISSION_READ_CLUSTER_STATUS, Permission.PERMISSION_UPDATE_NODE_SELF);

    /** Copies the permissions. */
    public Node {
      permissions = Set.copyOf(permissions);
    }

    /** A node with the permissions of every node. */
    public Node(NodeId id) {
      this(id, ALL_NODES);
    }

    @Override
    public NodeId requireNode() {
      return id;
    }

    @Override
    public String describe() {
      return "node " + id;
    }
  }

  /**
   * A person, or a program that acts for one. May do everything.
   *
   * @param name the name in its certificate
   */
  record User(String name) implements RpcPeer {
    private static final Set<Permission> ALL = allPermissions();

    @Override
    public Set<Permission> permissions() {
      return ALL;
    }

    @Override
    public String describe() {
      return "user \"" + name + "\"";
    }

    private static Set<Permission> allPermissions() {
      EnumSet<Permission> all = EnumSet.allOf(Permission.class);
      all.remove(Permission.PERMISSION_UNSPECIFIED);
      all.remove(Permission.UNRECOGNIZED);
      return Collections.unmodifiableSet(all);
    }
  }

  /** Somebody without a certificate of this cluster, who may have proved a key of its own. */
  final class Unauthenticated implements RpcPeer {
    private static final Unauthenticated ANONYMOUS = new Unauthenticated(null);

    private final PublicKey key;

    private Unauthenticated(PublicKey key) {
      this.key = key;
    }

    /** A peer that proved nothing. */
    public static Unauthenticated anonymous() {
      return ANONYMOUS;
    }

    /** A peer that proved this Ed25519 key. */
    public static Unauthenticated of(PublicKey key) {
      return new Unauthenticated(key);
    }

    /** The key it proved. */
    public Optional<PublicKey> publicKey() {
      return Optional.ofNullable(key);
    }

    @Override
    public PublicKey requireKey() {
      return key == null ? RpcPeer.super.requireKey() : key;
    }

    @Override
    public Set<Permission> permissions() {
      return Set.of();
    }

    @Override
    public String describe() {
      // 8 bytes tell keys apart in a log, the whole key would only fill the line.
      return key == null
          ? "unauthenticated"
          : "holder of key " + HexFormat.of().formatHex(Arrays.copyOf(Ed25519.raw(key), 8)) + "..";
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Unauthenticated peer && publicKey().equals(peer.publicKey());
    }

    @Override
    public int hashCode() {
      return publicKey().hashCode();
    }

    @Override
    public String toString() {
      return describe();
    }
  }
}
